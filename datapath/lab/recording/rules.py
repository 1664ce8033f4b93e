"""The node's rules: the chains of kube-proxy's iptables mode for three services, and masquerading of what pods send out."""

from __future__ import annotations

from dataclasses import dataclass

POD_NET, POD_NET6 = "10.244.0.0/16", "fd00:244::/56"
RETURN_UNMARKED = "-m mark ! --mark 0x4000/0x4000 -j RETURN"


@dataclass(frozen=True)
class Service:
    """A service with a cluster address, perhaps a node port, and the endpoints behind it."""

    name: str
    key: str
    protocol: str
    address: str
    port: int
    endpoints: tuple[tuple[str, int], ...]
    node_port: int = 0

    def match(self, port: int) -> str:
        """The protocol and port of a rule."""
        return f'-p {self.protocol} -m comment --comment "{self.name}" -m {self.protocol} --dport {port}'


SERVICES = (
    Service("demo/web", "WEB", "tcp", "10.96.0.80", 80, (("10.244.1.2", 8080), ("10.244.1.3", 8080)), 30080),
    Service("kube-system/dns:udp", "DNS", "udp", "10.96.0.10", 53, (("10.244.1.4", 53),)),
    Service("kube-system/dns:tcp", "DNSTCP", "tcp", "10.96.0.10", 53, (("10.244.1.4", 53),)),
    Service("demo/none", "NONE", "tcp", "10.96.0.99", 80, ()),
    Service("demo/bulk", "BULK", "tcp", "10.96.0.52", 5201, (("10.244.1.3", 5201),)),
)
SERVICES6 = (Service("demo/web", "WEB", "tcp", "fd00:96::80", 80, (("fd00:244::2", 8080), ("fd00:244::3", 8080)), 30080),)


def cluster_rules(services: tuple[Service, ...], pods: str) -> str:
    """A save text, as kube-proxy would have the tables look."""
    return _nat(services, pods) + _filter(services) + _mangle()


def _nat(services: tuple[Service, ...], pods: str) -> str:
    chains = ["KUBE-MARK-MASQ", "KUBE-NODEPORTS", "KUBE-POSTROUTING", "KUBE-SERVICES"]
    rules = [
        '-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
        '-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
        '-A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING',
        f"-A POSTROUTING -s {pods} ! -d {pods} -j MASQUERADE --random-fully",
        "-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000",
        f"-A KUBE-POSTROUTING {RETURN_UNMARKED}",
        "-A KUBE-POSTROUTING -j MARK --xor-mark 0x4000",
        '-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully',
    ]
    for service in (service for service in services if service.endpoints):
        chains += [f"KUBE-SVC-{service.key}", *(f"KUBE-SEP-{service.key}{n}" for n in range(len(service.endpoints)))]
        rules += _service(service, pods)
        if service.node_port:
            chains.append(f"KUBE-EXT-{service.key}")
            rules += [
                f"-A KUBE-NODEPORTS {service.match(service.node_port)} -j KUBE-EXT-{service.key}",
                f"-A KUBE-EXT-{service.key} -j KUBE-MARK-MASQ",
                f"-A KUBE-EXT-{service.key} -j KUBE-SVC-{service.key}",
            ]
    rules.append('-A KUBE-SERVICES -m comment --comment "nodeports; must be last" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS')
    return _table("nat", ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"), chains, rules)


def _service(service: Service, pods: str) -> list[str]:
    chain = f"KUBE-SVC-{service.key}"
    width = 128 if ":" in service.address else 32
    rules = [
        f"-A KUBE-SERVICES -d {service.address}/{width} {service.match(service.port)} -j {chain}",
        f"-A {chain} ! -s {pods} -d {service.address}/{width} {service.match(service.port)} -j KUBE-MARK-MASQ",
    ]
    for number, (address, port) in enumerate(service.endpoints):
        left = len(service.endpoints) - number
        draw = f"-m statistic --mode random --probability {1 / left:.11f} " if left > 1 else ""
        to = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        endpoint = f"KUBE-SEP-{service.key}{number}"
        rules += [
            f'-A {chain} -m comment --comment "{service.name} -> {to}" {draw}-j {endpoint}',
            f"-A {endpoint} -s {address}/{width} -j KUBE-MARK-MASQ",
            f"-A {endpoint} -p {service.protocol} -m {service.protocol} -j DNAT --to-destination {to}",
        ]
    return rules


def _filter(services: tuple[Service, ...]) -> str:
    chains = ["KUBE-EXTERNAL-SERVICES", "KUBE-FORWARD", "KUBE-PROXY-FIREWALL", "KUBE-SERVICES"]
    new = "-m conntrack --ctstate NEW"
    rules = [
        f"-A INPUT {new} -j KUBE-PROXY-FIREWALL",
        f"-A INPUT {new} -j KUBE-EXTERNAL-SERVICES",
        f"-A FORWARD {new} -j KUBE-PROXY-FIREWALL",
        '-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD',
        f"-A FORWARD {new} -j KUBE-SERVICES",
        f"-A OUTPUT {new} -j KUBE-SERVICES",
        "-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP",
        "-A KUBE-FORWARD -m mark --mark 0x4000/0x4000 -j ACCEPT",
        "-A KUBE-FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
    ]
    rules += [
        f'-A KUBE-SERVICES -d {service.address} -p {service.protocol} -m comment --comment "{service.name} has no endpoints"'
        f" -m {service.protocol} --dport {service.port} -j REJECT"
        for service in services
        if not service.endpoints
    ]
    return _table("filter", ("INPUT", "FORWARD", "OUTPUT"), chains, rules)


def _mangle() -> str:
    return _table("mangle", ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"), ["KUBE-IPTABLES-HINT", "KUBE-PROXY-CANARY"], [])


def _table(name: str, built_in: tuple[str, ...], chains: list[str], rules: list[str]) -> str:
    declared = [f":{chain} ACCEPT [0:0]" for chain in built_in] + [f":{chain} - [0:0]" for chain in chains]
    return "\n".join([f"*{name}", *declared, *rules, "COMMIT", ""])
