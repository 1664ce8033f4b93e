# The packet in flight: what sk_buff is to Linux.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from libc.string cimport memcpy

from datapath._core.conn cimport CtEntry
from datapath._core.tuples cimport Addr
from datapath._core.wire cimport load_be16


cdef enum:
    HEADROOM = 128          # bytes kept free before the link header: room for tunnels
    PACKET_MAX = 65536 + 256


cdef enum PacketType:  # include/uapi/linux/if_packet.h
    PACKET_HOST = 0
    PACKET_BROADCAST = 1
    PACKET_MULTICAST = 2
    PACKET_OTHERHOST = 3
    PACKET_OUTGOING = 4
    PACKET_LOOPBACK = 5


cdef enum CsumState:
    CSUM_NONE = 0           # has to be verified
    CSUM_PARTIAL = 1        # holds only the pseudo-header's sum (offload): valid, finished on the way out
    CSUM_VALID = 2          # known to be right (made here, or verified)


cdef struct Packet:  # see below for the fields that only the walk itself uses
    uint8_t* head           # the buffer; owned by the pool
    uint32_t size           # its bytes
    uint32_t mac            # offset of the link header in the buffer
    uint32_t mac_len        # 0: there is none
    uint32_t net            # offset of the IP header in the buffer
    uint32_t len            # length of the IP packet (skb->len); trimmed to the header's length on receipt
    uint32_t present        # bytes of it that are in the buffer: fewer than len when the snap length cut it
    uint32_t transport      # offset of the transport header from the IP header (IPv6: behind extension headers)
    uint16_t ethertype
    uint16_t vlan           # TCI of a tag that the device took off; with vlan_present
    uint16_t frag_offset    # of this fragment, in bytes; 0 for the first or a whole packet
    uint8_t more_fragments
    uint8_t vlan_present
    uint8_t family          # 4 or 6
    uint8_t protocol        # transport protocol
    uint8_t type            # PacketType
    uint8_t csum            # CsumState
    uint8_t nf_trace        # raw's TRACE target was met
    uint8_t local           # made on this node (process or kernel)
    uint8_t has_owner       # uid and gid are known (a process's socket)
    uint8_t ipvs_property   # IPVS has handled it: conntrack's NAT and IPVS leave it alone
    uint8_t ctinfo          # CtInfo; meaningful with ct, or CT_UNTRACKED; CT_NEW without ct: a rule has said its zones
    uint16_t ct_zone[2]     # then: the conntrack zone of each direction
    uint8_t unknown         # a rule that is not emulated had a part in it
    CtEntry* ct
    uint32_t mark
    uint32_t priority
    uint32_t uid
    uint32_t gid
    int32_t dev             # index of the device that it is on
    int32_t in_dev          # the device that it was received on (skb_iif), -1
    int32_t route           # index into Net.routes of the decision that holds (-1: none yet)
    uint32_t frag_max_size  # IP6CB/IPCB frag_max_size: the largest fragment before reassembly
    uint32_t gso_size       # 0: not a stack of segments
    uint64_t serial         # number of the packet in the replay
    Packet* next            # in the list that holds it: free list, backlog, a neighbour's queue, fragments
    uint8_t forwarded       # IPSKB_FORWARDED, IP6SKB_FORWARDED
    uint8_t rerouted        # IPSKB_REROUTED: a later POSTROUTING skips nothing of ours, xfrm only
    uint8_t ignore_df       # skb->ignore_df: may be cut in spite of DF
    uint8_t frag_pmtu       # IPSKB_FRAG_PMTU: some fragment had DF
    uint8_t options         # bytes of IPv4 options that were understood (IPCB(skb)->opt.optlen)
    uint8_t depth           # Recorder.depth of its walk
    uint8_t no_mc_loop      # its socket has IP_MULTICAST_LOOP off
    uint8_t main            # the packet of the call: its end is the outcome of the call
    uint8_t no_transport    # no transport header could be found: ipv6_find_hdr failed (a rule with -p drops the packet at once)
    uint8_t options_bad     # IPv4 options could not be understood
    Addr scratch            # whom a packet that is being made is for, until its header is written
    uint8_t opt_rr          # IPCB opt: where record route, timestamp and source route stand in the header; 0: not there
    uint8_t opt_ts
    uint8_t opt_srr
    uint8_t opt_need        # OptionNeed of ip_options.pxd
    Addr srr_hop            # IPCB opt.nexthop, when opt_need says that it is hit
    uint8_t strict_route    # IPCB opt.is_strictroute
    uint8_t source_routed   # IPCB opt.srr, IP6CB srcrt
    uint16_t ip6_start      # where the header stands that local delivery begins with (skb->transport_header)
    uint16_t ip6_nhoff      # IP6CB nhoff: where the field stands that names the current header
    uint32_t piece_offset   # in a reassembly queue: where its data belongs
    uint32_t transport_of_piece     # and where it begins in this packet
    uint8_t* pieces         # sizes of the fragments that it was reassembled from (uint16_t), NULL: it was whole; owned
    uint32_t n_pieces


cdef inline uint8_t* packet_ip(const Packet* pkt) noexcept nogil:
    """The IP header. Its fixed part is present once packet_receive has accepted it."""
    return pkt.head + pkt.net


cdef inline Addr address_at(const uint8_t* p, uint8_t family) noexcept nogil:
    """The address that stands at p; 4 or 16 bytes."""
    cdef Addr found
    found.q[0] = 0
    found.q[1] = 0
    memcpy(&found, p, 4 if family == 4 else 16)
    return found


cdef inline Addr packet_source(const Packet* pkt) noexcept nogil:
    return address_at(pkt.head + pkt.net + (12 if pkt.family == 4 else 8), pkt.family)


cdef inline Addr packet_destination(const Packet* pkt) noexcept nogil:
    return address_at(pkt.head + pkt.net + (16 if pkt.family == 4 else 24), pkt.family)


cdef inline uint8_t* packet_transport(const Packet* pkt) noexcept nogil:
    return pkt.head + pkt.net + pkt.transport


cdef inline uint32_t packet_transport_present(const Packet* pkt) noexcept nogil:
    """How many bytes from the transport header on can be read."""
    return pkt.present - pkt.transport if pkt.present > pkt.transport else 0


cdef inline bint packet_has(const Packet* pkt, uint32_t offset, uint32_t n) noexcept nogil:
    """Whether n bytes at offset from the IP header can be read (skb_header_pointer succeeds)."""
    return offset + n <= pkt.present and offset + n >= offset
