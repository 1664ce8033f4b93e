# -m addrtype: what kind of address the routing tables say it is (net/netfilter/xt_addrtype.c, addrtype_mt_v1 and
# addrtype_mt6).
from libc.stdint cimport int32_t, uint8_t, uint16_t
from libc.string cimport memcpy, memset

from datapath._core.context cimport Net, Walk
from datapath._core.match_base cimport MATCH_NO, MATCH_YES
from datapath._core.packet cimport packet_ip
from datapath._core.route cimport address_type, addrtype6_fits
from datapath._core.tuples cimport Addr


cdef struct AddrtypeMatch:  # packed by datapath/extensions/matches/addrtype.py
    uint16_t source         # bit n: RTN_* n; 0: not asked
    uint16_t destination
    uint8_t invert_source, invert_destination
    uint8_t limit_in, limit_out


cdef inline bint type_matches(Net* net, uint8_t family, int32_t dev, const uint8_t* bytes, uint16_t types) noexcept nogil:
    cdef Addr addr
    memset(&addr, 0, sizeof(Addr))
    memcpy(&addr, bytes, 4 if family == 4 else 16)
    if family == 6:
        return addrtype6_fits(net, &addr, dev, types)
    return types >> address_type(net, family, &addr, dev) & 1


cdef inline int match_addrtype(Walk* walk, void* payload) noexcept nogil:
    cdef const AddrtypeMatch* want = <const AddrtypeMatch*>payload
    cdef const uint8_t* source = packet_ip(walk.pkt) + (12 if walk.family == 4 else 8)
    cdef const uint8_t* destination = source + (4 if walk.family == 4 else 16)
    cdef int32_t dev = walk.in_dev if want.limit_in else walk.out_dev if want.limit_out else -1
    if want.source and type_matches(walk.net, walk.family, dev, source, want.source) == want.invert_source:
        return MATCH_NO
    if want.destination and type_matches(walk.net, walk.family, dev, destination, want.destination) == want.invert_destination:
        return MATCH_NO
    return MATCH_YES
