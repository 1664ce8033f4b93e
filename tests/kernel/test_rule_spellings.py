"""The examples of rules, asked of iptables itself: how it prints them, and what it refuses; both back ends, both families."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.unit import rule_examples as examples
from tests.unit.test_rule_spellings import printed, save_text, spellings

NAMESPACE = "datapath-rule-spellings"
TABLES = ("filter", "nat", "mangle", "raw", "security")
pytestmark = pytest.mark.kernel

# iptables-nft has no name for QUEUE, cannot hold a mask without bits, forgets --nflog-range, and prints ! -i +.
NOT_IN_NFT = ("-j QUEUE", "! -s 0.0.0.0/0", "! -d 0.0.0.0/0", "! -s ::/0", "! -d 0/0", "--nflog-range")
# ip6tables-nft does not take -c.
NOT_IN_IP6TABLES_NFT = ("-c 5",)


class Tool:
    """iptables-restore and iptables-save of one back end in a namespace."""

    def __init__(self, family: int, backend: str) -> None:
        self.name = f"ip{'6' * (family == 6)}tables-{backend}"

    def run(self, what: str, text: str | None = None, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["ip", "netns", "exec", NAMESPACE, f"{self.name}-{what}", *arguments]
        return subprocess.run(command, input=text, text=True, capture_output=True, check=False)

    def accepts(self, text: str) -> bool:
        for table in TABLES:
            self.run("restore", f"*{table}\nCOMMIT\n")
        return self.run("restore", text).returncode == 0

    def prints(self, line: str) -> list[str]:
        """What becomes of a rule."""
        assert self.accepts(save_text(line)), line
        return [rule.removeprefix("[0:0] ") for rule in self.run("save", None, "-c").stdout.splitlines() if rule.startswith("[")]


@pytest.fixture(scope="module", autouse=True)
def namespace() -> Iterator[None]:
    subprocess.run(["ip", "netns", "del", NAMESPACE], check=False, capture_output=True)
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    yield
    subprocess.run(["ip", "netns", "del", NAMESPACE], check=False)


def left_out(line: str, family: int, backend: str) -> bool:
    words = NOT_IN_NFT + (NOT_IN_IP6TABLES_NFT if family == 6 else ())
    return backend == "nft" and any(part in line for part in words)


@pytest.mark.parametrize("backend", ["legacy", "nft"])
@pytest.mark.parametrize("family", [4, 6])
def test_rules_print_as_the_examples_say(family: int, backend: str) -> None:
    tool = Tool(family, backend)
    wanted = {line: (line.partition("-A ")[1] + line.partition("-A ")[2],) for line in printed(family)} | spellings(family)
    lines = [line for line in wanted if not left_out(line, family, backend)]
    assert {line: tool.prints(line) for line in lines} == {line: list(wanted[line]) for line in lines}


@pytest.mark.parametrize("backend", ["legacy", "nft"])
def test_refusals(backend: str) -> None:
    tool = Tool(4, backend)
    texts = [*examples.REFUSED, *(examples.REFUSED_BY_LEGACY if backend == "legacy" else ())]
    assert [text for text in texts if tool.accepts(text.replace("|", "\n") + "\n")] == []


@pytest.mark.parametrize("backend", ["legacy", "nft"])
def test_strange_but_accepted(backend: str) -> None:
    tool = Tool(4, backend)
    assert [text for text in examples.ACCEPTED if not tool.accepts(text.replace("|", "\n") + "\n")] == []
