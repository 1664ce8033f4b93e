"""TCP: states, windows, timeouts (net/netfilter/nf_conntrack_proto_tcp.c).

A segment is read once (Segment), moved through the table of states (ct_tcp_states), and checked against what both
sides said of their windows (ct_tcp_window); what is out of window neither changes the state nor prolongs its life.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from datapath._core.conn cimport (
    HOW_BAD_CHECKSUM, HOW_BAD_FLAGS, HOW_CHALLENGE_ACK, HOW_IGNORED, HOW_INVALID_NEW, HOW_INVALID_RST,
    HOW_INVALID_STATE, HOW_NOT_LOOSE, HOW_REOPENED, HOW_TRUNCATED, IPS_ASSURED, IPS_CONFIRMED, IPS_FIXED_TIMEOUT,
    IPS_IMPORTED, IPS_SEEN_REPLY, CtTcp, CtTcpSide,
)
from datapath._core.ct_checksum cimport checksum_ok
from datapath._core.ct_table cimport entry_kill
from datapath._core.ct_tcp_states cimport (
    TCP_ACK_SET, TCP_CLOSE, TCP_ESTABLISHED, TCP_FIN_SET, TCP_FIN_WAIT, TCP_IGNORE, TCP_INVALID,
    TCP_LAST_ACK, TCP_NEXT, TCP_NONE, TCP_NONE_SET, TCP_RST_SET, TCP_SYN_RECV, TCP_SYN_SENT, TCP_SYN_SENT2,
    TCP_SYN_SET, TCP_SYNACK_SET, TCP_TIME_WAIT,
)
from datapath._core.ct_tcp_window cimport (
    WINDOW_IGNORE, WINDOW_INVALID, Segment, check_window, read_syn_options, seq_before, segment_read,
)
from datapath._core.ct_track cimport TRACK_ACCEPT, TRACK_DROP, TRACK_REPEAT, count_packet, direction_of, header_has, ignored, invalid, refresh, transport_length

cdef enum:
    PROTO_TCP = 6
    FLAG_FIN = 0x01
    FLAG_SYN = 0x02
    FLAG_RST = 0x04
    FLAG_PSH = 0x08
    FLAG_ACK = 0x10
    FLAG_URG = 0x20

cdef enum ResetVerdict:
    RESET_CHECK_WINDOW = 0
    RESET_IN_WINDOW = 1     # taken without a look at the windows
    RESET_INVALID = 2
    RESET_KEEP_STATE = 3    # checked like others, but the connection stays: the receiver may challenge it

# A timeout above this is lowered when both sides ended a connection out of window.
cdef uint64_t OUT_OF_WINDOW_END_NS = <uint64_t>120 * 1000000000


cdef int track_tcp(Tracking* t) noexcept nogil:
    """The verdict on a segment of a connection, known or new."""
    cdef Segment s
    cdef CtTcp* tcp = &t.ct.proto.tcp
    cdef uint8_t direction = direction_of(t.ctinfo)
    cdef uint8_t old
    cdef uint8_t new
    cdef int answer
    if not header_has(t, 20):
        return invalid(t, HOW_TRUNCATED)
    segment_read(t, &s)
    if not segment_ok(t, &s):
        return invalid(t, t.how)
    if not t.ct.status & IPS_CONFIRMED and not begin(t, &s):
        return invalid(t, t.how)
    old = tcp.state
    new = TCP_NEXT[direction][old][s.event]
    if new == TCP_INVALID:
        return invalid(t, HOW_INVALID_STATE)
    if new == TCP_SYN_SENT and old >= TCP_TIME_WAIT:
        if may_reopen(tcp, direction):
            t.how = HOW_REOPENED
            return TRACK_REPEAT if entry_kill(t.net, t.ct) else TRACK_DROP
        new = TCP_IGNORE
    if new == TCP_IGNORE:
        if not resynchronise(tcp, &s, direction):
            remember_ignored(t, &s, direction, old)
            return ignored(t, HOW_IGNORED)
        old = TCP_SYN_SENT
        new = TCP_SYN_RECV
    elif new == TCP_TIME_WAIT:
        if is_challenge_ack(tcp, &s, direction, old):
            tcp.last_flags &= <uint8_t>~EXPECT_CHALLENGE_ACK
            return ignored(t, HOW_CHALLENGE_ACK)
    elif new == TCP_SYN_SENT2:
        tcp.last_flags |= SIMULTANEOUS_OPEN
    elif new == TCP_SYN_RECV:
        if direction == 1 and s.event == TCP_ACK_SET and tcp.last_flags & SIMULTANEOUS_OPEN:
            new = TCP_ESTABLISHED
    elif new == TCP_CLOSE and s.event == TCP_RST_SET:
        answer = judge_reset(t, &s, direction, old)
        if answer == RESET_INVALID:
            return invalid(t, HOW_INVALID_RST)
        if answer == RESET_IN_WINDOW:
            return accept(t, &s, direction, old, new)
        if answer == RESET_KEEP_STATE:
            new = old
    answer = check_window(t, &s, direction)
    if answer == WINDOW_IGNORE:
        return TRACK_ACCEPT     # t.how says why
    if answer == WINDOW_INVALID:
        end_out_of_window(t, &s, direction)
        return invalid(t, t.how)
    return accept(t, &s, direction, old, new)


cdef bint segment_ok(Tracking* t, const Segment* s) noexcept nogil:
    """Lengths, checksum, flags (tcp_error). PSH, ECE and CWR may stand with all others."""
    cdef uint8_t flags = s.flags & (FLAG_FIN | FLAG_SYN | FLAG_RST | FLAG_ACK | FLAG_URG)
    if s.header_length < 20 or transport_length(t) < s.header_length:
        t.how = HOW_TRUNCATED
        return False
    if not checksum_ok(t, PROTO_TCP):
        t.how = HOW_BAD_CHECKSUM
        return False
    if flags not in (FLAG_SYN, FLAG_SYN | FLAG_URG, FLAG_SYN | FLAG_ACK, FLAG_RST, FLAG_RST | FLAG_ACK, FLAG_FIN | FLAG_ACK,
                     FLAG_FIN | FLAG_ACK | FLAG_URG, FLAG_ACK, FLAG_ACK | FLAG_URG):
        t.how = HOW_BAD_FLAGS
        return False
    return True


cdef bint begin(Tracking* t, const Segment* s) noexcept nogil:
    """The first segment of an entry (tcp_new): a SYN, or with tcp_loose an ACK in the middle of a connection."""
    cdef CtTcp* tcp = &t.ct.proto.tcp
    cdef CtTcpSide* sender = &tcp.seen[0]
    cdef uint8_t new = TCP_NEXT[0][<int>TCP_NONE][s.event]
    if new == TCP_INVALID:
        t.how = HOW_INVALID_NEW
        return False
    if new != TCP_SYN_SENT and not t.net.sysctl.ct_tcp_loose:
        t.how = HOW_NOT_LOOSE
        return False
    memset(tcp, 0, sizeof(CtTcp))
    sender.td_end = s.end
    sender.td_maxend = s.end
    sender.td_maxwin = s.window if s.window else 1
    if new == TCP_SYN_SENT:
        read_syn_options(s, sender)
    else:
        # Neither scaling nor SACK was seen: nothing can be said of windows.
        sender.td_maxend += sender.td_maxwin
        tcp.seen[0].flags = SIDE_SACK_PERM | SIDE_BE_LIBERAL
        tcp.seen[1].flags = SIDE_SACK_PERM | SIDE_BE_LIBERAL
    tcp.last_index = TCP_NONE_SET
    return True


cdef bint may_reopen(const CtTcp* tcp, uint8_t direction) noexcept nogil:
    """A SYN in TIME_WAIT or CLOSE begins a new connection when the old one was closed by a FIN, or when the same side
    has just reset it."""
    return (tcp.seen[0].flags | tcp.seen[1].flags) & SIDE_CLOSE_INIT \
        or (tcp.last_dir == direction and tcp.last_index == TCP_RST_SET)


cdef bint resynchronise(CtTcp* tcp, const Segment* s, uint8_t direction) noexcept nogil:
    """A SYN+ACK that answers the SYN ignored before shows that both ends agree and only we were out of date: take over
    what the SYN said."""
    cdef CtTcpSide* client
    if s.event != TCP_SYNACK_SET or tcp.last_index != TCP_SYN_SET or tcp.last_dir == direction or s.ack != tcp.last_end:
        return False
    client = &tcp.seen[tcp.last_dir]
    client.td_end = tcp.last_end
    client.td_maxend = tcp.last_end
    client.td_maxwin = tcp.last_win if tcp.last_win else 1
    client.td_scale = tcp.last_wscale
    tcp.last_flags &= <uint8_t>~EXPECT_CHALLENGE_ACK
    client.flags = tcp.last_flags
    tcp.seen[direction].td_end = 0
    tcp.seen[direction].td_maxend = 0
    tcp.seen[direction].td_maxwin = 0
    tcp.seen[direction].td_maxack = 0
    tcp.seen[direction].td_scale = 0
    tcp.seen[direction].flags &= SIDE_BE_LIBERAL
    return True


cdef void remember_ignored(Tracking* t, const Segment* s, uint8_t direction, uint8_t state) noexcept nogil:
    """Note an ignored segment, for the answer to it to be understood."""
    cdef CtTcp* tcp = &t.ct.proto.tcp
    cdef CtTcpSide said
    tcp.last_index = s.event
    tcp.last_dir = direction
    tcp.last_seq = s.seq
    tcp.last_end = s.end
    tcp.last_win = s.window
    if s.event == TCP_SYN_SET and direction == 0:
        memset(&said, 0, sizeof(CtTcpSide))
        read_syn_options(s, &said)
        tcp.last_flags = said.flags & (SIDE_WINDOW_SCALE | SIDE_SACK_PERM)
        tcp.last_wscale = said.td_scale if said.flags & SIDE_WINDOW_SCALE else 0
        if state == TCP_LAST_ACK:   # the ACK that challenges it must not pass for the last one (RFC 5961)
            tcp.last_flags |= EXPECT_CHALLENGE_ACK
    if state == TCP_SYN_SENT and s.event == TCP_ACK_SET and direction == 1:
        tcp.last_ack = s.ack


cdef bint is_challenge_ack(const CtTcp* tcp, const Segment* s, uint8_t direction, uint8_t state) noexcept nogil:
    return state == TCP_LAST_ACK and s.event == TCP_ACK_SET and tcp.last_dir != direction \
        and tcp.last_index == TCP_SYN_SET and tcp.last_flags & EXPECT_CHALLENGE_ACK


cdef inline bint is_closing(uint8_t state) noexcept nogil:
    """tcp_can_early_drop."""
    return TCP_FIN_WAIT <= state <= TCP_CLOSE


cdef int judge_reset(Tracking* t, const Segment* s, uint8_t direction, uint8_t state) noexcept nogil:
    """What a reset is worth before the windows are looked at (RFC 5961, and what middle boxes make of it)."""
    cdef CtTcp* tcp = &t.ct.proto.tcp
    cdef CtTcpSide* receiver = &tcp.seen[1 - direction]
    cdef bint established = state == TCP_ESTABLISHED and t.ct.status & IPS_ASSURED
    if is_closing(state):
        return RESET_IN_WINDOW      # the tuple may be in use again: what we remember is out of date
    if receiver.flags & SIDE_MAXACK_SET and tcp.last_index != TCP_SYN_SET:
        if s.seq == 0 and not established:
            return RESET_CHECK_WINDOW   # answers a SYN that was let through
        if seq_before(s.seq, receiver.td_maxack) and not t.net.sysctl.ct_tcp_ignore_invalid_rst:
            return RESET_INVALID
        if not established or s.seq == receiver.td_maxack:
            return RESET_CHECK_WINDOW
        if tcp.last_index == TCP_ACK_SET and tcp.last_dir == direction and s.seq == tcp.last_end:
            return RESET_CHECK_WINDOW   # right behind the sender's own data
        return RESET_KEEP_STATE
    return RESET_IN_WINDOW if answers_ignored(t, s, direction, state) else RESET_CHECK_WINDOW


cdef bint answers_ignored(Tracking* t, const Segment* s, uint8_t direction, uint8_t state) noexcept nogil:
    """Whether a reset answers a segment that was let through although it did not fit."""
    cdef CtTcp* tcp = &t.ct.proto.tcp
    cdef bint syn = t.ct.status & IPS_SEEN_REPLY and tcp.last_index == TCP_SYN_SET and tcp.last_dir != direction
    cdef bint ack = not t.ct.status & IPS_ASSURED and tcp.last_index == TCP_ACK_SET
    if (syn or ack) and s.ack == tcp.last_end:
        return True
    return state == TCP_SYN_SENT and tcp.last_index == TCP_ACK_SET and tcp.last_dir == 1 and s.seq == tcp.last_ack


cdef void end_out_of_window(Tracking* t, const Segment* s, uint8_t direction) noexcept nogil:
    """Both sides ended an assured connection, out of window: it is not kept for days (nf_tcp_handle_invalid)."""
    cdef CtTcp* tcp = &t.ct.proto.tcp
    cdef uint64_t left
    if not t.ct.status & IPS_ASSURED or t.ct.status & IPS_FIXED_TIMEOUT:
        return
    if s.event != TCP_RST_SET and s.event != TCP_FIN_SET:
        return
    if tcp.last_dir == direction or (tcp.last_index != TCP_FIN_SET and tcp.last_index != TCP_RST_SET):
        tcp.last_index = s.event
        tcp.last_dir = direction
        return
    left = t.ct.timeout_ns - t.net.now_ns if t.ct.timeout_ns > t.net.now_ns else 0
    if left >= OUT_OF_WINDOW_END_NS and left > t.net.sysctl.ct_timeout_tcp_unacked:
        t.ct.timeout_ns = t.net.now_ns + t.net.sysctl.ct_timeout_tcp_unacked


cdef int accept(Tracking* t, const Segment* s, uint8_t direction, uint8_t old, uint8_t new) noexcept nogil:
    """The segment fits: new state, new timeout."""
    cdef CtTcp* tcp = &t.ct.proto.tcp
    cdef uint64_t lifetime
    if t.ct.status & IPS_IMPORTED and tcp.seen[0].td_maxwin and tcp.seen[1].td_maxwin:
        t.ct.status &= <uint32_t>~<uint32_t>IPS_IMPORTED   # both sides were seen: their windows count from now on
        tcp.seen[0].flags &= <uint8_t>~SIDE_BE_LIBERAL
        tcp.seen[1].flags &= <uint8_t>~SIDE_BE_LIBERAL
    tcp.last_index = s.event
    tcp.last_dir = direction
    tcp.state = new
    if old != new and new == TCP_FIN_WAIT:
        tcp.seen[direction].flags |= SIDE_CLOSE_INIT
    lifetime = state_lifetime(t, s, new)
    if not t.ct.status & IPS_SEEN_REPLY:
        if s.flags & FLAG_RST:      # the only answer is a refusal: nothing worth keeping
            count_packet(t)
            entry_kill(t.net, t.ct)
            return TRACK_ACCEPT
        if s.event == TCP_SYN_SET and old == TCP_SYN_SENT:
            return TRACK_ACCEPT     # repeated SYNs do not keep an entry alive
        if new == TCP_ESTABLISHED and lifetime > t.net.sysctl.ct_timeout_tcp_unacked:
            lifetime = t.net.sysctl.ct_timeout_tcp_unacked     # picked up in the middle, one side only
    elif not t.ct.status & IPS_ASSURED and new == TCP_ESTABLISHED and (old == TCP_SYN_RECV or old == TCP_ESTABLISHED):
        t.ct.status |= IPS_ASSURED
    refresh(t, lifetime)
    return TRACK_ACCEPT


cdef uint64_t state_lifetime(Tracking* t, const Segment* s, uint8_t state) noexcept nogil:
    """The timeout of a state, shortened while the peer does not acknowledge, or takes nothing more."""
    cdef CtTcp* tcp = &t.ct.proto.tcp
    cdef uint64_t lifetime = t.net.sysctl.ct_timeout_tcp[state]
    cdef uint64_t retrans = t.net.sysctl.ct_timeout_tcp_retrans
    cdef uint64_t unacked = t.net.sysctl.ct_timeout_tcp_unacked
    if tcp.retrans >= t.net.sysctl.ct_tcp_max_retrans and lifetime > retrans:
        return retrans
    if s.event == TCP_RST_SET:      # a connection that stays open after a reset that misses the window by little, too
        return t.net.sysctl.ct_timeout_tcp[<int>TCP_CLOSE]
    if (tcp.seen[0].flags | tcp.seen[1].flags) & SIDE_DATA_UNACKED and lifetime > unacked:
        return unacked
    if tcp.last_win == 0 and lifetime > retrans:
        return retrans
    return lifetime
