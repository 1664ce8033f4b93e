# ARP: asking and answering.
from libc.stdint cimport int32_t

from datapath._core.context cimport Net
from datapath._core.packet cimport Packet
from datapath._core.tuples cimport Addr


cdef void arp_receive(Net* net, Packet* pkt) noexcept nogil     # arp_rcv; the packet is given away
cdef void arp_solicit(Net* net, int32_t dev, const Addr* target, const Packet* waiting) noexcept nogil  # waiting may be NULL
