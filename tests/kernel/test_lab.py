"""The lab asked about itself: what it reads is what the kernel's own tools say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from datapath.lab.counters import saved_counters
from datapath.lab.kernel import KernelRun
from datapath.lab.namespace import Namespace
from datapath.lab.rounds import random_case, random_traffic

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("name", ["1", "2", "3"])
def test_counters_are_those_of_iptables_save(tmp_path: Path, name: str) -> None:
    case, world = random_case("plain", name)
    traffic = random_traffic("plain", world)
    with KernelRun(case, tmp_path) as run:
        for _ in range(40):
            traffic.learn(run.send(traffic.next()))
        counted = run.counters()
        for family in case.families:
            tool = "iptables-legacy-save" if family == 4 else "ip6tables-legacy-save"
            saved = saved_counters(run.node.namespace.run(tool, "-c"))
            assert saved == {name: counted[case.counter_key(family, name)] for name in saved}
    assert any(packets for packets, _ in counted.values())


def test_a_namespace_is_left_again() -> None:
    def inside() -> int:
        return Path("/proc/thread-self/ns/net").stat().st_ino

    before = inside()
    namespace = Namespace()
    with namespace:
        assert inside() == os.fstat(namespace.fd).st_ino != before
    assert inside() == before
    namespace.close()


def test_the_host_directory_is_what_the_commands_print(tmp_path: Path) -> None:
    case, _ = random_case("plain", "host")
    with KernelRun(case, tmp_path) as run:
        assert (tmp_path / "ip-addr.json").read_text() == run.node.namespace.run("ip", "-j", "addr", "show")
        assert "net.ipv4.ip_forward" in (tmp_path / "sysctl.txt").read_text()
        assert {path.name for path in tmp_path.iterdir()} >= {"ip-link.json", "ip-route.json", "ip-neigh.json", "uname.txt"}
