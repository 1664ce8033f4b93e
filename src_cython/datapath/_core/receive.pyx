"""Receiving: what a device and the IP layer check before the first hook sees the packet.

Kernel: net/ethernet/eth.c (eth_type_trans), net/core/dev.c (__netif_receive_skb_core), net/8021q/vlan_core.c,
net/ipv4/ip_input.c (ip_rcv_core), net/ipv6/ip6_input.c (ip6_rcv_core).
"""
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcmp

from datapath._core.device cimport DEVICE_LOOPBACK, DEVICE_VLAN, DEVICE_VRF, Device
from datapath._core.exthdr cimport NEXTHDR_HOP, packet_find_transport
from datapath._core.hopopts cimport parse_hop_options
from datapath._core.offload cimport offload_allow
from datapath._core.packet cimport (
    PACKET_BROADCAST, PACKET_HOST, PACKET_LOOPBACK, PACKET_MULTICAST, PACKET_OTHERHOST, packet_ip,
)
from datapath._core.record cimport STEP_DEVICE, record
from datapath._core.verdict cimport (
    DROP_DEV_READY, DROP_HDR_TRUNC, DROP_IP_CSUM, DROP_IP_INHDR, DROP_IPV6DISABLED, DROP_NONE, DROP_OTHERHOST, DROP_PKT_TOO_SMALL,
    DROP_UNHANDLED_PROTO, DROP_UNICAST_IN_L2_MULTICAST,
)
from datapath._core.wire cimport fold, load_be16, sum_bytes

cdef enum:
    ETH_HEADER = 14
    LARGEST_DUMMY_LENGTH = 0x5FF    # a smaller "type" is an IEEE 802.3 length


cdef uint8_t packet_type_of(const Device* dev, const uint8_t* mac) noexcept nogil:
    """eth_type_trans: whom the frame is for."""
    cdef uint32_t i
    if mac[0] & 1:
        for i in range(6):
            if mac[i] != 0xFF:
                return PACKET_MULTICAST
        return PACKET_BROADCAST
    return PACKET_HOST if memcmp(mac, dev.mac, 6) == 0 else PACKET_OTHERHOST


cdef int link_receive(Net* net, Packet* pkt) noexcept nogil:
    """Take off the link header (and a VLAN tag: the packet is then the VLAN device's)."""
    cdef Device* dev = &net.devices[pkt.dev]
    cdef const uint8_t* frame = pkt.head + pkt.mac
    cdef uint32_t taken = 0
    pkt.in_dev = pkt.dev
    if not dev.up:
        return DROP_DEV_READY
    if not net.strict:
        offload_allow(net, pkt, dev.has_link_header)
    if dev.has_link_header:
        if pkt.present < ETH_HEADER:
            return DROP_PKT_TOO_SMALL if pkt.len < ETH_HEADER else DROP_HDR_TRUNC
        pkt.type = packet_type_of(dev, frame)
        pkt.ethertype = load_be16(frame + 12)
        taken = ETH_HEADER
    elif pkt.present:       # a tunnel or a raw link: the version says what it is
        pkt.type = PACKET_HOST
        pkt.ethertype = ETH_P_IPV6 if frame[0] >> 4 == 6 else ETH_P_IP
    pkt.mac_len = taken
    strip(pkt, taken)
    while pkt.ethertype == ETH_P_8021Q or pkt.ethertype == ETH_P_8021AD:
        if pkt.present < 4:
            return DROP_HDR_TRUNC
        enter_vlan(net, pkt)
    return DROP_NONE


cdef inline void strip(Packet* pkt, uint32_t n) noexcept nogil:
    pkt.net += n
    pkt.present -= n
    pkt.len -= n


cdef void enter_vlan(Net* net, Packet* pkt) noexcept nogil:
    """vlan_do_receive: a tag without a device makes the frame another host's, unless its id is 0 (a priority)."""
    cdef const uint8_t* tag = pkt.head + pkt.net
    cdef uint16_t proto = pkt.ethertype
    cdef int32_t i
    cdef Device* dev
    pkt.vlan = load_be16(tag)
    pkt.vlan_present = 1
    pkt.ethertype = load_be16(tag + 2)
    pkt.mac_len += 4
    strip(pkt, 4)
    for i in range(<int32_t>net.n_devices):
        dev = &net.devices[i]
        if dev.kind != DEVICE_VLAN or dev.lower != pkt.dev or dev.vlan_id != pkt.vlan & 0xFFF or dev.vlan_proto != proto or not dev.up:
            continue
        pkt.dev = i
        pkt.in_dev = i
        pkt.vlan_present = 0
        if pkt.type == PACKET_OTHERHOST and memcmp(pkt.head + pkt.mac, dev.mac, 6) == 0:
            pkt.type = PACKET_HOST
        record(&net.recorder, STEP_DEVICE, 0, 0, 0, i, 0, 0, False)
        return
    if pkt.vlan & 0xFFF:
        pkt.type = PACKET_OTHERHOST


cdef inline bint trim(Packet* pkt, uint32_t length) noexcept nogil:
    """Cut the padding off."""
    pkt.len = length
    if pkt.present > length:
        pkt.present = length
    return True


cdef int ip_rcv_core(Net* net, Packet* pkt) noexcept nogil:
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef uint32_t header
    cdef uint32_t total
    if pkt.type == PACKET_OTHERHOST:
        return DROP_OTHERHOST
    if pkt.present < 20:
        return DROP_IP_INHDR if pkt.len < 20 else DROP_HDR_TRUNC
    header = (ip[0] & 0xF) * 4
    if ip[0] >> 4 != 4 or header < 20:
        return DROP_IP_INHDR
    if pkt.present < header:
        return DROP_IP_INHDR if pkt.len < header else DROP_HDR_TRUNC
    if fold(sum_bytes(ip, header)) != 0xFFFF:
        return DROP_IP_CSUM
    total = load_be16(ip + 2)
    if pkt.len < total:
        return DROP_PKT_TOO_SMALL
    if total < header:
        return DROP_IP_INHDR
    trim(pkt, total)
    pkt.family = 4
    packet_find_transport(pkt)
    return DROP_NONE


cdef inline bint is_loopback(const uint8_t* address) noexcept nogil:
    cdef uint32_t i
    for i in range(15):
        if address[i]:
            return False
    return address[15] == 1


cdef int ip6_rcv_core(Net* net, Packet* pkt) noexcept nogil:
    cdef const uint8_t* ip = packet_ip(pkt)
    cdef const Device* dev = &net.devices[pkt.dev]
    cdef uint32_t payload
    if pkt.type == PACKET_OTHERHOST:
        return DROP_OTHERHOST
    if dev.disable6:
        return DROP_IPV6DISABLED
    if pkt.present < 40:
        return DROP_IP_INHDR if pkt.len < 40 else DROP_HDR_TRUNC
    if ip[0] >> 4 != 6:
        return DROP_UNHANDLED_PROTO
    if not ip6_addresses_sane(pkt, dev, ip):
        return DROP_IP_INHDR
    if ip[24] != 0xFF and (pkt.type == PACKET_BROADCAST or pkt.type == PACKET_MULTICAST) and dev.drop_unicast_in_l2_multicast6:
        return DROP_UNICAST_IN_L2_MULTICAST
    payload = load_be16(ip + 4)
    if payload == 0 and pkt.gso_size:
        payload = pkt.len - 40
    if payload or ip[6] != NEXTHDR_HOP:     # 0 with hop-by-hop options may be a jumbogram
        if payload + 40 > pkt.len:
            return DROP_PKT_TOO_SMALL
        trim(pkt, payload + 40)
    pkt.family = 6
    pkt.ip6_nhoff = 6
    pkt.ip6_start = 40
    packet_find_transport(pkt)
    if ip[6] == NEXTHDR_HOP:
        return parse_hop_options(net, pkt)
    return DROP_NONE


cdef bint ip6_addresses_sane(const Packet* pkt, const Device* dev, const uint8_t* ip) noexcept nogil:
    """The addresses that must not be seen on a wire (RFC 4291, 2.5.3 and 2.7)."""
    cdef bint inside = dev.kind == DEVICE_LOOPBACK
    if (is_loopback(ip + 8) or is_loopback(ip + 24)) and not inside and dev.kind != DEVICE_VRF:
        return False
    if ip[24] == 0xFF:
        if (ip[25] & 0xF) == 1 and not (inside or pkt.type == PACKET_LOOPBACK):
            return False
        if (ip[25] & 0xF) == 0:
            return False
    return ip[8] != 0xFF
