"""A namespace with routes and policy rules, and what `ip route get` answers in it."""

from __future__ import annotations

import json
import re
import subprocess
from types import TracebackType

from datapath.engine.host import Host


def run(*words: str, data: str | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(words, input=data, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}{done.stdout}")
    return done


class RoutingLab:
    """A node with veth devices eth0, eth1, ... whose far ends w0, w1, ... are in a second namespace."""

    def __init__(self, name: str, devices: int = 4) -> None:
        self.name, self.wire, self.devices = name, f"{name}-w", devices

    def __enter__(self) -> RoutingLab:
        for name in (self.name, self.wire):
            run("ip", "netns", "del", name, check=False)
            run("ip", "netns", "add", name)
        lines = ["link set lo up"]
        for i in range(self.devices):
            lines.append(f"link add eth{i} type veth peer name w{i} netns {self.wire}")
            lines.append(f"link set eth{i} address 02:00:00:00:00:{i + 1:02x} up")
        self.batch(lines)
        run("ip", "-n", self.wire, "-batch", "-", data="".join(f"link set w{i} up\n" for i in range(self.devices)))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for name in (self.name, self.wire):
            run("ip", "netns", "del", name, check=False)

    def batch(self, lines: list[str], family: int = 0, force: bool = False) -> None:
        """`ip` commands; with force, those that Linux refuses are passed over."""
        options = [f"-{family}"] * bool(family) + ["-force"] * force
        run("ip", "-n", self.name, *options, "-batch", "-", data="\n".join(lines) + "\n", check=not force)

    def sysctl(self, *assignments: str) -> None:
        run("ip", "netns", "exec", self.name, "sysctl", "-qw", *assignments)

    def output(self, *words: str) -> str:
        return run("ip", "-n", self.name, *words).stdout

    def files(self) -> dict[str, str]:
        """The host directory."""
        return {
            "ip-link.json": self.output("-d", "-j", "link", "show"), "ip-addr.json": self.output("-j", "addr", "show"),
            "ip-route.json": self.output("-4", "-j", "route", "show", "table", "all"),
            "ip6-route.json": self.output("-6", "-j", "route", "show", "table", "all"),
            "ip-rule.json": self.output("-j", "rule"), "ip6-rule.json": self.output("-6", "-j", "rule"),
            "ip-neigh.json": self.output("-j", "neigh"),
            "sysctl.txt": run("ip", "netns", "exec", self.name, "sysctl", "-a").stdout, "uname.txt": run("uname", "-a").stdout,
        }

    def host(self) -> Host:
        return Host.from_files(self.files())

    def get(self, family: int, questions: list[str]) -> list[tuple[str, dict[str, object]]]:
        """What `ip route get QUESTION` answers: (error text or nothing, the route)."""
        data = "".join(f"route get {question}\n" for question in questions)
        done = run("ip", "-n", self.name, f"-{family}", "-j", "-force", "-batch", "-", data=data, check=False)
        failed: dict[int, str] = {}
        said = ""
        for line in done.stderr.splitlines():
            if found := re.match(r"Command failed -:(\d+)", line):
                failed[int(found[1])] = said
            else:
                said = line.removeprefix("RTNETLINK answers: ")
        answers = iter(printed(done.stdout))
        found_all = [(failed[n], {}) if n in failed else ("", next(answers)) for n in range(1, len(questions) + 1)]
        assert next(answers, None) is None
        return found_all


def printed(text: str) -> list[dict[str, object]]:
    """The first object of each JSON array in a row."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        found += value[:1]
    return found
