"""Allowances for frames that were captured on the machine that sends or forwards them.

There Linux shows packets before the device has finished them: a TCP or UDP checksum holds only the sum of the
pseudo-header (skb->ip_summed is CHECKSUM_PARTIAL), the IP length of a large segment is zero, and a frame above the MTU
is a stack of segments (skb_is_gso). Such packets are right, and a copy of them in a file must not be taken for broken.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from datapath._core.packet cimport CSUM_PARTIAL, CSUM_VALID, packet_transport
from datapath._core.wire cimport fold, load_be16, store_be16, sum_bytes

cdef enum:
    ETH_P_IP = 0x0800
    ETH_P_IPV6 = 0x86DD
    ETH_P_8021Q = 0x8100
    ETH_P_8021AD = 0x88A8
    TCP = 6
    UDP = 17
    TCP_HEADER = 20
    UDP_HEADER = 8
    IPV4_HEADER = 20
    IPV6_HEADER = 40


cdef struct View:           # of the IP packet in the frame
    uint8_t* ip
    uint32_t present        # bytes of it that were captured
    uint32_t length         # bytes that it had
    uint32_t header
    uint8_t protocol


cdef void offload_allow(Net* net, Packet* pkt, bint link) noexcept nogil:
    cdef View view
    cdef uint8_t* frame = pkt.head + pkt.mac
    cdef uint32_t at = 0
    cdef uint16_t ethertype = ETH_P_IP
    if link:
        at = 14
        if pkt.present < at:
            return
        ethertype = load_be16(frame + 12)
        while (ethertype == ETH_P_8021Q or ethertype == ETH_P_8021AD) and pkt.present >= at + 4:
            ethertype = load_be16(frame + at + 2)
            at += 4
    elif pkt.present and frame[0] >> 4 == 6:
        ethertype = ETH_P_IPV6
    if pkt.present < at:
        return
    view.ip = frame + at
    view.present = pkt.present - at
    view.length = pkt.len - at
    if not (ipv4_view(&view) if ethertype == ETH_P_IP else ethertype == ETH_P_IPV6 and ipv6_view(&view)):
        return
    if view.protocol == TCP or view.protocol == UDP:
        allow_partial_checksum(pkt, &view)
    if pkt.dev >= 0 and (view.protocol == TCP or view.protocol == UDP):
        allow_segments(net, pkt, &view)


cdef bint ipv4_view(View* view) noexcept nogil:
    """The packet's bounds. A zero length is what a device with TSO is given: the frame's own is written in."""
    cdef uint32_t length
    if view.present < IPV4_HEADER or view.ip[0] >> 4 != 4:
        return False
    view.header = (view.ip[0] & 15) * 4
    if view.header < IPV4_HEADER or view.present < view.header:
        return False
    view.protocol = view.ip[9]
    length = load_be16(view.ip + 2)
    if length == 0 and view.length <= 0xFFFF and view.protocol == TCP:
        store_be16(view.ip + 2, <uint16_t>view.length)
        store_be16(view.ip + 10, 0)
        store_be16(view.ip + 10, <uint16_t>~fold(sum_bytes(view.ip, view.header)))
        length = view.length
    if length and length < view.length:
        view.length = length        # Ethernet's padding
    return view.length >= view.header and load_be16(view.ip + 6) & 0x3FFF == 0


cdef bint ipv6_view(View* view) noexcept nogil:
    cdef uint32_t length
    if view.present < IPV6_HEADER or view.ip[0] >> 4 != 6:
        return False
    view.header = IPV6_HEADER
    view.protocol = view.ip[6]
    length = load_be16(view.ip + 4)
    if length == 0 and view.protocol == TCP and IPV6_HEADER < view.length <= 0xFFFF + IPV6_HEADER:
        store_be16(view.ip + 4, <uint16_t>(view.length - IPV6_HEADER))
        length = view.length - IPV6_HEADER
    if length and length + IPV6_HEADER < view.length:
        view.length = length + IPV6_HEADER
    return True


cdef void allow_partial_checksum(Packet* pkt, const View* view) noexcept nogil:
    cdef uint32_t check = view.header + (16 if view.protocol == TCP else 6)
    cdef uint64_t total
    if view.present < check + 2:
        return
    if view.ip[0] >> 4 == 4:
        total = sum_bytes(view.ip + 12, 8)
    else:
        total = sum_bytes(view.ip + 8, 32)
    total += view.protocol + (view.length - view.header)
    if fold(total) == load_be16(view.ip + check):
        pkt.csum = CSUM_PARTIAL


cdef void allow_segments(Net* net, Packet* pkt, const View* view) noexcept nogil:
    """One packet, not too big; its segments are as large as the device's MTU lets them be."""
    cdef uint32_t mtu = net.devices[pkt.dev].mtu
    cdef uint32_t headers = view.header + UDP_HEADER
    if view.length <= mtu:
        return
    if view.protocol == TCP:
        if view.present < view.header + TCP_HEADER:
            return
        headers = view.header + (view.ip[view.header + 12] >> 4) * 4
    if mtu > headers:
        pkt.gso_size = mtu - headers


cdef void offload_complete(Packet* pkt) noexcept nogil:
    """Of what the snap length cut nothing can be computed: it stays as it was captured."""
    cdef uint8_t* transport = packet_transport(pkt)
    cdef uint32_t check = 16 if pkt.protocol == TCP else 6
    cdef uint16_t total
    if pkt.present < pkt.len or (pkt.protocol != TCP and pkt.protocol != UDP) or pkt.transport + check + 2 > pkt.present:
        return
    total = <uint16_t>~fold(sum_bytes(transport, pkt.len - pkt.transport))
    store_be16(transport + check, 0xFFFF if total == 0 and pkt.protocol == UDP else total)
    pkt.csum = CSUM_VALID
