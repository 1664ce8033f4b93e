"""Devices from the compiled host."""
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

cdef enum:
    FLAG_SECONDARY = 1
    FLAG_DEPRECATED = 2
    FLAG_TENTATIVE = 4
    FLAG_PERMANENT = 8
    FLAG_TEMPORARY = 16
    FLAG_OPTIMISTIC = 64
    FLAG_HOME = 128


cdef int devices_load(Device** devices, uint32_t* count, object compiled) except -1:
    """Allocate and fill the devices of a CompiledHost; the caller owns them (devices_free)."""
    cdef uint32_t n = <uint32_t>len(compiled)
    cdef Device* made = <Device*>calloc(n + 1, sizeof(Device))
    cdef uint32_t i = 0
    if made == NULL:
        raise MemoryError
    try:
        for i in range(n):
            device_fill(&made[i], compiled[i])
    except BaseException:
        devices_free(made, n)
        raise
    devices[0] = made
    count[0] = n
    return 0


cdef void devices_free(Device* devices, uint32_t count) noexcept nogil:
    cdef uint32_t i
    if devices == NULL:
        return
    for i in range(count):
        free(devices[i].addresses)
    free(devices)


cdef int device_fill(Device* device, object compiled) except -1:
    cdef dict values = compiled.values
    cdef bytes name = compiled.name.encode()[:15]
    cdef bytes mac = compiled.mac
    memcpy(device.name, <const char*>name, len(name))
    memcpy(device.mac, <const char*>mac, 6)
    device.ifindex = values["ifindex"]
    device.kind = values["kind"]
    device.up = values["up"]
    device.carrier = values["carrier"]
    device.noarp = values["noarp"]
    device.multicast = values["multicast"]
    device.has_link_header = values["has_link_header"]
    device.promisc = values["promisc"]
    device.mtu = values["mtu"]
    device.mtu6 = values["mtu6"]
    device.master = values["master"]
    device.lower = values["lower"]
    device.peer = values["peer"]
    device.vlan_id = values["vlan_id"]
    device.vlan_proto = values["vlan_proto"]
    device.group = values["group"]
    device_fill_sysctls(device, values)
    device_fill_neighbours(device, compiled.neighbours)
    return device_fill_addresses(device, compiled.addresses)


cdef int device_fill_sysctls(Device* device, dict values) except -1:
    device.rp_filter = values["rp_filter"]
    device.forwarding = values["forwarding"] != 0
    device.accept_local = values["accept_local"]
    device.route_localnet = values["route_localnet"]
    device.src_valid_mark = values["src_valid_mark"]
    device.arp_ignore = values["arp_ignore"] & 0xFF
    device.arp_announce = values["arp_announce"] & 0xFF
    device.arp_filter = values["arp_filter"]
    device.arp_accept = values["arp_accept"] & 0xFF
    device.proxy_arp = values["proxy_arp"]
    device.proxy_arp_pvlan = values["proxy_arp_pvlan"] != 0
    device.send_redirects = values["send_redirects"]
    device.shared_media = values["shared_media"]
    device.drop_unicast_in_l2_multicast = values["drop_unicast_in_l2_multicast"]
    device.accept_source_route = values["accept_source_route"]
    device.log_martians = values["log_martians"]
    device.medium_id = values["medium_id"] & 0xFF
    device.disable_policy = values["disable_policy"]
    device.bc_forwarding = values["bc_forwarding"]
    device.ignore_linkdown = values["ignore_linkdown"]
    device.forwarding6 = values["forwarding6"] != 0
    device.force_forwarding6 = values["force_forwarding6"] != 0
    device.disable6 = values["disable6"] != 0
    device.proxy_ndp = values["proxy_ndp"]
    device.use_tempaddr = values["use_tempaddr"] & 0xFF
    device.drop_unsolicited_na = values["drop_unsolicited_na"] != 0
    device.drop_unicast_in_l2_multicast6 = values["drop_unicast_in_l2_multicast6"] != 0
    device.accept_source_route6 = values["accept_source_route6"] & 0xFF
    device.hop_limit6 = values["hop_limit6"] & 0xFF
    device.ndisc_notify = values["ndisc_notify"] != 0
    device.addr_gen_mode = values["addr_gen_mode"] & 0xFF
    device.ignore_linkdown6 = values["ignore_linkdown6"]
    device.use_oif_addrs_only = values["use_oif_addrs_only"]
    return 0


cdef int device_fill_neighbours(Device* device, tuple compiled) except -1:
    cdef NeighbourParameters* parameters
    cdef int i = 0
    for i in range(2):
        parameters = &device.neigh[i]
        retrans, mcast, ucast, app, qlen = (max(0, min(0xFFFFFFFF, value)) for value in compiled[i])
        parameters.retrans_ms = retrans
        parameters.mcast_solicit = mcast
        parameters.ucast_solicit = ucast
        parameters.app_solicit = app
        parameters.unres_qlen_bytes = qlen
        parameters.known = 1
    return 0


cdef int device_fill_addresses(Device* device, tuple compiled) except -1:
    cdef uint32_t n = <uint32_t>len(compiled)
    cdef uint32_t i = 0
    cdef uint32_t flags = 0
    cdef DeviceAddress* address
    cdef bytes local, peer, broadcast
    device.addresses = <DeviceAddress*>calloc(n + 1, sizeof(DeviceAddress))
    if device.addresses == NULL:
        raise MemoryError
    for i in range(n):
        address = &device.addresses[i]
        local, peer, broadcast, family, prefix, scope, given = compiled[i]
        flags = given
        memcpy(&address.addr, <const char*>local, 16)
        memcpy(&address.peer, <const char*>peer, 16)
        memcpy(&address.broadcast, <const char*>broadcast, 16)
        address.family = family
        address.prefix = prefix
        address.scope = scope
        address.secondary = (flags & FLAG_SECONDARY) != 0
        address.deprecated = (flags & FLAG_DEPRECATED) != 0
        address.tentative = (flags & FLAG_TENTATIVE) != 0
        address.permanent = (flags & FLAG_PERMANENT) != 0
        address.temporary = (flags & FLAG_TEMPORARY) != 0
        address.optimistic = (flags & FLAG_OPTIMISTIC) != 0
        address.home = (flags & FLAG_HOME) != 0
        address.has_broadcast = address.broadcast.q[0] != 0
        device.n_addresses4 += family == 4
    device.n_addresses = n
    return 0
