# -m statistic: at random or every nth packet (net/netfilter/xt_statistic.c, statistic_mt).
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.draws cimport DRAW_STATISTIC, draw_chance
from datapath._core.record cimport STEP_DRAW, record


cdef struct StatisticMatch:  # packed by datapath/extensions/matches/statistic.py
    uint8_t nth             # 0: mode random
    uint8_t invert
    uint16_t unused
    uint32_t probability    # of 2^31
    uint32_t last           # the count that is followed by 0
    uint32_t count          # its memory


cdef inline int match_statistic(Walk* walk, void* payload) noexcept nogil:
    cdef StatisticMatch* want = <StatisticMatch*>payload
    cdef uint32_t drawn = 0
    cdef bint hit
    if want.nth:
        want.count = 0 if want.count == want.last else want.count + 1
        return (want.count == 0) != want.invert
    hit = draw_chance(&walk.net.draws, want.probability, &drawn)
    record(&walk.net.recorder, STEP_DRAW, walk.hook, walk.rule_table, DRAW_STATISTIC, 0, 0, drawn, True)
    return hit != want.invert
