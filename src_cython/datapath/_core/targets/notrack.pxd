# -j CT --notrack and -j NOTRACK (net/netfilter/xt_CT.c, xt_ct_target, notrack_tg).
from datapath._core.conn cimport CT_ESTABLISHED, CT_UNTRACKED
from datapath._core.context cimport Walk
from datapath._core.verdict cimport XT_CONTINUE


cdef inline int target_notrack(Walk* walk, void* payload) noexcept nogil:
    """Conntrack passes the packet by; one that it has seen before (loopback), or that CT has decided on, is left as it is."""
    if walk.pkt.ct == NULL and walk.pkt.ctinfo == CT_ESTABLISHED:
        walk.pkt.ctinfo = CT_UNTRACKED
    return XT_CONTINUE
