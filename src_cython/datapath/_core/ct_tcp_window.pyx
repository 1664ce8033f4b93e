"""TCP window tracking (nf_conntrack_proto_tcp.c, tcp_in_window), after Guido van Rooij, "Real Stateful TCP Packet
Filtering in IP Filter", 2000.

Of each side is kept: td_end, the highest sequence number it sent; td_maxend, the highest that its peer has allowed it;
td_maxwin, the largest window it has offered. A segment fits when
  1. it begins at or below the sender's td_maxend,
  2. it does not acknowledge more than the receiver sent,
  3. it does not end more than a window of the receiver below the sender's td_end,
  4. it does not acknowledge less than a window (at least 66000 bytes) below what the receiver sent.
What breaks 1 or 2 is invalid; what breaks 3 or 4 only is late, and passes without effect.
"""
from datapath._core.conn cimport (
    HOW_ACK_OVER, HOW_ACK_UNDER, HOW_OVERSHOT, HOW_SEQ_OVER, HOW_SEQ_UNDER, IPS_SEQ_ADJUST, CtEntry, CtSeqAdjust,
    CtTcp,
)
from datapath._core.ct_tcp cimport SIDE_BE_LIBERAL, SIDE_DATA_UNACKED, SIDE_MAXACK_SET, SIDE_SACK_PERM, SIDE_WINDOW_SCALE
from datapath._core.ct_tcp_states cimport (
    TCP_ACK_SET, TCP_FIN_SET, TCP_NONE_SET, TCP_RST_SET, TCP_SYN_RECV, TCP_SYN_SENT, TCP_SYN_SET, TCP_SYNACK_SET,
)
from datapath._core.ct_track cimport header_has
from datapath._core.wire cimport load_be16, load_be32

cdef enum:
    FLAG_FIN = 0x01
    FLAG_SYN = 0x02
    FLAG_RST = 0x04
    FLAG_ACK = 0x10
    OPTION_END = 0
    OPTION_NOP = 1
    OPTION_WINDOW_SCALE = 3
    OPTION_SACK_PERM = 4
    OPTION_SACK = 5
    MAX_SCALE = 14
    LEAST_ACK_WINDOW = 66000


cdef void segment_read(const Tracking* t, Segment* s) noexcept nogil:
    """The fixed header, which must be there."""
    cdef const uint8_t* tcp = t.header
    s.seq = load_be32(tcp + 4)
    s.ack = load_be32(tcp + 8)
    s.header_length = (tcp[12] >> 4) * 4
    s.flags = tcp[13]
    s.window = load_be16(tcp + 14)
    s.end = s.seq + t.pkt.len - t.transport - s.header_length
    if s.flags & FLAG_SYN:
        s.end += 1
    if s.flags & FLAG_FIN:
        s.end += 1
    s.options = tcp + 20
    s.options_length = s.header_length - 20 if s.header_length > 20 and header_has(t, s.header_length) else 0
    if s.flags & FLAG_RST:
        s.event = TCP_RST_SET
    elif s.flags & FLAG_SYN:
        s.event = TCP_SYNACK_SET if s.flags & FLAG_ACK else TCP_SYN_SET
    elif s.flags & FLAG_FIN:
        s.event = TCP_FIN_SET
    elif s.flags & FLAG_ACK:
        s.event = TCP_ACK_SET
    else:
        s.event = TCP_NONE_SET


cdef const uint8_t* next_option(const Segment* s, uint32_t* at) noexcept nogil:
    """The next option that has a length, which is sound; NULL at the end, or where the list makes no sense."""
    cdef const uint8_t* option
    while at[0] < s.options_length:
        option = s.options + at[0]
        if option[0] == OPTION_END:
            return NULL
        if option[0] == OPTION_NOP:
            at[0] += 1
            continue
        if at[0] + 2 > s.options_length or option[1] < 2 or at[0] + option[1] > s.options_length:
            return NULL
        at[0] += option[1]
        return option
    return NULL


cdef void read_syn_options(const Segment* s, CtTcpSide* side) noexcept nogil:
    """Scaling and SACK as a SYN offers them. Without any option what was known stays."""
    cdef const uint8_t* option
    cdef uint32_t at = 0
    if s.options_length == 0:
        return
    side.td_scale = 0
    side.flags &= SIDE_BE_LIBERAL
    option = next_option(s, &at)
    while option != NULL:
        if option[0] == OPTION_SACK_PERM and option[1] == 2:
            side.flags |= SIDE_SACK_PERM
        elif option[0] == OPTION_WINDOW_SCALE and option[1] == 3:
            side.td_scale = option[2] if option[2] < MAX_SCALE else MAX_SCALE
            side.flags |= SIDE_WINDOW_SCALE
        option = next_option(s, &at)


cdef uint32_t highest_sack(const Segment* s) noexcept nogil:
    """The highest right edge of the selective acknowledgements, at least the acknowledgement itself."""
    cdef const uint8_t* option
    cdef uint32_t highest = s.ack
    cdef uint32_t edge
    cdef uint32_t at = 0
    cdef uint32_t i
    option = next_option(s, &at)
    while option != NULL:
        if option[0] == OPTION_SACK and option[1] >= 10 and (option[1] - 2) % 8 == 0:
            for i in range(<uint32_t>(option[1] - 2) // 8):
                edge = load_be32(option + 2 + i * 8 + 4)
                if seq_after(edge, highest):
                    highest = edge
            return highest
        option = next_option(s, &at)
    return highest


cdef int32_t nat_offset(const CtEntry* ct, uint8_t direction, uint32_t seq) noexcept nogil:
    """By how much a helper has moved the sequence numbers of a direction there (nf_ct_seq_offset)."""
    cdef const CtSeqAdjust* adjust
    if ct.extra == NULL:
        return 0
    adjust = &ct.extra.seqadj[direction]
    return adjust.offset_after if seq_after(seq, adjust.correction_pos) else adjust.offset_before


cdef void begin_side(CtTcp* tcp, const Segment* s, uint8_t direction) noexcept nogil:
    """A side as its SYN or SYN+ACK shows it. Scaling holds only when both have offered it (RFC 7323, 1.3)."""
    cdef CtTcpSide* sender = &tcp.seen[direction]
    cdef CtTcpSide* receiver = &tcp.seen[1 - direction]
    sender.td_end = s.end
    sender.td_maxend = s.end
    sender.td_maxwin = s.window if s.window else 1
    read_syn_options(s, sender)
    if direction == 1 and not sender.flags & receiver.flags & SIDE_WINDOW_SCALE:
        sender.td_scale = 0
        receiver.td_scale = 0


cdef void begin_side_late(CtTcp* tcp, const Segment* s, uint8_t direction, uint32_t sack) noexcept nogil:
    """A side as a segment in the middle of the connection shows it."""
    cdef CtTcpSide* sender = &tcp.seen[direction]
    cdef CtTcpSide* receiver = &tcp.seen[1 - direction]
    cdef uint32_t window = <uint32_t>s.window << sender.td_scale
    sender.td_end = s.end
    sender.td_maxwin = window if window else 1
    sender.td_maxend = s.end + sender.td_maxwin
    if receiver.td_maxwin == 0:
        receiver.td_end = sack
        receiver.td_maxend = sack
    elif sack == receiver.td_end + 1:
        receiver.td_end += 1    # answers a keepalive


cdef int check_window(Tracking* t, const Segment* s, uint8_t direction) noexcept nogil:
    """Whether a segment fits, and if it does what it tells about both sides."""
    cdef CtTcp* tcp = &t.ct.proto.tcp
    cdef CtTcpSide* sender = &tcp.seen[direction]
    cdef CtTcpSide* receiver = &tcp.seen[1 - direction]
    cdef uint32_t seq = s.seq
    cdef uint32_t end = s.end
    cdef uint32_t ack = s.ack
    cdef uint32_t sack = s.ack
    cdef int32_t moved
    cdef uint8_t how = t.how
    cdef int answer
    if receiver.flags & SIDE_SACK_PERM and s.options_length:
        sack = highest_sack(s)
    if t.ct.status & IPS_SEQ_ADJUST:
        moved = nat_offset(t.ct, 1 - direction, ack - 1)
        ack -= moved
        sack -= moved
    if sender.td_maxwin == 0:
        if s.flags & FLAG_SYN:
            begin_side(tcp, s, direction)
            if not s.flags & FLAG_ACK:
                return WINDOW_ACCEPT    # simultaneous open
        else:
            begin_side_late(tcp, s, direction, sack)
    elif s.flags & FLAG_SYN and seq_after(end, sender.td_end) and (tcp.state == TCP_SYN_SENT or tcp.state == TCP_SYN_RECV):
        begin_side(tcp, s, direction)   # the connection is begun anew (RFC 9293, 3.4.3)
        if direction == 1 and not s.flags & FLAG_ACK:
            return WINDOW_ACCEPT
    if not s.flags & FLAG_ACK or (s.flags & FLAG_RST and ack == 0):
        ack = receiver.td_end           # no acknowledgement, or the zero that some stacks send in a RST
        sack = ack
    if s.flags & FLAG_RST and seq == 0 and tcp.state == TCP_SYN_SENT:
        seq = sender.td_end             # refuses a SYN
        end = seq
    answer = fits(t, sender, receiver, seq, end, sack)
    if answer != WINDOW_ACCEPT:
        if not (sender.flags & SIDE_BE_LIBERAL or t.net.sysctl.ct_tcp_be_liberal):
            return answer
        t.how = how
        return WINDOW_ACCEPT
    learn(tcp, s, direction, seq, end, ack, sack)
    return WINDOW_ACCEPT


cdef int fits(Tracking* t, CtTcpSide* sender, CtTcpSide* receiver, uint32_t seq, uint32_t end, uint32_t sack) noexcept nogil:
    """The four conditions."""
    cdef uint32_t ack_window = sender.td_maxwin if sender.td_maxwin > LEAST_ACK_WINDOW else LEAST_ACK_WINDOW
    cdef bint end_fits = seq_after(end, sender.td_end - receiver.td_maxwin - 1)
    cdef bint ack_fits = seq_after(sack, receiver.td_end - ack_window - 1)
    if seq_after(seq, sender.td_maxend):
        t.how = HOW_SEQ_OVER
        if receiver.td_maxwin and end_fits and ack_fits and end - sender.td_maxend + 1 <= receiver.td_maxwin \
                and not seq_after(sack, receiver.td_end):
            # It may be taken all the same; its acknowledgement must not look wrong then.
            sender.td_end = end
            sender.flags |= SIDE_DATA_UNACKED
            t.how = HOW_OVERSHOT
            return WINDOW_IGNORE
        return WINDOW_INVALID
    if seq_after(sack, receiver.td_end):
        t.how = HOW_ACK_OVER
        return WINDOW_INVALID
    if receiver.td_maxwin and not end_fits:
        t.how = HOW_SEQ_UNDER
        return WINDOW_IGNORE
    if not ack_fits:
        t.how = HOW_ACK_UNDER
        return WINDOW_IGNORE
    return WINDOW_ACCEPT


cdef void learn(CtTcp* tcp, const Segment* s, uint8_t direction, uint32_t seq, uint32_t end, uint32_t ack, uint32_t sack) noexcept nogil:
    """Take over what a fitting segment tells."""
    cdef CtTcpSide* sender = &tcp.seen[direction]
    cdef CtTcpSide* receiver = &tcp.seen[1 - direction]
    cdef uint32_t window = s.window if s.flags & FLAG_SYN else <uint32_t>s.window << sender.td_scale
    cdef uint32_t offered = window + (sack - ack)
    if sender.td_maxwin < offered:
        sender.td_maxwin = offered
    if seq_after(end, sender.td_end):
        sender.td_end = end
        sender.flags |= SIDE_DATA_UNACKED
    if s.flags & FLAG_ACK and (not sender.flags & SIDE_MAXACK_SET or seq_after(ack, sender.td_maxack)):
        sender.td_maxack = ack
        sender.flags |= SIDE_MAXACK_SET
    if receiver.td_maxwin != 0 and seq_after(end, sender.td_maxend):
        receiver.td_maxwin += end - sender.td_maxend
    if seq_after(sack + window, receiver.td_maxend - 1):
        receiver.td_maxend = sack + window
        if window == 0:
            receiver.td_maxend += 1
    if ack == receiver.td_end:
        receiver.flags &= <uint8_t>~SIDE_DATA_UNACKED
    if s.event == TCP_ACK_SET:
        count_retransmission(tcp, s, direction, seq, end, ack)


cdef void count_retransmission(CtTcp* tcp, const Segment* s, uint8_t direction, uint32_t seq, uint32_t end, uint32_t ack) noexcept nogil:
    """The same segment again and again: the peer is gone."""
    if tcp.last_dir == direction and tcp.last_seq == seq and tcp.last_ack == ack and tcp.last_end == end \
            and tcp.last_win == s.window:
        tcp.retrans += 1
        return
    tcp.last_dir = direction
    tcp.last_seq = seq
    tcp.last_ack = ack
    tcp.last_end = end
    tcp.last_win = s.window
    tcp.retrans = 0
