# A local process sends a packet with its IP header (raw_send_hdrinc, rawv6_send_hdrinc).
from datapath._core.context cimport Net
from datapath._core.packet cimport Packet


cdef bint send_route(Net* net, Packet* pkt) noexcept nogil  # False: refused, net.error says why; the packet is gone then
