"""The spellings of the matches, compared with what iptables and ip6tables print, and their refusals, both back ends.

Where the back ends differ the legacy one is followed, except that a rate which only nft can keep is accepted.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from datapath.compiler.program import compile_ruleset
from datapath.errors import DatapathError
from datapath.syntax.iptables_save import format_ruleset, parse_ruleset
from tests.unit.extension_examples import SETS
from tests.unit.test_match_spellings import printed_lines, refused_lines, save_text, spellings

NAMESPACE = "datapath-spellings"
pytestmark = pytest.mark.kernel

# Accepted by iptables-nft, which lets slip what its xt part would have refused.
ACCEPTED_BY_NFT_ONLY = {
    "! -p tcp -m multiport --dports 80",
}


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    subprocess.run(["ip", "netns", "del", NAMESPACE], check=False, capture_output=True)
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    subprocess.run(["ip", "netns", "exec", NAMESPACE, "ipset", "restore"], input=SETS, text=True, check=True)
    yield NAMESPACE
    subprocess.run(["ip", "netns", "del", NAMESPACE], check=False)


class Tool:
    """iptables-restore and iptables-save of a back end in a namespace."""

    def __init__(self, namespace: str, family: int, backend: str) -> None:
        self.enter = ["ip", "netns", "exec", namespace]
        self.name = f"ip{'6' * (family == 6)}tables-{backend}"

    def restore(self, text: str) -> str | None:
        """None when the text is accepted, else what the tool says."""
        done = subprocess.run([*self.enter, f"{self.name}-restore"], input=text, text=True, capture_output=True, check=False)
        return None if done.returncode == 0 else done.stderr.strip() or "refused"

    def save(self) -> list[str]:
        """The rules."""
        done = subprocess.run([*self.enter, f"{self.name}-save"], text=True, capture_output=True, check=True)
        return [line for line in done.stdout.splitlines() if line.startswith("-A")]


def in_one_file(lines: list[str]) -> str:
    """The lines as the rules of one file, in tables."""
    tables: dict[str, list[str]] = {}
    for line in lines:
        table, _, rule, _ = save_text(line).splitlines()
        tables.setdefault(table, []).append(rule)
    return "".join("\n".join([table, *rules, "COMMIT", ""]) for table, rules in tables.items())


@pytest.mark.parametrize("backend", ["legacy", "nft"])
@pytest.mark.parametrize("family", [4, 6])
def test_rules_print_as_the_tool_prints_them(namespace: str, family: int, backend: str) -> None:
    tool = Tool(namespace, family, backend)
    text = in_one_file([*printed_lines(family), *spellings(family)])
    assert tool.restore(text) is None
    ours = sorted(line for line in format_ruleset(parse_ruleset(text, family)).splitlines() if line.startswith("-A"))
    theirs = tool.save()
    assert ours == sorted(theirs)
    again = "*filter\n" + "".join(line + "\n" for line in theirs if "rpfilter" not in line) + "COMMIT\n"
    assert [line for line in format_ruleset(parse_ruleset(again, family)).splitlines() if line.startswith("-A")] == sorted(
        (line for line in theirs if "rpfilter" not in line), key=lambda line: (line.split()[1] != "INPUT", line.split()[1] != "FORWARD"))


def emulator_refuses(line: str, family: int) -> str | None:
    try:
        compile_ruleset(parse_ruleset(save_text(line), family))
    except DatapathError as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize("backend", ["legacy", "nft"])
@pytest.mark.parametrize("family", [4, 6])
def test_bad_lines_are_refused_by_the_tool_too(namespace: str, family: int, backend: str) -> None:
    tool = Tool(namespace, family, backend)
    accepted = [line for line in refused_lines(family) if tool.restore(save_text(line)) is None]
    assert set(accepted) <= (ACCEPTED_BY_NFT_ONLY if backend == "nft" else set())
    assert [line for line in refused_lines(family) if emulator_refuses(line, family) is None] == []
