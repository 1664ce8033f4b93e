"""The restores of the unit tests, asked of iptables-restore itself, both back ends."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.unit.test_iptables_restore import BASE, RESTORES

NAMESPACE = "datapath-restore"
pytestmark = pytest.mark.kernel


@pytest.fixture(autouse=True)
def namespace() -> Iterator[None]:
    subprocess.run(["ip", "netns", "del", NAMESPACE], check=False, capture_output=True)
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    yield
    subprocess.run(["ip", "netns", "del", NAMESPACE], check=False)


def run(command: str, text: str | None = None) -> str:
    entered = ["ip", "netns", "exec", NAMESPACE, *command.split()]
    return subprocess.run(entered, input=text, text=True, capture_output=True, check=True).stdout


@pytest.mark.parametrize("backend", ["legacy", "nft"])
@pytest.mark.parametrize("name", RESTORES)
def test_restore(name: str, backend: str) -> None:
    text, noflush, counters, wanted = RESTORES[name]
    run(f"iptables-{backend}-restore -c", BASE)
    run(f"iptables-{backend}-restore{' --noflush' * noflush}{' -c' * counters}", text)
    printed = run(f"iptables-{backend}-save -c -t filter").splitlines()
    lines = sorted(line for line in printed if line[0] in ":[")
    named = {line.split()[0] for line in wanted[backend].splitlines()}
    # nft prints base chains that it does not have.
    lines = [line for line in lines if line.split()[0] in named or line.split(maxsplit=1)[1] != "ACCEPT [0:0]"]
    assert lines == sorted(wanted[backend].splitlines())
