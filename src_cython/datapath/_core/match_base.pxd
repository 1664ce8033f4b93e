# How a rule's conditions lie in memory, and what evaluates them.
#
# A compiled rule refers to a run of ops in its program's arena. Each op is a header followed by its payload,
# the struct that the match's own .pxd declares and that the match's Python file packs (Match.lower). The payload
# belongs to the rule and may be written: matches with a memory (limit, statistic) keep it there, as Linux
# keeps it in the rule.
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.context cimport Walk


cdef enum MatchResult:
    MATCH_NO = 0
    MATCH_YES = 1
    MATCH_UNKNOWN = 2       # not emulated (--lenient)


ctypedef int (*MatchFunction)(Walk* walk, void* payload) noexcept nogil     # MatchResult; may set walk.hotdrop
ctypedef int (*TargetFunction)(Walk* walk, void* payload) noexcept nogil    # Verdict: XT_CONTINUE, or NF_*


cdef struct OpHeader:       # 16 bytes; the payload follows, aligned to 8
    uint16_t kind           # index in MATCHES or TARGETS
    uint16_t place          # of a match: its place among the rule's matches as the rule spells them, from 0
    uint32_t size           # of the payload in bytes, padded to 8
    MatchFunction run       # filled when the program is loaded; of a target it is its TargetFunction


cdef inline int bytes_missing(Walk* walk, uint32_t end) noexcept nogil:
    """What a match answers when the packet's bytes up to `end` cannot be read.

    Bytes that the packet never had make it malformed: Linux drops it at once. Bytes that the capture has cut off
    were there, but nobody knows what they said.
    """
    if end > walk.pkt.len:
        walk.hotdrop = 1
        return MATCH_NO
    return MATCH_UNKNOWN
