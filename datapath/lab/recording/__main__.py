"""Record all scenarios, or those named: `python -m datapath.lab.recording pcaps [NAME...]` (root).

NAME.pcapng or NAME.pcap is the capture, NAME.kernel/ what the kernel's counters and connection table said at its end.
The node is the same in all: node.host/ is its host directory. README.md gets a line for each.
"""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from datapath.lab.errors import LabError
from datapath.lab.hostdir import write_node_files, write_rule_files
from datapath.lab.recording.cluster import DEVICES, Cluster
from datapath.lab.recording.rules import POD_NET, POD_NET6, SERVICES, SERVICES6, cluster_rules
from datapath.lab.recording.scenarios import SCENARIOS, Scenario, web
from datapath.lab.recording.tap import AnyTap, Tap

DNSMASQ = (
    "dnsmasq", "-k", "-C", "/dev/null", "-u", "root", "-p", "53", "-h", "-R",
    "--address=/www.example.org/192.0.2.80", "--address=/www.example.org/2001:db8::80",
)  # fmt: skip
README = """\
# Recorded traffic
Real programs in namespaces, a real kernel between them: a node that balances services as kube-proxy's iptables rules do
(`--probability`, `--random-fully`, marks and KUBE- chains). `python -m datapath.lab.recording pcaps` records them anew (root).
`node.host/` is the node as the standard commands print it; `NAME.kernel/` is what the kernel said when NAME ended: its rules with
counters and its connection table. A test replays each recording and expects the same (but of `from-node`, whose packets nobody saw
before NAT).

| capture | what happens |
|---|---|
"""


def record(scenario: Scenario, directory: Path) -> Path:
    """Record one scenario; where the capture is."""
    with Cluster(offload=scenario.offload) as cluster:
        node = cluster.node
        for tool, services, pods in (("iptables", SERVICES, POD_NET), ("ip6tables", SERVICES6, POD_NET6)):
            node.run(f"{tool}-legacy-restore", text=cluster_rules(services, pods))
        web(cluster, "web1")
        web(cluster, "web2")
        cluster.start("dns", *DNSMASQ, ready="udp:53")
        write_node_files(node, directory / "node.host")
        write_rule_files(node, directory / "node.host", (4, 6))
        path = directory / f"{scenario.name}.{'pcap' if scenario.any_device else 'pcapng'}"
        tap: contextlib.AbstractContextManager[object] = AnyTap(node, path) if scenario.any_device else Tap(node, DEVICES, path)
        for tool in ("iptables", "ip6tables"):
            for table in ("nat", "filter", "mangle"):
                node.run(f"{tool}-legacy", "-t", table, "-Z")
        with tap:
            scenario.run(cluster)
        kernel = directory / f"{scenario.name}.kernel"
        write_rule_files(node, kernel, (4, 6), counters=True)
        (kernel / "conntrack.txt").write_text(node.run("conntrack", "-L", "-o", "extended"))
    return path


def write_readme(directory: Path) -> None:
    """A line for each recording."""
    lines = [
        f"| `{scenario.name}.{'pcap' if scenario.any_device else 'pcapng'}` | {scenario.sentence}"
        + (" Checksums and segmentation were left to the (virtual) hardware. |" if scenario.offload else " |")
        for scenario in SCENARIOS
    ]
    (directory / "README.md").write_text(README + "\n".join(lines) + "\n")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", help=", ".join(scenario.name for scenario in SCENARIOS))
    options = parser.parse_args()
    try:
        for scenario in SCENARIOS:
            if not options.names or scenario.name in options.names:
                path = record(scenario, options.directory)
                print(f"{path}: {path.stat().st_size} bytes", flush=True)
        write_readme(options.directory)
    except LabError as error:
        print(error)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
