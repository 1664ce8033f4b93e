# What offload on the capturing machine leaves in a frame, and what makes up for it.
from datapath._core.context cimport Net
from datapath._core.packet cimport Packet


# For a frame as it stands at pkt.mac, before it is received: `link` says that it begins with an Ethernet header.
cdef void offload_allow(Net* net, Packet* pkt, bint link) noexcept nogil
