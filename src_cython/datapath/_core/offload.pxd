# What offload on the capturing machine leaves in a frame, and what makes up for it.
from datapath._core.context cimport Net
from datapath._core.packet cimport CSUM_PARTIAL, Packet


# For a frame as it stands at pkt.mac, before it is received: `link` says that it begins with an Ethernet header.
cdef void offload_allow(Net* net, Packet* pkt, bint link) noexcept nogil
# What a device does on the way out (skb_checksum_help): a checksum that holds the pseudo-header's sum is completed.
cdef void offload_complete(Packet* pkt) noexcept nogil


cdef inline void offload_finish(Packet* pkt) noexcept nogil:
    if pkt.csum == CSUM_PARTIAL:
        offload_complete(pkt)
