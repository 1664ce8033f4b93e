"""Link types (LINKTYPE_* of the pcap and pcapng formats): those that are played, and the names of others, to refuse them by."""

from __future__ import annotations

from datapath.errors import UnsupportedFeatureError

NULL, ETHERNET, RAW_12, RAW_14, RAW, LOOP, SLL, IPV4, IPV6, SLL2 = 0, 1, 12, 14, 101, 108, 113, 228, 229, 276

RAW_TYPES = frozenset({RAW_12, RAW_14, RAW, IPV4, IPV6})
SUPPORTED = RAW_TYPES | {NULL, ETHERNET, LOOP, SLL, SLL2}

OTHER_NAMES = {
    6: "IEEE802_5", 7: "ARCNET_BSD", 8: "SLIP", 9: "PPP", 10: "FDDI", 50: "PPP_HDLC", 51: "PPP_ETHER", 100: "ATM_RFC1483",
    104: "C_HDLC", 105: "IEEE802_11", 107: "FRELAY", 109: "ENC", 117: "PFLOG", 119: "IEEE802_11_PRISM", 127: "IEEE802_11_RADIOTAP",
    147: "USER0", 189: "USB_LINUX", 192: "PPI", 195: "IEEE802_15_4_WITHFCS", 220: "USB_LINUX_MMAPPED", 227: "CAN_SOCKETCAN",
    239: "NFLOG", 242: "IPNET", 249: "USBPCAP", 251: "BLUETOOTH_LE_LL", 253: "NETLINK", 258: "PKTAP", 271: "VSOCK",
}  # fmt: skip


def require_supported(linktype: int, source: str) -> None:
    """Refuse a link type whose frames cannot be played."""
    if linktype not in SUPPORTED:
        name = OTHER_NAMES.get(linktype, "unknown")
        raise UnsupportedFeatureError(
            f"link type {linktype} ({name}) is not supported: expected Ethernet, Linux cooked (SLL, SLL2), raw IP or NULL/LOOP", source
        )
