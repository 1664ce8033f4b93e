from datapath._core.match_base cimport MatchFunction

cdef enum:
    MATCH_KINDS_MAX = 96

cdef MatchFunction MATCHES[96]
