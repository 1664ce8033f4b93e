"""The one table of matches: a name that Match.lower uses, what evaluates it, and the size of its payload."""
from datapath._core.matches.tcp cimport TcpMatch, match_tcp

MATCH_KINDS = {}


cdef void enter(str name, MatchFunction function, size_t size) except *:
    cdef int kind = len(MATCH_KINDS)
    if name in MATCH_KINDS or kind >= MATCH_KINDS_MAX:
        raise RuntimeError(f"match {name} cannot be entered")
    MATCHES[kind] = function
    MATCH_KINDS[name] = (kind, size)


enter("tcp", match_tcp, sizeof(TcpMatch))
