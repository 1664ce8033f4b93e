# Lookup in the zone of a packet (nf_ct_zone_tmpl): a template that a rule attached says it, else it is 0.
from libc.stdint cimport uint8_t, uint16_t

from datapath._core.conn cimport CtEntry
from datapath._core.ct_table cimport table_find_zoned
from datapath._core.ct_track cimport Tracking
from datapath._core.tuples cimport Tuple


cdef inline CtEntry* find_in_zone(Tracking* t, Tuple* tuple, uint8_t* direction) noexcept nogil:
    """The entry that has the tuple in the zone of the packet's direction. The tuple's zone is set."""
    cdef CtEntry* ct
    tuple.zone = t.zone[0]
    ct = table_find_zoned(t.net, tuple, t.zone, NULL, direction)
    if ct != NULL or t.zone[0] == t.zone[1]:
        return ct
    tuple.zone = t.zone[1]
    ct = table_find_zoned(t.net, tuple, t.zone, NULL, direction)
    tuple.zone = t.zone[0]
    return ct
