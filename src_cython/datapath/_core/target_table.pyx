"""The one table of targets: a name that Target.lower uses, what carries it out, and the size of its payload."""
from datapath._core.match_base cimport MatchFunction, OpHeader
from datapath._core.nat_binding cimport NatRange
from datapath._core.targets.ct cimport CtTarget, target_ct
from datapath._core.targets.dnat cimport target_dnat
from datapath._core.targets.masquerade cimport target_masquerade
from datapath._core.targets.netmap cimport target_netmap
from datapath._core.targets.redirect cimport target_redirect
from datapath._core.targets.reject cimport RejectTarget, target_reject
from datapath._core.targets.snat cimport target_snat
from datapath._core.targets.log cimport LogTarget, target_log, target_trace
from datapath._core.targets.mark cimport ConnmarkTarget, MarkTarget, target_connmark, target_mark
from datapath._core.targets.nfqueue cimport target_nfqueue
from datapath._core.targets.notrack cimport target_notrack
from datapath._core.targets.set cimport SetTarget, target_set
from datapath._core.targets.tos cimport TosTarget, target_tos
from datapath._core.targets.ttl cimport TtlTarget, target_ttl
from datapath._core.targets.unknown cimport target_unknown

TARGET_KINDS = {}


cdef void target_release(OpHeader* op) noexcept nogil:
    """Let go of the sets that match_bind has joined, when the rule is taken away."""
    cdef SetTarget* target
    cdef int i
    if op.run == <MatchFunction>target_set:
        target = <SetTarget*>(op + 1)
        for i in range(2):
            if target.ipset[i] != NULL:
                target.ipset[i].refs -= 1


cdef void enter(str name, TargetFunction function, size_t size) except *:
    cdef int kind = len(TARGET_KINDS)
    if name in TARGET_KINDS or kind >= TARGET_KINDS_MAX:
        raise RuntimeError(f"target {name} cannot be entered")
    TARGETS[kind] = function
    TARGET_KINDS[name] = (kind, size)


enter("unknown", target_unknown, 0)
enter("DNAT", target_dnat, sizeof(NatRange))
enter("SNAT", target_snat, sizeof(NatRange))
enter("MASQUERADE", target_masquerade, sizeof(NatRange))
enter("REDIRECT", target_redirect, sizeof(NatRange))
enter("NETMAP", target_netmap, sizeof(NatRange))
enter("MARK", target_mark, sizeof(MarkTarget))
enter("CONNMARK", target_connmark, sizeof(ConnmarkTarget))
enter("SET", target_set, sizeof(SetTarget))
enter("TOS", target_tos, sizeof(TosTarget))
enter("TTL", target_ttl, sizeof(TtlTarget))
enter("LOG", target_log, sizeof(LogTarget))
enter("TRACE", target_trace, 0)
enter("NOTRACK", target_notrack, 0)
enter("CT", target_ct, sizeof(CtTarget))
enter("NFQUEUE", target_nfqueue, 0)
enter("REJECT", target_reject, sizeof(RejectTarget))
