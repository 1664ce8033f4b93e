# IP sets (net/netfilter/ipset): elements in a hash by what the set's type looks at. They belong to the node and are
# shared by name between all rules of both families.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.context cimport Net, Walk
from datapath._core.tuples cimport Addr


cdef enum SetField:  # what a dimension of a set looks at; mirrored by FIELDS in datapath/model/ipset.py
    FIELD_NONE = 0
    FIELD_IP = 1
    FIELD_NET = 2
    FIELD_PORT = 3          # protocol and port
    FIELD_MAC = 4
    FIELD_IFACE = 5
    FIELD_MARK = 6
    FIELD_BARE_PORT = 7     # bitmap:port: a port of TCP or UDP
    FIELD_SET = 8           # list:set


cdef enum SetAnswer:
    SET_NO = 0
    SET_YES = 1
    SET_NOMATCH = 2         # an element that says nomatch (ENOTEMPTY)
    SET_UNKNOWN = 3         # the capture has cut off what the set looks at


cdef enum SetFlag:  # of a rule that asks a set
    SET_RETURN_NOMATCH = 1
    SET_SKIP_COUNTERS = 2
    SET_SKIP_SUBCOUNTERS = 4
    SET_MATCH_COUNTERS = 8
    SET_EXIST = 16          # an element that is there already is renewed


cdef enum CounterOp:  # IPSET_COUNTER_*
    COUNTER_NONE = 0
    COUNTER_EQ = 1
    COUNTER_NE = 2
    COUNTER_LT = 3
    COUNTER_GT = 4


cdef struct SetKey:         # 48 bytes without holes: hashed and compared as words
    Addr ip
    Addr ip2
    uint8_t mac[6]
    uint16_t port
    uint32_t mark
    uint8_t protocol
    uint8_t cidr            # of ip, when it is a network
    uint8_t cidr2           # of ip2
    uint8_t zero


cdef struct SetElement:
    SetKey key
    char iface[16]
    uint64_t expires_ns     # 0: never
    uint64_t packets
    uint64_t bytes
    int32_t next            # in its bucket, -1
    uint8_t used
    uint8_t nomatch
    uint8_t physdev
    uint8_t wildcard        # iface is the beginning of a name
    uint8_t mac[6]          # bitmap:ip,mac: what the address must come with; all zero: whatever comes first
    uint8_t has_mac


cdef struct IpSet:
    IpSet* next             # of the node
    char name[32]
    uint8_t family          # 4, 6; 0: both
    uint8_t fields[4]       # SetField by dimension
    uint8_t dimensions
    uint8_t bitmap          # elements are limited to a range
    uint8_t counters
    uint8_t with_timeout    # elements may run out
    uint8_t waiting         # its timeouts count from the first packet, which has not come yet
    uint8_t n_cidrs[2]
    uint8_t cidrs[2][132]   # prefix lengths in use, longest first
    uint32_t cidr_count[2][132]
    Addr mask               # netmask or bitmask of the addresses
    uint32_t mark_mask
    uint32_t first, last    # bitmap: the range, host byte order
    uint32_t used           # elements
    uint32_t most           # maxelem
    uint64_t timeout_ns     # of elements that the SET target adds; 0: never
    uint32_t refs           # rules and lists that refer to it
    SetElement* elements
    uint32_t n_elements     # slots in use, free ones among them
    uint32_t capacity
    int32_t free            # first free slot, -1
    int32_t* buckets
    uint32_t bucket_mask
    IpSet** members         # list:set, in order; its elements stand for them by index
    uint32_t n_members


cdef struct SetQuestion:    # struct ip_set_adt_opt
    uint8_t dimensions
    uint8_t sources         # bit n: dimension n looks at the source
    uint8_t flags           # SetFlag
    uint8_t packets_op, bytes_op    # CounterOp
    uint64_t packets, bytes
    uint64_t timeout_ns     # of what is added; the largest number: the set's own


cdef IpSet* set_find(Net* net, str name) except? NULL
cdef int set_test(IpSet* ipset, Walk* walk, const SetQuestion* question) noexcept nogil    # SetAnswer
cdef bint set_add_packet(IpSet* ipset, Walk* walk, const SetQuestion* question) noexcept nogil      # -j SET --add-set
cdef bint set_delete_packet(IpSet* ipset, Walk* walk, const SetQuestion* question) noexcept nogil   # -j SET --del-set
cdef void sets_free(Net* net) noexcept nogil
cdef void sets_start(Net* net) noexcept nogil       # the first packet has come
cdef int set_create(Net* net, dict given) except -1
cdef int set_add(Net* net, str name, object rows) except -1
cdef int set_delete(Net* net, str name, object rows) except -1
cdef int set_flush(Net* net, str name) except -1
cdef int set_destroy(Net* net, str name) except -1
cdef object sets_export(Net* net)
