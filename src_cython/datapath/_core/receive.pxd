# From the wire to the hooks: link header, VLAN tag, and the checks of the IP headers.
from libc.stdint cimport uint8_t, uint16_t

from datapath._core.context cimport Net, Walk
from datapath._core.packet cimport Packet


cdef enum EtherType:
    ETH_P_IP = 0x0800
    ETH_P_ARP = 0x0806
    ETH_P_8021Q = 0x8100
    ETH_P_8021AD = 0x88A8
    ETH_P_IPV6 = 0x86DD


cdef int link_receive(Net* net, Packet* pkt) noexcept nogil     # 0 or the DropReason; sets net, len, ethertype, type, dev
cdef int ip_rcv_core(Net* net, Packet* pkt) noexcept nogil      # 0 or the DropReason
cdef int ip6_rcv_core(Net* net, Packet* pkt) noexcept nogil     # 0 or the DropReason; may have sent a parameter problem
