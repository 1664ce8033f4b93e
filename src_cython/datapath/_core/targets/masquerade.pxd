# -j MASQUERADE (net/netfilter/nf_nat_masquerade.c). Its payload is a NatRange without addresses.
from libc.string cimport memcpy, memset

from datapath._core.conn cimport CtEntry
from datapath._core.context cimport Walk
from datapath._core.nat_binding cimport RANGE_MAP_IPS, NatRange, nat_setup
from datapath._core.nat_manip cimport MANIP_SRC
from datapath._core.packet cimport packet_ip
from datapath._core.route cimport masquerade_address
from datapath._core.tuples cimport Addr, addr_is_zero
from datapath._core.verdict cimport NF_ACCEPT, NF_DROP


cdef inline int target_masquerade(Walk* walk, void* payload) noexcept nogil:
    """The device is remembered: packets of the connection may leave by no other one."""
    cdef NatRange* ports = <NatRange*>payload
    cdef NatRange own = ports[0]
    cdef CtEntry* ct = walk.pkt.ct
    cdef Addr destination
    cdef int verdict
    if walk.family == 4 and addr_is_zero(&ct.tuple[0].src):     # a DHCP client's: not meant
        return NF_ACCEPT
    memset(&destination, 0, sizeof(Addr))
    if walk.family == 4:
        memcpy(&destination, packet_ip(walk.pkt) + 16, 4)
    else:
        memcpy(&destination, packet_ip(walk.pkt) + 24, 16)
    if not masquerade_address(walk.net, walk.family, walk.out_dev, &walk.net.routes[walk.pkt.route], &destination, &own.min_addr):
        return NF_DROP
    ct.masq_dev = walk.out_dev
    own.flags |= RANGE_MAP_IPS
    own.max_addr = own.min_addr
    verdict = nat_setup(walk, ct, &own, MANIP_SRC)
    ports.rule = own.rule
    return verdict
