from datapath._core.context cimport Walk
from datapath._core.ipset cimport IpSet, SetKey, SetQuestion
from datapath._core.tuples cimport Addr

cdef int set_key_of_packet(const IpSet* ipset, Walk* walk, const SetQuestion* question, SetKey* key, char* iface) noexcept nogil
