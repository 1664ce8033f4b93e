# Rewriting one end of a packet: its address, its port or ICMP id, and the checksums over them.
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from datapath._core.packet cimport Packet
from datapath._core.tuples cimport Addr
from datapath._core.verdict cimport HOOK_OUTPUT, HOOK_PREROUTING


cdef enum NatManip:  # enum nf_nat_manip_type
    MANIP_SRC = 0
    MANIP_DST = 1


cdef inline uint8_t manip_of_hook(uint8_t hook) noexcept nogil:
    return MANIP_DST if hook == HOOK_PREROUTING or hook == HOOK_OUTPUT else MANIP_SRC


cdef struct NatEnd:  # what an end of a packet shall be
    const Addr* addr
    uint16_t key            # port, ICMP id or GRE key
    uint8_t protocol        # transport protocol of the connection
    uint8_t manip           # NatManip: which end


# nf_nat_ipv4_manip_pkt, nf_nat_ipv6_manip_pkt for the IP header at `at` bytes from the packet's own. False: the
# packet is too short for its protocol, drop it. Bytes that the snap length cut off are passed over.
cdef bint nat_manip_at(Packet* pkt, uint32_t at, const NatEnd* end) noexcept nogil
cdef uint32_t crc32c(const uint8_t* p, uint32_t n) noexcept nogil
