"""The end of a walk: its outcome, the drop reason, and what the sending process hears of it."""
from datapath._core.pool cimport packet_free
from datapath._core.record cimport STEP_DROP, record
from datapath._core.verdict cimport (
    DROP_NETFILTER_DROP, DROP_NONE, NF_QUEUE, NF_STOLEN, NF_UNKNOWN, OUTCOME_DROPPED, OUTCOME_NONE, OUTCOME_QUEUED, OUTCOME_STOLEN,
    OUTCOME_UNKNOWN,
)


cdef void packet_became(Net* net, Packet* pkt, uint8_t outcome) noexcept nogil:
    if pkt.main:
        net.outcome = outcome


cdef void packet_end(Net* net, Packet* pkt, uint8_t outcome) noexcept nogil:
    packet_became(net, pkt, outcome)
    packet_free(net, pkt)


cdef void packet_drop(Net* net, Packet* pkt, uint8_t hook, uint8_t reason) noexcept nogil:
    record(&net.recorder, STEP_DROP, hook, 0, reason, 0, 0, 0, False)
    if pkt.main:
        net.outcome = OUTCOME_DROPPED
        net.drop_reason = reason
    packet_free(net, pkt)


cdef void packet_refused(Walk* walk, int verdict) noexcept nogil:
    cdef Net* net = walk.net
    cdef Packet* pkt = walk.pkt
    if verdict == NF_STOLEN:    # whoever took it has said what became of it, or the packet is another's now
        if net.outcome == OUTCOME_NONE:
            net.outcome = OUTCOME_STOLEN
        return
    if verdict == NF_QUEUE:
        packet_end(net, pkt, OUTCOME_QUEUED)
        return
    if verdict == NF_UNKNOWN:
        packet_end(net, pkt, OUTCOME_UNKNOWN)
        return
    if pkt.main and pkt.local:
        net.error = walk.error if walk.error else EPERM
    packet_drop(net, pkt, walk.hook, walk.drop_reason if walk.drop_reason != DROP_NONE else DROP_NETFILTER_DROP)
