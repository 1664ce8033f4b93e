# -m statistic: at random or every nth packet (net/netfilter/xt_statistic.c, statistic_mt).
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.context cimport Walk
from datapath._core.draws cimport DRAW_STATISTIC, Shown, draw_chance, draw_record
from datapath._core.shown cimport LEADS_SILENT, LEADS_THERE, shown_leads


cdef struct StatisticMatch:  # packed by datapath/extensions/matches/statistic.py
    uint8_t nth             # 0: mode random
    uint8_t invert
    uint16_t unused
    uint32_t probability    # of 2^31
    uint32_t last           # the count that is followed by 0
    uint32_t count          # its memory


cdef inline bint statistic_nth(StatisticMatch* want, int leads) noexcept nogil:
    """Every nth packet. Where the rule's own count began is not known: what a capture shows puts it right."""
    want.count = 0 if want.count == want.last else want.count + 1
    if leads != LEADS_SILENT and (want.count == 0) != ((leads == LEADS_THERE) != want.invert):
        want.count = want.last if want.count == 0 else 0
    return want.count == 0


cdef inline int match_statistic(Walk* walk, void* payload) noexcept nogil:
    cdef StatisticMatch* want = <StatisticMatch*>payload
    cdef const Shown* shown = &walk.net.draws.shown
    cdef int leads = shown_leads(walk) if shown.for_statistic and (shown.has_dst or shown.has_src) else LEADS_SILENT
    cdef uint32_t drawn = 0
    cdef bint hit
    if want.nth:
        hit = statistic_nth(want, leads)
        return hit != want.invert
    hit = draw_chance(&walk.net.draws, want.probability, &drawn)
    if leads != LEADS_SILENT:
        hit = (leads == LEADS_THERE) != want.invert
    draw_record(&walk.net.draws, &walk.net.recorder, walk.hook, walk.rule_table, DRAW_STATISTIC, leads != LEADS_SILENT,
                hit if leads != LEADS_SILENT else drawn)
    return hit != want.invert
