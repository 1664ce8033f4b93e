# -j CT without --notrack (net/netfilter/xt_CT.c, xt_ct_target): in Linux the packet carries a template to conntrack;
# here its zones, with no entry and the state NEW, which is also what rules see of a template.
from libc.stdint cimport uint8_t, uint16_t

from datapath._core.conn cimport CT_ESTABLISHED, CT_NEW
from datapath._core.context cimport Walk
from datapath._core.verdict cimport XT_CONTINUE


cdef struct CtTarget:  # packed by datapath/extensions/targets/ct.py
    uint16_t zone
    uint8_t directions      # bit 0: original, bit 1: reply; the other direction stays in zone 0
    uint8_t from_mark


cdef inline int target_ct(Walk* walk, void* payload) noexcept nogil:
    """A packet that conntrack has seen before, or that an earlier rule has decided on, is left as it is."""
    cdef const CtTarget* target = <const CtTarget*>payload
    cdef uint16_t zone = <uint16_t>walk.pkt.mark if target.from_mark else target.zone
    if walk.pkt.ct == NULL and walk.pkt.ctinfo == CT_ESTABLISHED:
        walk.pkt.ctinfo = CT_NEW
        walk.pkt.ct_zone[0] = zone if target.directions & 1 else 0
        walk.pkt.ct_zone[1] = zone if target.directions & 2 else 0
    return XT_CONTINUE
