"""Protocols without a state of their own, and GRE (nf_conntrack_proto_generic.c, nf_conntrack_proto_gre.c)."""
from datapath._core.conn cimport IPS_ASSURED, IPS_NAT_CLASH, IPS_SEEN_REPLY
from datapath._core.ct_track cimport TRACK_ACCEPT, refresh


cdef int track_generic(Tracking* t) noexcept nogil:
    refresh(t, t.net.sysctl.ct_timeout_generic)
    return TRACK_ACCEPT


cdef int track_gre(Tracking* t) noexcept nogil:
    if not t.ct.status & IPS_SEEN_REPLY:
        refresh(t, t.net.sysctl.ct_timeout_gre[0])
        return TRACK_ACCEPT
    refresh(t, t.net.sysctl.ct_timeout_gre[1])
    if not t.ct.status & IPS_NAT_CLASH:
        t.ct.status |= IPS_ASSURED
    return TRACK_ACCEPT
