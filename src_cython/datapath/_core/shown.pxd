# What a capture shows of a packet's translation, asked by a match that is about to draw: does the rule that is being
# tried lead there?
from datapath._core.context cimport Walk


cdef enum Leads:
    LEADS_SILENT = 0        # the capture does not tell
    LEADS_THERE = 1         # the rule leads to the translation that the capture shows
    LEADS_ELSEWHERE = 2     # it does not, and a later rule of the chain does


cdef int shown_leads(Walk* walk) noexcept nogil     # of walk.rule in walk.table
