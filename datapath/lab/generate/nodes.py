"""Random nodes: three interfaces, routes, sysctls that change the path; in the corners also policy rules and holes."""

from __future__ import annotations

from typing import Any

from datapath.lab.generate.world import Family, World

MACS = {"eth0": "02:00:00:00:00:01", "eth1": "02:00:00:00:00:02", "eth2": "02:00:00:00:00:03"}


def peer_mac(interface: str, address: str) -> str:
    """The MAC address of a neighbour, from the last number of its address."""
    number = int(address.rsplit("." if "." in address else ":", 1)[1], 10)
    return f"02:00:00:00:0{int(interface[3:]) + 1}:{number:02x}"
# Sysctls that change the path, with the values that each may get.
RARE_SYSCTLS = {
    "net.ipv4.conf.eth0.rp_filter": "012", "net.ipv4.conf.eth1.forwarding": "0", "net.ipv4.conf.eth0.accept_local": "1",
    "net.ipv4.conf.all.src_valid_mark": "1", "net.ipv4.conf.all.accept_source_route": "1", "net.ipv4.ip_default_ttl": ("1", "33"),
    "net.ipv4.icmp_errors_use_inbound_ifaddr": "1", "net.ipv4.fwmark_reflect": "1", "net.ipv4.ip_early_demux": "0",
    "net.ipv4.conf.all.drop_unicast_in_l2_multicast": "1", "net.ipv4.conf.eth0.bc_forwarding": "1", "net.ipv4.ip_nonlocal_bind": "1",
    "net.ipv4.conf.eth0.proxy_arp": "1", "net.ipv4.conf.eth0.arp_ignore": "12", "net.ipv4.conf.all.arp_announce": "12",
    "net.ipv4.conf.eth2.arp_filter": "1", "net.ipv4.icmp_echo_ignore_broadcasts": "0", "net.ipv4.ip_forward_use_pmtu": "1",
    "net.ipv4.conf.eth1.route_localnet": "1", "net.ipv4.conf.all.route_localnet": "1",
    "net.ipv6.conf.eth1.forwarding": "0", "net.ipv6.conf.all.accept_source_route": "1", "net.ipv6.conf.all.hop_limit": ("9",),
    "net.ipv6.conf.eth0.hop_limit": ("7",), "net.ipv6.fwmark_reflect": "1", "net.ipv6.flowlabel_reflect": "1",
    "net.ipv6.conf.all.drop_unsolicited_na": "1", "net.ipv6.conf.eth0.proxy_ndp": "1",
    "net.netfilter.nf_conntrack_tcp_ignore_invalid_rst": "1", "net.netfilter.nf_conntrack_tcp_max_retrans": "1",
}  # fmt: skip


def random_recipe(world: World) -> dict[str, Any]:
    """A recipe as `datapath.lab.node` takes it."""
    rng = world.rng
    recipe: dict[str, Any] = {
        "ipv6": 6 in world.families,
        "interfaces": {name: {"mac": mac, "addresses": _addresses(world, name)} for name, mac in MACS.items()},
        "routes": [], "routes6": [], "neighbours": {},
        "sysctl": {
            "net.netfilter.nf_conntrack_tcp_loose": rng.choice("01"),
            "net.netfilter.nf_conntrack_tcp_be_liberal": rng.choice("0001"),
            "net.netfilter.nf_conntrack_checksum": rng.choice("1110"),
            "net.netfilter.nf_conntrack_acct": rng.choice("01"),
        },
    }  # fmt: skip
    if 4 in world.families:
        recipe["routes"] = ["default via 203.0.113.2", "172.16.0.0/16 via 198.51.100.3", "blackhole 172.17.0.0/16"]
        recipe["sysctl"] |= {
            "net.ipv4.ip_forward": rng.choice("1111110"),
            "net.ipv4.conf.all.rp_filter": rng.choice("00012"),
            "net.ipv4.conf.eth1.route_localnet": rng.choice("0001"),
        }
        if world.chance(0.3):
            recipe["routes"] += [
                rng.choice(
                    (
                        "unreachable 10.0.0.0/16",
                        "prohibit 10.0.0.0/16",
                        "throw 10.0.0.0/16",
                        "10.0.0.0/16 via 192.0.2.5",
                        "8.8.8.0/24 via 192.0.2.4 metric 50",
                    )
                )
            ]
    if 6 in world.families:
        recipe["routes6"] = ["default via fd00:3::2", "fd00:5::/48 via fd00:2::3", "blackhole fd00:6::/48"]
        recipe["sysctl"] |= {"net.ipv6.conf.all.forwarding": rng.choice("1111110")}
    recipe["sysctl"] |= {name: rng.choice(values) for name, values in RARE_SYSCTLS.items() if world.chance(0.06) and _exists(world, name)}
    for number, family in world.families.items():
        recipe["neighbours"] |= _neighbours(family)
        # A neighbour that is not known is asked for once; to ask again would take the kernel's timers.
        recipe["sysctl"] |= {f"net.ipv{number}.neigh.{name}.retrans_time_ms": "60000" for name in MACS}
    return recipe


def _exists(world: World, name: str) -> bool:
    return not name.startswith("net.ipv") or int(name[7]) in world.families


def _addresses(world: World, name: str) -> list[str]:
    return [f"{address}/{24 if number == 4 else 64}" for number, family in world.families.items() for address in family.own[name]]


def _neighbours(family: Family) -> dict[str, list[str]]:
    return {address: [peer_mac(name, address), name] for name, addresses in family.peers.items() for address in addresses}
