"""SCTP (net/netfilter/nf_conntrack_proto_sctp.c): chunks move the state, verification tags tell whose they are.

The states are the association's as seen from between the ends: RFC 9260's words, not those of one end.
"""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from datapath._core.conn cimport (
    HOW_BAD_CHECKSUM, HOW_BAD_CHUNK, HOW_INVALID_NEW, HOW_INVALID_STATE, HOW_TRUNCATED, IPS_ASSURED, IPS_CONFIRMED, CtSctp,
)
from datapath._core.ct_track cimport TRACK_ACCEPT, direction_of, header_has, invalid, refresh
from datapath._core.packet cimport CSUM_NONE, CSUM_VALID, packet_has
from datapath._core.verdict cimport HOOK_PREROUTING
from datapath._core.wire cimport load_be16, load_be32

STATES = ("NONE", "CLOSED", "COOKIE_WAIT", "COOKIE_ECHOED", "ESTABLISHED", "SHUTDOWN_SENT", "SHUTDOWN_RECD",
          "SHUTDOWN_ACK_SENT", "HEARTBEAT_SENT")

cdef enum Chunk:  # RFC 9260, 3.2
    CHUNK_DATA = 0
    CHUNK_INIT = 1
    CHUNK_INIT_ACK = 2
    CHUNK_HEARTBEAT = 4
    CHUNK_HEARTBEAT_ACK = 5
    CHUNK_ABORT = 6
    CHUNK_SHUTDOWN = 7
    CHUNK_SHUTDOWN_ACK = 8
    CHUNK_ERROR = 9
    CHUNK_COOKIE_ECHO = 10
    CHUNK_COOKIE_ACK = 11
    CHUNK_SHUTDOWN_COMPLETE = 14
    CHUNK_KINDS = 15

cdef enum:
    SCTP_NONE = 0
    SCTP_CLOSED = 1
    SCTP_ESTABLISHED = 4
    SCTP_STATES = 9
    SCTP_INVALID = 9
    FLAG_TAG_OF_PEER = 1        # the T bit of ABORT and SHUTDOWN COMPLETE
    HEARTBEAT_TAG_FAILED = 1    # in CtSctp.flags

# What a chunk does in a state; where nothing is said the state stays. Chunks that are not named never change it.
# In the original direction NONE and HEARTBEAT_SENT go to CLOSED, in the reply direction they make it invalid.
TRANSITIONS = {
    "original": {
        "INIT": "SHUTDOWN_SENT>CLOSED SHUTDOWN_RECD>CLOSED HEARTBEAT_SENT>COOKIE_WAIT",
        "INIT_ACK": "",
        "ABORT": "COOKIE_WAIT>CLOSED COOKIE_ECHOED>CLOSED ESTABLISHED>CLOSED SHUTDOWN_SENT>CLOSED SHUTDOWN_RECD>CLOSED SHUTDOWN_ACK_SENT>CLOSED",
        "SHUTDOWN": "ESTABLISHED>SHUTDOWN_SENT",
        "SHUTDOWN_ACK": "NONE>SHUTDOWN_ACK_SENT SHUTDOWN_SENT>SHUTDOWN_ACK_SENT SHUTDOWN_RECD>SHUTDOWN_ACK_SENT HEARTBEAT_SENT>SHUTDOWN_ACK_SENT",
        "ERROR": "",
        "COOKIE_ECHO": "COOKIE_WAIT>COOKIE_ECHOED",
        "COOKIE_ACK": "COOKIE_ECHOED>ESTABLISHED",
        "SHUTDOWN_COMPLETE": "SHUTDOWN_ACK_SENT>CLOSED",
        "HEARTBEAT": "NONE>HEARTBEAT_SENT HEARTBEAT_SENT>HEARTBEAT_SENT",
        "HEARTBEAT_ACK": "HEARTBEAT_SENT>HEARTBEAT_SENT",
    },
    "reply": {
        "INIT": "",
        "INIT_ACK": "CLOSED>COOKIE_WAIT",
        "ABORT": "COOKIE_WAIT>CLOSED COOKIE_ECHOED>CLOSED ESTABLISHED>CLOSED SHUTDOWN_SENT>CLOSED SHUTDOWN_RECD>CLOSED SHUTDOWN_ACK_SENT>CLOSED",
        "SHUTDOWN": "ESTABLISHED>SHUTDOWN_RECD",
        "SHUTDOWN_ACK": "SHUTDOWN_SENT>SHUTDOWN_ACK_SENT SHUTDOWN_RECD>SHUTDOWN_ACK_SENT",
        "ERROR": "COOKIE_ECHOED>CLOSED",
        "COOKIE_ECHO": "COOKIE_WAIT>COOKIE_ECHOED",
        "COOKIE_ACK": "COOKIE_ECHOED>ESTABLISHED",
        "SHUTDOWN_COMPLETE": "SHUTDOWN_ACK_SENT>CLOSED",
        "HEARTBEAT": "HEARTBEAT_SENT>HEARTBEAT_SENT",
        "HEARTBEAT_ACK": "HEARTBEAT_SENT>ESTABLISHED",
    },
}
CHUNKS = {"INIT": CHUNK_INIT, "INIT_ACK": CHUNK_INIT_ACK, "ABORT": CHUNK_ABORT, "SHUTDOWN": CHUNK_SHUTDOWN,
          "SHUTDOWN_ACK": CHUNK_SHUTDOWN_ACK, "ERROR": CHUNK_ERROR, "COOKIE_ECHO": CHUNK_COOKIE_ECHO,
          "COOKIE_ACK": CHUNK_COOKIE_ACK, "SHUTDOWN_COMPLETE": CHUNK_SHUTDOWN_COMPLETE, "HEARTBEAT": CHUNK_HEARTBEAT,
          "HEARTBEAT_ACK": CHUNK_HEARTBEAT_ACK}

cdef uint8_t[2][15][9] NEXT     # by direction, chunk, state
cdef uint32_t[256] CRC32C


cdef int build() except -1:
    cdef int d, chunk, state
    for d in range(2):
        for chunk in range(<int>CHUNK_KINDS):
            for state in range(<int>SCTP_STATES):
                NEXT[d][chunk][state] = <uint8_t>state
    for d, direction in enumerate(("original", "reply")):
        for name, changes in TRANSITIONS[direction].items():
            chunk = CHUNKS[name]
            for outside in ("NONE", "HEARTBEAT_SENT"):
                NEXT[d][chunk][<int>STATES.index(outside)] = SCTP_CLOSED if d == 0 else SCTP_INVALID
            for change in changes.split():
                old, _, new = change.partition(">")
                NEXT[d][chunk][<int>STATES.index(old)] = <uint8_t>STATES.index(new)
    return 0


cdef void build_crc() noexcept:
    cdef uint32_t value
    cdef uint32_t i
    cdef int _bit
    for i in range(256):
        value = i
        for _bit in range(8):
            value = (value >> 1) ^ (<uint32_t>0x82F63B78 if value & 1 else 0)
        CRC32C[i] = value


build()
build_crc()


cdef uint32_t crc32c(const uint8_t* sctp, uint32_t n) noexcept nogil:
    """The checksum of a packet, its own field taken as zero, as the header holds it (RFC 9260, appendix A)."""
    cdef uint32_t crc = <uint32_t>0xFFFFFFFF
    cdef uint32_t i
    cdef uint8_t byte
    for i in range(n):
        byte = 0 if 8 <= i < 12 else sctp[i]
        crc = CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc = ~crc
    return (crc >> 24) | (crc >> 8 & 0xFF00) | (crc << 8 & 0xFF0000) | (crc << 24)


cdef struct Chunks:  # a walk through the chunks of a packet
    Tracking* t
    const uint8_t* chunk
    uint32_t at             # from pkt.net
    uint32_t count          # of the chunk that stands in `chunk`, from 0


cdef bint first_chunk(Tracking* t, Chunks* c) noexcept nogil:
    c.t = t
    c.at = t.transport + 12
    c.count = 0
    return chunk_there(c)


cdef bint next_chunk(Chunks* c) noexcept nogil:
    c.at += (<uint32_t>load_be16(c.chunk + 2) + 3) & ~<uint32_t>3
    c.count += 1
    return chunk_there(c)


cdef inline bint chunk_there(Chunks* c) noexcept nogil:
    if c.at >= c.t.pkt.len or not packet_has(c.t.pkt, c.at, 4):
        return False
    c.chunk = c.t.pkt.head + c.t.pkt.net + c.at
    return True


cdef uint32_t bit_of(uint8_t kind) noexcept nogil:
    """Of the chunks that matter here: they have numbers below 15."""
    return <uint32_t>1 << kind if kind < CHUNK_KINDS else 0


cdef int track_sctp(Tracking* t) noexcept nogil:
    cdef CtSctp* sctp = &t.ct.proto.sctp
    cdef uint8_t direction = direction_of(t.ctinfo)
    cdef uint32_t tag
    cdef uint32_t seen = 0
    cdef uint8_t state = SCTP_NONE
    cdef bint renew = True
    if t.pkt.len < t.transport + 12 or not header_has(t, 12):
        return invalid(t, HOW_TRUNCATED)
    if not crc_ok(t):
        return invalid(t, HOW_BAD_CHECKSUM)
    if not chunks_ok(t, &seen):
        return invalid(t, HOW_BAD_CHUNK)
    if not t.ct.status & IPS_CONFIRMED:
        if seen & (1 << CHUNK_ABORT | 1 << CHUNK_SHUTDOWN_COMPLETE | 1 << CHUNK_COOKIE_ACK) or not begin(t):
            return invalid(t, HOW_INVALID_NEW)
    tag = load_be32(t.header + 4)
    if tag != sctp.vtag[direction] and not seen & (
            1 << CHUNK_INIT | 1 << CHUNK_SHUTDOWN_COMPLETE | 1 << CHUNK_COOKIE_ECHO | 1 << CHUNK_ABORT
            | 1 << CHUNK_SHUTDOWN_ACK | 1 << CHUNK_HEARTBEAT | 1 << CHUNK_HEARTBEAT_ACK):
        return invalid(t, HOW_BAD_CHUNK)
    if not take_chunks(t, seen, direction, tag, &state, &renew):
        return invalid(t, HOW_INVALID_STATE)
    if renew:
        refresh(t, t.net.sysctl.ct_timeout_sctp[state])
    return TRACK_ACCEPT


cdef bint crc_ok(Tracking* t) noexcept nogil:
    """Looked at as other checksums are: packets from outside, whole, not verified before (sctp_error)."""
    if t.walk.hook != HOOK_PREROUTING or not t.net.sysctl.ct_checksum or t.pkt.csum != CSUM_NONE or t.pkt.present < t.pkt.len:
        return True
    if crc32c(t.header, t.pkt.len - t.transport) != load_be32(t.header + 8):
        return False
    t.pkt.csum = CSUM_VALID
    return True


cdef bint chunks_ok(Tracking* t, uint32_t* seen) noexcept nogil:
    """Chunks that must stand alone or first do so, none is empty (do_basic_checks). Which there are is told."""
    cdef Chunks c
    cdef uint8_t kind
    cdef bint alone = False
    cdef bint more = first_chunk(t, &c)
    while more:
        kind = c.chunk[0]
        if kind in (CHUNK_INIT, CHUNK_INIT_ACK, CHUNK_SHUTDOWN_COMPLETE):
            alone = True
        if c.count and (alone or kind == CHUNK_COOKIE_ACK or kind == CHUNK_COOKIE_ECHO):
            return False
        if load_be16(c.chunk + 2) == 0:
            return False
        seen[0] |= bit_of(kind)
        more = next_chunk(&c)
    return c.count != 0


cdef bint begin(Tracking* t) noexcept nogil:
    """The first packet of an entry (sctp_new): what tag its answers will carry."""
    cdef CtSctp* sctp = &t.ct.proto.sctp
    cdef uint32_t tag = load_be32(t.header + 4)
    cdef Chunks c
    cdef uint8_t kind
    cdef bint more = first_chunk(t, &c)
    memset(sctp, 0, sizeof(CtSctp))
    while more:
        kind = c.chunk[0]
        if kind >= CHUNK_KINDS or NEXT[0][kind][<int>SCTP_NONE] == SCTP_NONE:
            return False
        if kind == CHUNK_INIT:
            if tag or not packet_has(t.pkt, c.at + 4, 16):
                return False
            sctp.vtag[1] = load_be32(c.chunk + 4)
        elif kind == CHUNK_HEARTBEAT:
            sctp.vtag[0] = tag
        elif kind == CHUNK_SHUTDOWN_ACK:
            sctp.vtag[1] = tag
        more = next_chunk(&c)
    return True


cdef bint take_chunks(Tracking* t, uint32_t seen, uint8_t direction, uint32_t tag, uint8_t* state, bint* renew) noexcept nogil:
    """Each chunk in turn: its tag, the next state. False at the first that is invalid; what came before it stays."""
    cdef CtSctp* sctp = &t.ct.proto.sctp
    cdef Chunks c
    cdef uint8_t kind
    cdef uint8_t old
    cdef int tag_verdict
    cdef bint more = first_chunk(t, &c)
    while more:
        kind = c.chunk[0]
        tag_verdict = check_tag(sctp, &c, seen, direction, tag, not renew[0])
        if tag_verdict == TAG_WRONG:
            return False
        if tag_verdict == TAG_PASS_OVER:
            renew[0] = False
            more = next_chunk(&c)
            continue
        old = sctp.state
        state[0] = NEXT[direction][kind][old] if kind < CHUNK_KINDS else old
        if state[0] == SCTP_INVALID:
            return False
        if kind == CHUNK_INIT:
            if not take_init(sctp, &c, direction, old):
                return False
            if state[0] == SCTP_CLOSED and old == SCTP_CLOSED and t.ct.status & IPS_CONFIRMED:
                renew[0] = False    # repeated INITs do not keep an entry alive
        elif kind == CHUNK_INIT_ACK and not take_init_ack(sctp, &c, direction):
            return False
        sctp.state = state[0]
        if old != state[0] and state[0] == SCTP_ESTABLISHED:
            t.ct.status |= IPS_ASSURED
        more = next_chunk(&c)
    return True


cdef enum TagVerdict:
    TAG_RIGHT = 0
    TAG_WRONG = 1
    TAG_PASS_OVER = 2       # this chunk says nothing, the packet passes, and the entry is not renewed


cdef int check_tag(CtSctp* sctp, const Chunks* c, uint32_t seen, uint8_t direction, uint32_t tag, bint passed_over) noexcept nogil:
    """The rules for single chunks (RFC 9260, 8.5.1), and what heartbeats on a new path teach."""
    cdef uint8_t kind = c.chunk[0]
    cdef uint8_t owner
    if kind == CHUNK_INIT:
        return TAG_WRONG if tag else TAG_RIGHT
    if kind == CHUNK_ABORT or kind == CHUNK_SHUTDOWN_COMPLETE:
        owner = 1 - direction if c.chunk[1] & FLAG_TAG_OF_PEER else direction
        return TAG_RIGHT if tag == sctp.vtag[owner] else TAG_WRONG
    if kind == CHUNK_COOKIE_ECHO:
        return TAG_RIGHT if tag == sctp.vtag[direction] else TAG_WRONG
    if kind == CHUNK_COOKIE_ACK:
        sctp.init[0] = 0
        sctp.init[1] = 0
        return TAG_RIGHT
    if kind != CHUNK_HEARTBEAT and kind != CHUNK_HEARTBEAT_ACK:
        return TAG_RIGHT
    if sctp.vtag[direction] == 0:
        sctp.vtag[direction] = tag
        return TAG_RIGHT
    if tag == sctp.vtag[direction]:
        sctp.flags &= <uint8_t>~HEARTBEAT_TAG_FAILED
        return TAG_RIGHT
    if seen & 1 << CHUNK_DATA or passed_over:
        return TAG_WRONG
    if kind == CHUNK_HEARTBEAT:
        sctp.flags |= HEARTBEAT_TAG_FAILED
        sctp.last_dir = direction
        return TAG_PASS_OVER
    if not sctp.flags & HEARTBEAT_TAG_FAILED or sctp.last_dir == direction:
        return TAG_WRONG
    sctp.flags &= <uint8_t>~HEARTBEAT_TAG_FAILED    # the answer to the strange heartbeat: the tags are new
    sctp.vtag[direction] = tag
    sctp.vtag[1 - direction] = 0
    return TAG_RIGHT


cdef bint take_init(CtSctp* sctp, const Chunks* c, uint8_t direction, uint8_t old) noexcept nogil:
    cdef uint32_t tag
    if not packet_has(c.t.pkt, c.at + 4, 16):
        return False
    tag = load_be32(c.chunk + 4)
    if old == SCTP_NONE or sctp.vtag[1 - direction] != tag:     # else it is a repetition
        if sctp.init[0] and sctp.init[1]:
            sctp.init[1 - direction] = 0
        sctp.init[direction] = 1
    sctp.vtag[1 - direction] = tag
    return True


cdef bint take_init_ack(CtSctp* sctp, const Chunks* c, uint8_t direction) noexcept nogil:
    cdef uint32_t known = sctp.vtag[1 - direction]
    cdef uint32_t tag
    if not packet_has(c.t.pkt, c.at + 4, 16):
        return False
    tag = load_be32(c.chunk + 4)
    if known != tag and ((not sctp.init[1 - direction] and known) or (sctp.init[0] and sctp.init[1])):
        return False
    sctp.vtag[1 - direction] = tag
    return True
