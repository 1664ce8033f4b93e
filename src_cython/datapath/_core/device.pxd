# Devices and their addresses (struct net_device, in_device, inet6_dev). A device is named by its index in
# Net.devices; its ifindex is only what the host's own files call it.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t

from datapath._core.tuples cimport Addr


cdef enum DeviceKind:
    DEVICE_PLAIN = 0        # a NIC, a veth whose far end is outside
    DEVICE_LOOPBACK = 1
    DEVICE_DUMMY = 2
    DEVICE_BRIDGE = 3
    DEVICE_VLAN = 4
    DEVICE_VXLAN = 5
    DEVICE_IPIP = 6
    DEVICE_GRE = 7
    DEVICE_TUN = 8
    DEVICE_VRF = 9
    DEVICE_VETH = 10
    DEVICE_OTHER = 11


cdef struct DeviceAddress:
    Addr addr
    Addr peer               # equal to addr without a peer
    Addr broadcast
    uint8_t family
    uint8_t prefix
    uint8_t scope           # RT_SCOPE_*: 0 universe, 200 site, 253 link, 254 host
    uint8_t secondary
    uint8_t deprecated
    uint8_t tentative
    uint8_t has_broadcast
    uint8_t permanent
    uint8_t temporary       # IPv6 privacy address
    uint8_t optimistic
    uint8_t home


cdef struct NeighbourParameters:    # net.ipv4.neigh.<dev>.*, net.ipv6.neigh.<dev>.*
    uint32_t retrans_ms
    uint32_t mcast_solicit
    uint32_t ucast_solicit
    uint32_t app_solicit
    uint32_t unres_qlen_bytes
    uint8_t known           # 0: not read, the kernel's defaults hold


cdef struct Device:
    NeighbourParameters neigh[2]    # IPv4, IPv6
    char name[16]
    uint32_t ifindex
    uint8_t kind            # DeviceKind
    uint8_t up              # IFF_UP
    uint8_t carrier         # LOWER_UP: operational
    uint8_t noarp
    uint8_t multicast       # IFF_MULTICAST
    uint8_t has_link_header  # Ethernet
    uint8_t mac[6]
    uint8_t promisc
    uint32_t mtu
    uint32_t mtu6
    int32_t master          # bridge or VRF it belongs to, -1
    int32_t lower           # VLAN parent, tunnel underlay, -1
    int32_t peer            # veth peer in this namespace, -1
    uint16_t vlan_id
    uint16_t vlan_proto
    DeviceAddress* addresses    # in the order of `ip addr`; owned by Net
    uint32_t n_addresses
    uint32_t group
    # net.ipv4.conf.<dev>.* as they take effect together with conf.all (IN_DEV_MAXCONF and the like)
    uint8_t rp_filter           # max(all, dev)
    uint8_t forwarding          # dev
    uint8_t accept_local        # all or dev
    uint8_t route_localnet      # all or dev
    uint8_t src_valid_mark
    uint8_t arp_ignore          # max
    uint8_t arp_announce        # max
    uint8_t arp_filter          # or
    uint8_t proxy_arp           # or
    uint8_t send_redirects      # or
    uint8_t accept_redirects
    uint8_t drop_unicast_in_l2_multicast
    uint8_t accept_source_route  # and
    uint8_t log_martians
    uint8_t arp_accept
    uint8_t medium_id
    uint8_t disable_policy
    uint8_t proxy_arp_pvlan
    uint8_t shared_media        # or
    uint8_t bc_forwarding       # and
    uint8_t ignore_linkdown     # or
    # net.ipv6.conf.<dev>.*
    uint8_t forwarding6
    uint8_t disable6
    uint8_t proxy_ndp
    uint8_t use_tempaddr
    uint8_t drop_unsolicited_na
    uint8_t drop_unicast_in_l2_multicast6
    uint8_t accept_source_route6
    uint8_t hop_limit6
    uint8_t ndisc_notify
    uint8_t addr_gen_mode
    uint8_t ignore_linkdown6
    uint8_t use_oif_addrs_only
    uint8_t force_forwarding6
    uint32_t n_addresses4       # of addresses


cdef int devices_load(Device** devices, uint32_t* count, object compiled) except -1
cdef void devices_free(Device* devices, uint32_t count) noexcept nogil
