"""The one table of targets: a name that Target.lower uses, what carries it out, and the size of its payload."""
from datapath._core.nat_binding cimport NatRange
from datapath._core.targets.dnat cimport target_dnat
from datapath._core.targets.masquerade cimport target_masquerade
from datapath._core.targets.netmap cimport target_netmap
from datapath._core.targets.redirect cimport target_redirect
from datapath._core.targets.snat cimport target_snat
from datapath._core.targets.unknown cimport target_unknown

TARGET_KINDS = {}


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
