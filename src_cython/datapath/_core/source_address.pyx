"""Source address selection.

Kernel: net/ipv4/devinet.c, inet_select_addr; net/ipv6/addrconf.c, ipv6_dev_get_saddr (RFC 6724);
net/ipv6/addrlabel.c for the labels; net/netfilter/nf_nat_masquerade.c for what MASQUERADE takes.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from datapath._core.context cimport Net
from datapath._core.device cimport Device, DeviceAddress
from datapath._core.fib_table cimport Fib, HeldAddress, address_hash
from datapath._core.tuples cimport Addr, addr_equal, addr_is_zero

cdef enum:
    RULES = 10
    RULE_SCOPE = 1
    SCOPE_TOO_SMALL = 128
    IPV6_SCOPE_LINK = 2
    IPV6_SCOPE_GLOBAL = 14


cdef struct Candidate:  # an address with how it does under each of RFC 6724's rules
    const DeviceAddress* address
    int score[10]


cdef bint prefix_equal(const Addr* a, const Addr* b, uint32_t length) noexcept nogil:
    cdef uint32_t i = 0
    while length >= 8:
        if a.b[i] != b.b[i]:
            return False
        i += 1
        length -= 8
    return not length or (a.b[i] ^ b.b[i]) >> (8 - length) == 0


# ---- IPv4 ---------------------------------------------------------------------------------------------------

cdef bint select_source4(Net* net, int32_t dev, const Addr* dst, uint8_t scope, Addr* out) noexcept nogil:
    """inet_select_addr: the device's primary address on the subnet of dst, else its first of fitting scope, else another device's."""
    cdef const Device* device
    cdef const DeviceAddress* address
    cdef const DeviceAddress* chosen = NULL
    cdef uint32_t i, d
    cdef uint8_t localnet = SCOPE_HOST
    if dev >= 0:
        device = &net.devices[dev]
        if device.route_localnet:
            localnet = SCOPE_LINK
        for i in range(device.n_addresses):
            address = &device.addresses[i]
            if address.family != 4 or address.secondary or min(address.scope, localnet) > scope:
                continue
            if dst == NULL or addr_is_zero(dst) or prefix_equal(dst, &address.peer, address.prefix):
                chosen = address
                break
            if chosen == NULL:
                chosen = address
        if chosen != NULL:
            out[0] = chosen.addr
            return True
    for d in range(net.n_devices):
        device = &net.devices[d]
        for i in range(device.n_addresses):
            address = &device.addresses[i]
            if address.family == 4 and not address.secondary and address.scope != SCOPE_LINK and address.scope <= scope:
                out[0] = address.addr
                return True
    memset(out, 0, sizeof(Addr))
    return False


cdef bint addresses_on_link4(Net* net, int32_t dev, const Addr* a, const Addr* b) noexcept nogil:
    """inet_addr_onlink: a, and b when it is given, are on one subnet of the device."""
    cdef const Device* device = &net.devices[dev]
    cdef const DeviceAddress* address
    cdef uint32_t i
    for i in range(device.n_addresses):
        address = &device.addresses[i]
        if address.family == 4 and not address.secondary and prefix_equal(a, &address.peer, address.prefix):
            if addr_is_zero(b) or prefix_equal(b, &address.peer, address.prefix):
                return True
    return False


cdef bint device_holds(Net* net, uint8_t family, int32_t dev, const Addr* address, bint tentative) noexcept nogil:
    """Whether the address is one of the device's, or with dev -1 of any (inet_lookup_ifaddr_rcu, ipv6_chk_addr)."""
    cdef uint32_t i
    cdef const Device* device
    cdef const HeldAddress* held
    if dev < 0:
        held = held_find(net, family, address)
        return held != NULL and (tentative or held.settled)
    device = &net.devices[dev]
    for i in range(device.n_addresses):
        if device.addresses[i].family == family and addr_equal(&device.addresses[i].addr, address):
            if tentative or not device.addresses[i].tentative or device.addresses[i].optimistic:
                return True
    return False


cdef const HeldAddress* held_find(Net* net, uint8_t family, const Addr* address) noexcept nogil:
    """Where the address stands among those of all devices, NULL."""
    cdef Fib* fib = <Fib*>net.fib
    cdef uint64_t at
    if fib == NULL:
        return NULL
    at = address_hash(address, family) & fib.held_mask
    while fib.held[at].dev >= 0:
        if fib.held[at].family == family and addr_equal(&fib.held[at].addr, address):
            return &fib.held[at]
        at = (at + 1) & fib.held_mask
    return NULL


# ---- IPv6 ---------------------------------------------------------------------------------------------------

cdef int scope6(const Addr* a) noexcept nogil:
    """__ipv6_addr_src_scope: an address's scope, as multicast counts them."""
    if a.b[0] == 0xFF:
        return a.b[1] & 0x0F
    if a.b[0] == 0xFE and (a.b[1] & 0xC0) == 0x80:
        return IPV6_SCOPE_LINK
    if a.b[0] == 0xFE and (a.b[1] & 0xC0) == 0xC0:
        return 5
    if a.q[0] == 0 and a.w[2] == 0 and a.b[12] == 0 and a.b[13] == 0 and a.b[14] == 0:
        if a.b[15] == 1:
            return IPV6_SCOPE_LINK      # the loopback address
        if a.b[15] == 0:
            return -1
    return IPV6_SCOPE_GLOBAL


cdef int label6(const Addr* a) noexcept nogil:
    """The default policy table."""
    if a.q[0] == 0:
        if a.w[2] == 0:
            return 0 if a.b[12] == 0 and a.b[13] == 0 and a.b[14] == 0 and a.b[15] == 1 else 3
        if a.b[8] == 0 and a.b[9] == 0 and a.b[10] == 0xFF and a.b[11] == 0xFF:
            return 4
    if a.b[0] & 0xFE == 0xFC:
        return 5
    if a.b[0] == 0xFE and (a.b[1] & 0xC0) == 0xC0:
        return 11
    if a.b[0] == 0x20 and a.b[1] == 0x02:
        return 2
    if a.b[0] == 0x3F and a.b[1] == 0xFE:
        return 12
    if a.b[0] == 0x20 and a.b[1] == 0x01 and a.b[2] == 0:
        if a.b[3] == 0:
            return 6
        if a.b[3] & 0xF0 == 0x10:
            return 7
    return 1


cdef bint is_orchid(const Addr* a) noexcept nogil:
    return a.b[0] == 0x20 and a.b[1] == 0x01 and a.b[2] == 0 and a.b[3] & 0xF0 == 0x10


cdef int common_bits(const Addr* a, const Addr* b) noexcept nogil:
    """The length of the prefix that both share."""
    cdef int i, bit
    for i in range(16):
        if a.b[i] != b.b[i]:
            bit = 0
            while not (a.b[i] ^ b.b[i]) >> (7 - bit) & 1:
                bit += 1
            return i * 8 + bit
    return 128


cdef void candidate_score(Candidate* candidate, const Device* device, int32_t number, int32_t dev, const Addr* dst) noexcept nogil:
    cdef const DeviceAddress* address = candidate.address
    cdef int scope = scope6(&address.addr)
    cdef int label = label6(&address.addr)
    cdef bint preferred_type = label == 0 or label == 3 or label == 4   # loopback, IPv4-compatible, IPv4-mapped
    cdef int* score = candidate.score
    score[0] = addr_equal(&address.addr, dst)
    score[RULE_SCOPE] = -scope if scope >= scope6(dst) else scope - SCOPE_TOO_SMALL
    score[2] = preferred_type or not (address.deprecated or address.optimistic)
    score[3] = address.home
    score[4] = dev < 0 or dev == number
    score[5] = label == label6(dst)
    score[6] = (not address.temporary) != (device.use_tempaddr >= 2)
    score[7] = is_orchid(&address.addr) == is_orchid(dst)
    score[8] = min(common_bits(&address.addr, dst), <int>address.prefix)
    score[9] = not address.optimistic


cdef void device_candidates(Net* net, int32_t number, int32_t dev, const Addr* dst, Candidate* best) noexcept nogil:
    """__ipv6_dev_get_saddr: the device's addresses against the best so far."""
    cdef const Device* device = &net.devices[number]
    cdef Candidate candidate
    cdef uint32_t i
    cdef int rule
    for i in range(device.n_addresses):
        candidate.address = &device.addresses[i]
        if candidate.address.family != 6 or (candidate.address.tentative and not candidate.address.optimistic):
            continue
        if candidate.address.addr.b[0] == 0xFF or addr_is_zero(&candidate.address.addr):
            continue
        candidate_score(&candidate, device, number, dev, dst)
        if best.address == NULL:
            best[0] = candidate
            continue
        for rule in range(RULES):
            if candidate.score[rule] != best.score[rule]:
                if candidate.score[rule] > best.score[rule]:
                    best[0] = candidate
                break


cdef bint select_source6(Net* net, int32_t dev, const Addr* dst, Addr* out) noexcept nogil:
    """ipv6_dev_get_saddr."""
    cdef Candidate best
    cdef uint32_t d
    cdef const Device* device
    best.address = NULL
    if dev >= 0 and (dst.b[0] == 0xFF or scope6(dst) <= IPV6_SCOPE_LINK or net.devices[dev].use_oif_addrs_only):
        device_candidates(net, dev, dev, dst, &best)
    else:
        for d in range(net.n_devices):
            device = &net.devices[d]
            if device.n_addresses:
                device_candidates(net, <int32_t>d, dev, dst, &best)
    if best.address == NULL:
        memset(out, 0, sizeof(Addr))
        return False
    out[0] = best.address.addr
    return True


cdef bint select_source(Net* net, uint8_t family, int32_t dev, const Addr* dst, uint8_t scope, Addr* out) noexcept nogil:
    """inet_select_addr(dev, dst, scope) or ipv6_dev_get_saddr(dev, dst). dev -1: none; dst NULL (IPv4): any. False: no address."""
    if family == 4:
        return select_source4(net, dev, dst, scope, out)
    return select_source6(net, dev, dst, out)


cdef bint masquerade_address(Net* net, uint8_t family, int32_t dev, const RouteDecision* route, const Addr* dst, Addr* out) noexcept nogil:
    """The source that MASQUERADE takes on dev for a packet to dst that goes by that route. The route's own hint is not asked."""
    cdef const Addr* next_hop = dst
    if family == 4 and route != NULL and route.has_gateway and route.gateway_family == 4:
        next_hop = &route.gateway
    return select_source(net, family, dev, next_hop, SCOPE_UNIVERSE, out)
