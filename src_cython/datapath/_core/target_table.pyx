"""The one table of targets: a name that Target.lower uses, what carries it out, and the size of its payload."""
from datapath._core.targets.unknown cimport target_unknown

TARGET_KINDS = {}


cdef void enter(str name, TargetFunction function, size_t size) except *:
    cdef int kind = len(TARGET_KINDS)
    if name in TARGET_KINDS or kind >= TARGET_KINDS_MAX:
        raise RuntimeError(f"target {name} cannot be entered")
    TARGETS[kind] = function
    TARGET_KINDS[name] = (kind, size)


enter("unknown", target_unknown, 0)
