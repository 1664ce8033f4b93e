# The fragments that a packet was put together from, which Linux keeps as they are (skb's frag_list) until something
# must be readable or writable in one piece: then so much is taken from the next ones (__pskb_pull_tail). It shows when the
# packet is fragmented again.
from libc.stdint cimport uint16_t, uint32_t

from datapath._core.packet cimport Packet


cdef inline void packet_pull(Packet* pkt, uint32_t upto) noexcept nogil:
    """pskb_may_pull, skb_ensure_writable: the first `upto` bytes of the IP packet in one piece, if it has as many."""
    cdef uint16_t* sizes = <uint16_t*>pkt.pieces
    cdef uint32_t head = pkt.len
    cdef uint32_t kept = 1
    cdef uint32_t taken, i
    if pkt.n_pieces < 2 or upto > pkt.len:
        return
    for i in range(1, pkt.n_pieces):
        head -= sizes[i]
    for i in range(1, pkt.n_pieces):
        taken = min(upto - head, <uint32_t>sizes[i]) if upto > head else 0
        head += taken
        if sizes[i] > taken:
            sizes[kept] = <uint16_t>(sizes[i] - taken)
            kept += 1
    pkt.n_pieces = kept
