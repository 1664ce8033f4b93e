# The way of a packet through the node, as in the well-known netfilter diagram.
from datapath._core.context cimport Net
from datapath._core.packet cimport Packet


cdef void walk_receive(Net* net, Packet* pkt) noexcept nogil        # a frame on pkt.dev; pkt is given away
cdef void walk_local_out(Net* net, Packet* pkt) noexcept nogil      # an IP packet of this node enters OUTPUT; pkt is given away
