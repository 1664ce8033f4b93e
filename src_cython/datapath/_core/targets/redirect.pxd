# -j REDIRECT (net/netfilter/nf_nat_redirect.c). Its payload is a NatRange without addresses.
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from datapath._core.context cimport Walk
from datapath._core.device cimport Device, DeviceAddress
from datapath._core.nat_binding cimport RANGE_MAP_IPS, NatRange, nat_setup
from datapath._core.nat_manip cimport MANIP_DST
from datapath._core.packet cimport packet_ip
from datapath._core.tuples cimport Addr
from datapath._core.verdict cimport HOOK_OUTPUT, NF_DROP


cdef inline uint8_t redirect_scope(const uint8_t* a) noexcept nogil:
    """The bits that ipv6_addr_scope gives an IPv6 address: none for a global one."""
    cdef int i
    if a[0] == 0xFF:
        return 0x10 if a[1] & 15 == 1 else 0x20 if a[1] & 15 == 2 else 0x40 if a[1] & 15 == 5 else 0
    if a[0] == 0xFE:
        return 0x20 if a[1] & 0xC0 == 0x80 else 0x40 if a[1] & 0xC0 == 0xC0 else 0
    for i in range(12):
        if a[i]:
            return 0
    if a[12] | a[13] | a[14]:
        return 0x80
    return 0 if a[15] == 0 else 0x10 if a[15] == 1 else 0x80


cdef inline bint redirect_usable(const DeviceAddress* own, uint8_t family, uint8_t scope) noexcept nogil:
    """Of IPv4 the first address; of IPv6 the first that is neither tentative nor IPv4-mapped, of the destination's scope."""
    cdef uint8_t own_scope
    if own.family != family:
        return False
    if family == 4:
        return True
    if own.tentative or (own.addr.q[0] == 0 and own.addr.w[2] == <uint32_t>0xFFFF0000):
        return False
    own_scope = redirect_scope(&own.addr.b[0])
    return scope == 0 or (scope & own_scope) != 0


cdef inline bint redirect_address(Walk* walk, Addr* chosen) noexcept nogil:
    """Where a redirected packet goes; False: the device that it came by has no address."""
    cdef const Device* dev
    cdef uint8_t scope = redirect_scope(packet_ip(walk.pkt) + 24) if walk.family == 6 else 0
    cdef uint32_t i
    memset(chosen, 0, sizeof(Addr))
    if walk.hook == HOOK_OUTPUT:
        if walk.family == 4:
            chosen.b[0] = 127
            chosen.b[3] = 1
        else:
            chosen.b[15] = 1
        return True
    if walk.in_dev < 0:
        return False
    dev = &walk.net.devices[walk.in_dev]
    for i in range(dev.n_addresses):
        if redirect_usable(&dev.addresses[i], walk.family, scope):
            chosen[0] = dev.addresses[i].addr
            return True
    return False


cdef inline int target_redirect(Walk* walk, void* payload) noexcept nogil:
    cdef NatRange* ports = <NatRange*>payload
    cdef NatRange own = ports[0]
    cdef int verdict
    if not redirect_address(walk, &own.min_addr):
        return NF_DROP
    own.flags |= RANGE_MAP_IPS
    own.max_addr = own.min_addr
    verdict = nat_setup(walk, walk.pkt.ct, &own, MANIP_DST)
    ports.rule = own.rule
    return verdict
