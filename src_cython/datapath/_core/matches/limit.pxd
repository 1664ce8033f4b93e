# -m limit: a token bucket in the rule (net/netfilter/xt_limit.c, limit_mt).
from libc.stdint cimport uint32_t, uint64_t

from datapath._core.context cimport Walk

cdef enum:
    LIMIT_JIFFY_NS = 4000000        # HZ 250
    CREDITS_PER_JIFFY = 128


cdef struct LimitMatch:  # packed by datapath/extensions/matches/limit.py; the first two fields are its memory
    uint64_t previous       # jiffy of the last packet plus one, 0: there was none
    uint32_t credit
    uint32_t cap
    uint32_t cost


cdef struct NftLimitMatch:  # a rate that only iptables-nft takes; the first two fields are its memory
    uint64_t previous       # ns of the last packet plus one, 0: there was none
    uint64_t tokens
    uint64_t most
    uint64_t cost


cdef inline int match_limit(Walk* walk, void* payload) noexcept nogil:
    cdef LimitMatch* limit = <LimitMatch*>payload
    cdef uint64_t now = walk.net.now_ns // LIMIT_JIFFY_NS + 1
    cdef uint32_t credit = limit.credit
    if limit.previous:
        # 32-bit arithmetic as in Linux: after a pause of more than 38 hours the gain wraps around.
        credit = <uint32_t>(credit + <uint32_t>((now - limit.previous) * CREDITS_PER_JIFFY))
    if credit > limit.cap:
        credit = limit.cap
    limit.previous = now
    limit.credit = credit - limit.cost if credit >= limit.cost else credit
    return credit >= limit.cost


cdef inline int match_limit_nft(Walk* walk, void* payload) noexcept nogil:
    """net/netfilter/nft_limit.c, nft_limit_eval."""
    cdef NftLimitMatch* limit = <NftLimitMatch*>payload
    cdef uint64_t tokens = limit.tokens
    if limit.previous:
        tokens += walk.net.now_ns + 1 - limit.previous
    if tokens > limit.most:
        tokens = limit.most
    limit.previous = walk.net.now_ns + 1
    limit.tokens = tokens - limit.cost if tokens >= limit.cost else tokens
    return tokens >= limit.cost
