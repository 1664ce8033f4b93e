# -j MARK and -j CONNMARK (net/netfilter/xt_mark.c, mark_tg; net/netfilter/xt_connmark.c, connmark_tg_shift).
from libc.stdint cimport uint8_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.record cimport STEP_MARK, record
from datapath._core.verdict cimport XT_CONTINUE


cdef enum ConnmarkMode:  # XT_CONNMARK_*
    CONNMARK_SET = 0
    CONNMARK_SAVE = 1
    CONNMARK_RESTORE = 2


cdef struct MarkTarget:  # packed by datapath/extensions/targets/mark.py
    uint32_t mark
    uint32_t mask


cdef struct ConnmarkTarget:  # packed by datapath/extensions/targets/connmark.py
    uint32_t ctmark
    uint32_t ctmask
    uint32_t nfmask
    uint8_t mode            # ConnmarkMode
    uint8_t right           # shift to the right
    uint8_t bits
    uint8_t pad


cdef inline void packet_set_mark(Walk* walk, uint32_t mark) noexcept nogil:
    """Give the packet a mark, and say so when it is another one."""
    if walk.pkt.mark != mark:
        walk.pkt.mark = mark
        record(&walk.net.recorder, STEP_MARK, walk.hook, walk.rule_table, 0, 0, 0, mark, False)


cdef inline int target_mark(Walk* walk, void* payload) noexcept nogil:
    cdef const MarkTarget* info = <const MarkTarget*>payload
    packet_set_mark(walk, (walk.pkt.mark & ~info.mask) ^ info.mark)
    return XT_CONTINUE


cdef inline uint32_t shifted(const ConnmarkTarget* info, uint32_t mark) noexcept nogil:
    return mark >> info.bits if info.right else mark << info.bits


cdef inline int target_connmark(Walk* walk, void* payload) noexcept nogil:
    cdef const ConnmarkTarget* info = <const ConnmarkTarget*>payload
    if walk.pkt.ct == NULL:
        return XT_CONTINUE
    if info.mode == CONNMARK_SET:
        walk.pkt.ct.mark = shifted(info, (walk.pkt.ct.mark & ~info.ctmask) ^ info.ctmark)
    elif info.mode == CONNMARK_SAVE:
        walk.pkt.ct.mark = (walk.pkt.ct.mark & ~info.ctmask) ^ shifted(info, walk.pkt.mark & info.nfmask)
    else:
        packet_set_mark(walk, (walk.pkt.mark & ~info.nfmask) ^ shifted(info, walk.pkt.ct.mark & info.ctmask))
    return XT_CONTINUE
