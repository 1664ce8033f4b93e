# -m conntrack, -m state (net/netfilter/xt_conntrack.c, conntrack_mt, revision 3).
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.conn cimport (
    CT_IS_REPLY, CT_NEW, CT_UNTRACKED, DIR_ORIGINAL, DIR_REPLY, IPS_CONFIRMED, IPS_DST_NAT, IPS_SRC_NAT, CtEntry,
)
from datapath._core.context cimport Walk
from datapath._core.match_base cimport MATCH_NO, MATCH_YES
from datapath._core.matches.ports cimport port_matches
from datapath._core.tuples cimport Addr

cdef enum:
    JIFFY_NS = 4000000      # HZ 250: lifetimes are kept in jiffies and told in whole seconds
    JIFFIES_PER_SECOND = 250


cdef enum ConntrackOption:  # in the order of FLAGS in datapath/extensions/matches/conntrack.py
    ASK_STATE = 1 << 0
    ASK_PROTOCOL = 1 << 1
    ASK_ADDRESS = 1 << 2    # and the three bits above: source and destination of the original, then of the reply tuple
    ASK_PORT = 1 << 6       # likewise
    ASK_STATUS = 1 << 10
    ASK_EXPIRES = 1 << 11
    ASK_DIRECTION = 1 << 12


cdef enum StateBit:  # XT_CONNTRACK_STATE_*
    STATE_INVALID = 1 << 0
    STATE_SNAT = 1 << 4
    STATE_DNAT = 1 << 5
    STATE_UNTRACKED = 1 << 6


cdef struct AddressWanted:
    Addr addr
    Addr mask


cdef struct ConntrackMatch:  # packed by datapath/extensions/matches/conntrack.py
    uint32_t asked          # ConntrackOption
    uint32_t inverted
    uint16_t states         # StateBit
    uint16_t statuses       # CtStatus
    uint16_t protocol
    AddressWanted address[4]
    uint16_t port[8]        # low and high for each of the four
    uint32_t expires_low, expires_high      # seconds


cdef inline bint address_matches(const AddressWanted* want, const Addr* addr) noexcept nogil:
    return (((addr.q[0] ^ want.addr.q[0]) & want.mask.q[0]) | ((addr.q[1] ^ want.addr.q[1]) & want.mask.q[1])) == 0


cdef inline uint16_t state_bits(const CtEntry* ct, uint8_t ctinfo) noexcept nogil:
    """The packet's state as xt_conntrack numbers states."""
    cdef uint16_t bits
    if ct == NULL:
        if ctinfo == CT_NEW:        # the CT target's template
            return <uint16_t>(1 << (CT_NEW + 1))
        return STATE_UNTRACKED if ctinfo == CT_UNTRACKED else STATE_INVALID
    bits = <uint16_t>(1 << (ctinfo % CT_IS_REPLY + 1))
    if ct.status & IPS_SRC_NAT:
        bits |= STATE_SNAT
    if ct.status & IPS_DST_NAT:
        bits |= STATE_DNAT
    return bits


cdef inline uint32_t seconds_left(const CtEntry* ct, uint64_t now_ns) noexcept nogil:
    """Whole seconds until the entry expires; 0 before it is confirmed, when Linux's field holds no moment yet."""
    cdef uint64_t end = ct.timeout_ns // JIFFY_NS
    cdef uint64_t now = now_ns // JIFFY_NS
    if not ct.status & IPS_CONFIRMED or end <= now:
        return 0
    return <uint32_t>((end - now) // JIFFIES_PER_SECOND)


cdef inline bint tuples_match(const ConntrackMatch* want, const CtEntry* ct) noexcept nogil:
    cdef const Addr* addr
    cdef uint16_t port
    cdef int i, direction
    cdef uint32_t address_bit, port_bit
    for i in range(4):
        direction = DIR_ORIGINAL if i < 2 else DIR_REPLY
        address_bit = <uint32_t>ASK_ADDRESS << i
        port_bit = <uint32_t>ASK_PORT << i
        if want.asked & address_bit:
            addr = &ct.tuple[direction].src
            if i & 1:
                addr = &ct.tuple[direction].dst
            if address_matches(&want.address[i], addr) == ((want.inverted & address_bit) != 0):
                return False
        if want.asked & port_bit:
            port = ct.tuple[direction].dport if i & 1 else ct.tuple[direction].sport
            if not port_matches(want.port[2 * i], want.port[2 * i + 1], port, (want.inverted & port_bit) != 0):
                return False
    return True


cdef inline int match_conntrack(Walk* walk, void* payload) noexcept nogil:
    cdef const ConntrackMatch* want = <const ConntrackMatch*>payload
    cdef const CtEntry* ct = walk.pkt.ct
    cdef uint8_t ctinfo = walk.pkt.ctinfo
    cdef uint32_t left
    if want.asked & ASK_STATE:
        if ((want.states & state_bits(ct, ctinfo)) != 0) == ((want.inverted & ASK_STATE) != 0):
            return MATCH_NO
    if ct == NULL:
        return (want.asked & ASK_STATE) != 0
    if want.asked == ASK_STATE:     # by far the most common rule
        return MATCH_YES
    if want.asked & ASK_DIRECTION and (ctinfo < CT_IS_REPLY) == ((want.inverted & ASK_DIRECTION) != 0):
        return MATCH_NO
    if want.asked & ASK_PROTOCOL and (ct.tuple[0].protocol == want.protocol) == ((want.inverted & ASK_PROTOCOL) != 0):
        return MATCH_NO
    if not tuples_match(want, ct):
        return MATCH_NO
    if want.asked & ASK_STATUS and ((want.statuses & ct.status) != 0) == ((want.inverted & ASK_STATUS) != 0):
        return MATCH_NO
    if want.asked & ASK_EXPIRES:
        left = seconds_left(ct, walk.net.now_ns)
        if (want.expires_low <= left <= want.expires_high) == ((want.inverted & ASK_EXPIRES) != 0):
            return MATCH_NO
    return MATCH_YES
