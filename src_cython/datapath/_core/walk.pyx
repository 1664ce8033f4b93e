"""The walk of a packet: the netfilter diagram on one page."""
from datapath._core.pool cimport packet_free
from datapath._core.verdict cimport DROP_NOT_SPECIFIED, OUTCOME_DROPPED


cdef void walk_receive(Net* net, Packet* pkt) noexcept nogil:
    net.outcome = OUTCOME_DROPPED
    net.drop_reason = DROP_NOT_SPECIFIED
    packet_free(net, pkt)


cdef void walk_local_out(Net* net, Packet* pkt) noexcept nogil:
    net.outcome = OUTCOME_DROPPED
    net.drop_reason = DROP_NOT_SPECIFIED
    packet_free(net, pkt)
