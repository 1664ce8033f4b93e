"""The sysctls that the path reads: Linux 6.18's defaults, and how the values for all devices and for one combine.

Defaults: net/ipv4/af_inet.c, devinet.c, icmp.c, ip_fragment.c; net/ipv6/addrconf.c; net/netfilter/nf_conntrack_*.c.
Combination: include/linux/inetdevice.h (IN_DEV_ORCONF and its like).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from datapath.errors import HostError
from datapath.model.digits import is_digits

SECOND_NS = 1_000_000_000
TCP_TIMEOUTS = {    # by enum tcp_conntrack; seconds. SYN_SENT2 has no sysctl.
    "syn_sent": (1, 120), "syn_recv": (2, 60), "established": (3, 432000), "fin_wait": (4, 120), "close_wait": (5, 60),
    "last_ack": (6, 30), "time_wait": (7, 120), "close": (8, 10),
}
TCP_SYN_SENT2 = (9, 120)
SCTP_TIMEOUTS = {
    "closed": (1, 10), "cookie_wait": (2, 3), "cookie_echoed": (3, 3), "established": (4, 210), "shutdown_sent": (5, 3),
    "shutdown_recd": (6, 3), "shutdown_ack_sent": (7, 3), "heartbeat_sent": (8, 30),
}
DCCP_TIMEOUTS = {
    "request": (1, 240), "respond": (2, 480), "partopen": (3, 480), "open": (4, 43200), "closereq": (5, 64), "closing": (6, 64),
    "timewait": (7, 240),
}
# Field of the core's Sysctls: name, default. A name of None is a fixed value.
NODE: dict[str, tuple[str, int]] = {
    "ip_forward": ("net.ipv4.ip_forward", 0),
    "ip_default_ttl": ("net.ipv4.ip_default_ttl", 64),
    "ip_no_pmtu_disc": ("net.ipv4.ip_no_pmtu_disc", 0),
    "ip_forward_use_pmtu": ("net.ipv4.ip_forward_use_pmtu", 0),
    "ip_forward_update_priority": ("net.ipv4.ip_forward_update_priority", 1),
    "ip_early_demux": ("net.ipv4.ip_early_demux", 1),
    "ip_nonlocal_bind": ("net.ipv4.ip_nonlocal_bind", 0),
    "fib_multipath_hash_policy": ("net.ipv4.fib_multipath_hash_policy", 0),
    "fib_multipath_hash_fields": ("net.ipv4.fib_multipath_hash_fields", 7),
    "fwmark_reflect": ("net.ipv4.fwmark_reflect", 0),
    "icmp_echo_ignore_all": ("net.ipv4.icmp_echo_ignore_all", 0),
    "icmp_echo_ignore_broadcasts": ("net.ipv4.icmp_echo_ignore_broadcasts", 1),
    "icmp_errors_use_inbound_ifaddr": ("net.ipv4.icmp_errors_use_inbound_ifaddr", 0),
    "icmp_ratelimit": ("net.ipv4.icmp_ratelimit", 1000),
    "icmp_ratemask": ("net.ipv4.icmp_ratemask", 0x1818),
    "icmp_msgs_per_sec": ("net.ipv4.icmp_msgs_per_sec", 1000),
    "icmp_msgs_burst": ("net.ipv4.icmp_msgs_burst", 50),
    "ipfrag_high_thresh": ("net.ipv4.ipfrag_high_thresh", 4194304),
    "ipfrag_low_thresh": ("net.ipv4.ipfrag_low_thresh", 3145728),
    "ipfrag_time": ("net.ipv4.ipfrag_time", 30),
    "ipfrag_max_dist": ("net.ipv4.ipfrag_max_dist", 64),
    "min_pmtu": ("net.ipv4.route.min_pmtu", 552),
    "forwarding6": ("net.ipv6.conf.all.forwarding", 0),
    "hop_limit6": ("net.ipv6.conf.all.hop_limit", 64),
    "icmp6_ratelimit": ("net.ipv6.icmp.ratelimit", 1000),
    "icmp6_echo_ignore_all": ("net.ipv6.icmp.echo_ignore_all", 0),
    "ip6_flowlabel_reflect": ("net.ipv6.flowlabel_reflect", 0),
    "fwmark_reflect6": ("net.ipv6.fwmark_reflect", 0),
    "ip_nonlocal_bind6": ("net.ipv6.ip_nonlocal_bind", 0),
    "fib_multipath_hash_policy6": ("net.ipv6.fib_multipath_hash_policy", 0),
    "ip6frag_high_thresh": ("net.ipv6.ip6frag_high_thresh", 4194304),
    "ip6frag_time": ("net.ipv6.ip6frag_time", 60),
    "nf_frag6_timeout": ("net.netfilter.nf_conntrack_frag6_timeout", 60),
    "nf_frag6_high_thresh": ("net.netfilter.nf_conntrack_frag6_high_thresh", 4194304),
    "bridge_nf_call_iptables": ("net.bridge.bridge-nf-call-iptables", 0),
    "bridge_nf_call_ip6tables": ("net.bridge.bridge-nf-call-ip6tables", 0),
    "bridge_nf_filter_vlan_tagged": ("net.bridge.bridge-nf-filter-vlan-tagged", 0),
    "ct_checksum": ("net.netfilter.nf_conntrack_checksum", 1),
    "ct_acct": ("net.netfilter.nf_conntrack_acct", 0),
    "ct_helper": ("net.netfilter.nf_conntrack_helper", 0),
    "ct_tcp_loose": ("net.netfilter.nf_conntrack_tcp_loose", 1),
    "ct_tcp_be_liberal": ("net.netfilter.nf_conntrack_tcp_be_liberal", 0),
    "ct_tcp_ignore_invalid_rst": ("net.netfilter.nf_conntrack_tcp_ignore_invalid_rst", 0),
    "ct_tcp_max_retrans": ("net.netfilter.nf_conntrack_tcp_max_retrans", 3),
    "ct_timestamp": ("net.netfilter.nf_conntrack_timestamp", 0),
    "ct_max": ("net.netfilter.nf_conntrack_max", 262144),
    "ct_expect_max": ("net.netfilter.nf_conntrack_expect_max", 4096),
    "ct_buckets": ("net.netfilter.nf_conntrack_buckets", 262144),
}
TIMEOUTS: dict[str, tuple[str, int]] = {
    "ct_timeout_tcp_unacked": ("net.netfilter.nf_conntrack_tcp_timeout_unacknowledged", 300),
    "ct_timeout_tcp_retrans": ("net.netfilter.nf_conntrack_tcp_timeout_max_retrans", 300),
    "ct_timeout_icmp": ("net.netfilter.nf_conntrack_icmp_timeout", 30),
    "ct_timeout_icmp6": ("net.netfilter.nf_conntrack_icmpv6_timeout", 30),
    "ct_timeout_generic": ("net.netfilter.nf_conntrack_generic_timeout", 600),
}
Combine = Callable[[int, int], int]


def of_device(_all: int, device: int) -> int:
    """Only the device's value counts."""
    return device


def either(for_all: int, device: int) -> int:
    """One of them is enough."""
    return int(bool(for_all or device))


def both(for_all: int, device: int) -> int:
    """Both have to be set."""
    return int(bool(for_all and device))


# Field of the core's Device: key under net.ipv4.conf.DEVICE, default for a device, default for all, combination.
DEVICE4: dict[str, tuple[str, int, int, Combine]] = {
    "rp_filter": ("rp_filter", 0, 0, max),
    "forwarding": ("forwarding", 0, 0, of_device),
    "accept_local": ("accept_local", 0, 0, either),
    "route_localnet": ("route_localnet", 0, 0, either),
    "src_valid_mark": ("src_valid_mark", 0, 0, either),
    "arp_ignore": ("arp_ignore", 0, 0, max),
    "arp_announce": ("arp_announce", 0, 0, max),
    "arp_filter": ("arp_filter", 0, 0, either),
    "arp_accept": ("arp_accept", 0, 0, max),
    "proxy_arp": ("proxy_arp", 0, 0, either),
    "proxy_arp_pvlan": ("proxy_arp_pvlan", 0, 0, of_device),
    "send_redirects": ("send_redirects", 1, 1, either),
    "shared_media": ("shared_media", 1, 1, either),
    "drop_unicast_in_l2_multicast": ("drop_unicast_in_l2_multicast", 0, 0, either),
    "accept_source_route": ("accept_source_route", 1, 0, both),
    "log_martians": ("log_martians", 0, 0, either),
    "medium_id": ("medium_id", 0, 0, of_device),
    "disable_policy": ("disable_policy", 0, 0, either),
    "bc_forwarding": ("bc_forwarding", 0, 0, both),
    "ignore_linkdown": ("ignore_routes_with_linkdown", 0, 0, either),
}
DEVICE6: dict[str, tuple[str, int, int, Combine]] = {
    "forwarding6": ("forwarding", 0, 0, of_device),
    "force_forwarding6": ("force_forwarding", 0, 0, of_device),
    "disable6": ("disable_ipv6", 0, 0, of_device),
    "proxy_ndp": ("proxy_ndp", 0, 0, either),
    "use_tempaddr": ("use_tempaddr", 0, 0, of_device),
    "drop_unsolicited_na": ("drop_unsolicited_na", 0, 0, of_device),
    "drop_unicast_in_l2_multicast6": ("drop_unicast_in_l2_multicast", 0, 0, of_device),
    "accept_source_route6": ("accept_source_route", 0, 0, min),
    "hop_limit6": ("hop_limit", 64, 64, of_device),
    "ndisc_notify": ("ndisc_notify", 0, 0, of_device),
    "addr_gen_mode": ("addr_gen_mode", 0, 0, of_device),
    "ignore_linkdown6": ("ignore_routes_with_linkdown", 0, 0, either),
    "use_oif_addrs_only": ("use_oif_addrs_only", 0, 0, either),
    "ipv6_mtu": ("mtu", 0, 0, of_device),
}

# net.FAMILY.neigh.DEVICE, with Linux's defaults (net/ipv4/arp.c, arp_tbl; net/ipv6/ndisc.c, nd_tbl).
NEIGHBOUR = (("retrans_time_ms", 1000), ("mcast_solicit", 3), ("ucast_solicit", 3), ("app_solicit", 0), ("unres_qlen_bytes", 212992))


class Sysctls:
    """The values of one node, read as numbers. Bad ones raise HostError with their name."""

    def __init__(self, values: Mapping[str, str], source: str = "sysctl.txt") -> None:
        self.values, self.source = values, source

    def number(self, name: str, default: int) -> int:
        """The value of `name`; the first word of several."""
        text = self.values.get(name)
        if text is None:
            return default
        try:
            value = int(text.split()[0])
        except (ValueError, IndexError):
            raise HostError(f"{name} = {text[:40]!r}: expected a number", self.source) from None
        if not -(1 << 63) <= value < 1 << 64:
            raise HostError(f"{name} = {text[:40]}: expected a number of 64 bits", self.source)
        return value

    def device(self, family: str, device: str, key: str, default: int) -> int:
        """`net.FAMILY.conf.DEVICE.KEY`; a device that the file does not know was made like conf.default."""
        name = f"net.{family}.conf.{device.replace('.', '/')}.{key}"
        if name in self.values:
            return self.number(name, default)
        if key == "forwarding" and f"net.{family}.conf.default.forwarding" not in self.values:
            old_name = family == "ipv4" and "net.ipv4.ip_forward" in self.values
            return int(bool(self.number("net.ipv4.ip_forward" if old_name else f"net.{family}.conf.all.forwarding", default)))
        return self.number(f"net.{family}.conf.default.{key}", default)

    def of_device(self, device: str) -> dict[str, int]:
        """The values that hold on a device, by the field of the core's Device."""
        found: dict[str, int] = {}
        for family, table in (("ipv4", DEVICE4), ("ipv6", DEVICE6)):
            for field, (key, default, default_all, combine) in table.items():
                for_all = self.number(f"net.{family}.conf.all.{key}", default_all)
                found[field] = combine(for_all, self.device(family, device, key, default))
        return found

    def neighbours(self, family: str, device: str) -> tuple[int, ...]:
        """How neighbours of a device are asked for, in the order of the core's NeighbourParameters."""
        return tuple(
            self.number(f"net.{family}.neigh.{device.replace('.', '/')}.{key}", self.number(f"net.{family}.neigh.default.{key}", default))
            for key, default in NEIGHBOUR
        )

    def of_node(self) -> dict[str, int | list[int]]:
        """The values of the node, by the field of the core's Sysctls."""
        found: dict[str, int | list[int]] = {field: self.number(name, default) for field, (name, default) in NODE.items()}
        found |= {field: self.seconds(name, default) for field, (name, default) in TIMEOUTS.items()}
        if "net.ipv4.ip_forward" not in self.values:
            found["ip_forward"] = self.number("net.ipv4.conf.all.forwarding", 0)
        found["ip_local_port_low"], found["ip_local_port_high"] = self.port_range()
        found["icmp6_ratemask"] = self.ratemask6()
        prefix = "net.netfilter.nf_conntrack_"
        found["ct_timeout_tcp"] = self.states(prefix + "tcp_timeout_", TCP_TIMEOUTS, TCP_SYN_SENT2)
        found["ct_timeout_sctp"] = self.states(prefix + "sctp_timeout_", SCTP_TIMEOUTS)
        found["ct_timeout_dccp"] = self.states(prefix + "dccp_timeout_", DCCP_TIMEOUTS)
        found["ct_timeout_udp"] = [self.seconds(prefix + "udp_timeout", 30), self.seconds(prefix + "udp_timeout_stream", 120)]
        found["ct_timeout_gre"] = [self.seconds(prefix + "gre_timeout", 30), self.seconds(prefix + "gre_timeout_stream", 180)]
        return found

    def seconds(self, name: str, default: int) -> int:
        """A timeout, in nanoseconds."""
        return max(0, self.number(name, default)) * SECOND_NS

    def states(self, prefix: str, table: Mapping[str, tuple[int, int]], *fixed: tuple[int, int]) -> list[int]:
        """Timeouts by state number, in nanoseconds."""
        found = [0] * 16
        for name, (state, default) in table.items():
            found[state] = self.seconds(prefix + name, default)
        for state, default in fixed:
            found[state] = default * SECOND_NS
        return found

    def port_range(self) -> tuple[int, int]:
        """The ports that Linux gives to sockets."""
        words = self.values.get("net.ipv4.ip_local_port_range", "32768 60999").split()
        if len(words) != 2 or not all(is_digits(word) and int(word) < 65536 for word in words):
            raise HostError(f"net.ipv4.ip_local_port_range = {' '.join(words)[:40]!r}: expected two ports", self.source)
        return int(words[0]), int(words[1])

    def ratemask6(self) -> list[int]:
        """The ICMPv6 types whose rate is limited: 32 bytes of bits (`0-1,3-127` by default)."""
        text = self.values.get("net.ipv6.icmp.ratemask", "0-1,3-127")
        mask = bytearray(32)
        for part in filter(None, text.split(",")):
            low, _, high = part.strip().partition("-")
            if not is_digits(low) or not is_digits(high or low) or int(high or low) > 255:
                raise HostError(f"net.ipv6.icmp.ratemask = {text[:40]!r}: expected ranges such as 0-1,3-127", self.source)
            for kind in range(int(low), int(high or low) + 1):
                mask[kind // 8] |= 1 << kind % 8
        return list(mask)
