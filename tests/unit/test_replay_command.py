"""`datapath replay` as a user calls it: what it prints, what it writes, and how it ends."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from datapath.capture.reader import open_capture
from datapath.capture.record import Direction
from datapath.cli.failing import plain
from datapath.report.schema import trace_schema
from datapath.report.written import LineFile

ROOT = Path(__file__).parents[2]
PCAPS = ROOT / "pcaps"
CAPTURE, HOST = str(PCAPS / "nodeport.pcapng"), str(PCAPS / "node.host")


def first_request() -> tuple[str, str, str]:
    """The client's end of the first request, the pod's end that it was given, and the device by which it left: as the capture shows."""
    came, left = list(open_capture(CAPTURE))[:2]
    before, after = Ether(came.data), Ether(left.data)
    return f"{before[IP].src}:{before[TCP].sport}", f"{after[IP].dst}:{after[TCP].dport}", str(left.interface.name)


CLIENT, POD, DEVICE = first_request()


def datapath(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "datapath.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "COLUMNS": "250"}, check=False, **more)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    done = datapath("replay", CAPTURE, "--host", HOST, "--trace", str(path), "-q")
    assert done.returncode == 0
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_text_shows_way_translation_and_end() -> None:
    done = datapath("replay", CAPTURE, "--host", HOST)
    assert done.returncode == 0
    first = done.stdout.split("\n     2 ")[0]
    assert f"{CLIENT} > 192.0.2.1:30080  tcp SYN  FORWARDED {DEVICE}" in first
    assert "KUBE-NODEPORTS" in first
    assert f"192.0.2.1:30080 → {POD}" in first
    assert "Connections (6)" in done.stdout
    assert "TIME_WAIT src=192.0.2.10 dst=192.0.2.1" in done.stdout
    assert "nat/KUBE-NODEPORTS/1" in done.stdout
    assert "0 contradict the prediction" in done.stdout


def test_why_explains_one_packet() -> None:
    done = datapath("replay", CAPTURE, "--host", HOST, "--why", "1")
    assert done.returncode == 0
    assert "no match: -d 10.96.0.10/32" in done.stdout
    assert "rules tried: " in done.stdout
    assert "Connections" not in done.stdout
    copy = datapath("replay", CAPTURE, "--host", HOST, "--why", "2")
    assert "it is a copy of packet 1" in copy.stdout
    assert datapath("replay", CAPTURE, "--host", HOST, "--why", "5000").returncode == 2


def test_trace_obeys_the_schema(trace: list[dict[str, object]]) -> None:
    validator = jsonschema.Draft202012Validator(trace_schema())
    for record in trace:
        validator.validate(record)
    assert [record["number"] for record in trace] == list(range(1, len(trace) + 1))


def test_trace_says_what_nat_did(trace: list[dict[str, object]]) -> None:
    nat = trace[0]["nat"]
    assert nat["destination"] | {"rule": None} == {
        "before": "192.0.2.1:30080", "after": POD, "rule": None, "by_entry": False,
    }  # fmt: skip
    assert nat["destination"]["rule"].startswith("nat/KUBE-SEP-")
    reply = next(record for record in trace[1:] if record.get("conntrack", {}).get("entry") == trace[0]["conntrack"]["entry"])
    assert reply["nat"]["source"] | {"rule": None} == {
        "before": POD, "after": "192.0.2.1:30080", "rule": None, "by_entry": True,
    }  # fmt: skip
    assert reply["nat"]["source"]["rule"] == nat["destination"]["rule"]
    assert trace[1] | {"packet": None, "time_ns": 0} == {
        "role": "copy", "number": 2, "interface": trace[1]["interface"], "copy_of": 1, "packet": None, "time_ns": 0,
    }  # fmt: skip


def test_json_is_one_document() -> None:
    done = datapath("replay", CAPTURE, "--host", HOST, "--json")
    document = json.loads(done.stdout)
    assert len(document["records"]) == document["summary"]["records"] == 120
    assert len(document["conntrack"]) == 6
    assert document["counters"]["ipv4"]["nat/KUBE-NODEPORTS/1"] == [6, 360]


def test_written_packets_carry_their_path(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    assert datapath("replay", CAPTURE, "--host", HOST, "-q", "-w", str(out)).returncode == 0
    records = list(open_capture(out))
    assert len(records) == 60
    first = records[0]
    assert (first.interface.name, first.direction, Ether(first.data)[TCP].dport) == (DEVICE, Direction.OUT, 8080)
    assert "because of packet 1 on eth0: FORWARDED" in first.comments[0]
    assert f"192.0.2.1:30080 → {POD}" in first.comments[0]
    assert list(tmp_path.iterdir()) == [out]  # nothing is left beside it


def test_a_capture_that_contradicts_the_rules_ends_with_1(tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.mkdir()
    for file in (PCAPS / "node.host").iterdir():
        text = file.read_text()
        (host / file.name).write_text(text.replace(":FORWARD ACCEPT", ":FORWARD DROP").replace("-A KUBE-FORWARD", "#-A KUBE-FORWARD"))
    done = datapath("replay", CAPTURE, "--host", str(host))
    assert done.returncode == 1
    assert "drop: predicted dropped (NETFILTER_DROP), captured left by" in done.stdout


def test_bulk_counts_what_the_report_counts(tmp_path: Path) -> None:
    capture = tmp_path / "client.pcap"
    frames = [record for record in open_capture(CAPTURE) if record.interface.name == "eth0" and Ether(record.data)[IP].src == "192.0.2.10"]
    head = bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000")
    body = b"".join(struct.pack("<4I", *divmod(record.time_ns, 10**9), len(record.data), record.length) + record.data for record in frames)
    capture.write_bytes(head + body)
    slow, fast = (datapath("replay", str(capture), "--host", HOST, *more) for more in (["-q"], ["--bulk"]))
    assert (slow.returncode, fast.returncode) == (0, 0)
    end = "records: "
    assert fast.stdout.split(end)[0].rsplit("\n", 1)[0] == slow.stdout.split(end)[0].rsplit("\n", 1)[0]
    assert f"{len(frames)} records: {len(frames)} received (" in fast.stdout


def test_standard_input_and_damage(tmp_path: Path) -> None:
    data = Path(CAPTURE).read_bytes()
    with Path(CAPTURE).open("rb") as stream:
        assert datapath("replay", "-", "--host", HOST, "-q", stdin=stream).returncode == 0
    damaged = tmp_path / "damaged.pcapng"
    block = data.index(b"\x06\x00\x00\x00", 6000)  # an enhanced packet block, whose length cannot be true
    damaged.write_bytes(data[: block + 4] + b"\xff\xff\xff\x7f" + data[block + 8 :])
    out = tmp_path / "trace.jsonl"
    done = datapath("replay", str(damaged), "--host", HOST, "-q", "--trace", str(out))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"datapath: {damaged}: ")
    assert len(out.read_text().splitlines()) > 10  # what stands before the damage is written


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["replay", "nowhere.pcap", "--host", HOST], "nowhere.pcap: cannot be opened: No such file or directory"),
        (["replay", CAPTURE, "--host", "nowhere"], "nowhere: "),
        (["replay", CAPTURE, "--host", HOST, "--map", "eth0"], "--map eth0: expected CAPTURED=HOST"),
        (["replay", CAPTURE, "--host", HOST, "--kernel", "5.4"], "no profile of Linux '5.4'"),
        (["replay", CAPTURE, "--host", HOST, "-w", "/nowhere/out.pcapng"], "/nowhere/out.pcapng: cannot be written"),
        (["replay", CAPTURE, "--host", HOST, "--trace", "-"], "standard output holds the report"),
        (["replay", CAPTURE, "--host", HOST, "--bulk", "--json"], "--bulk keeps no report per packet"),
    ],
)
def test_bad_input_is_one_line_and_2(arguments: list[str], says: str) -> None:
    done = datapath(*arguments)
    assert done.returncode == 2
    [line] = [line for line in done.stderr.splitlines() if line.startswith("datapath: ")]
    assert says in line


def test_a_bad_rule_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "iptables-save.txt").write_text("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j nowhere\nCOMMIT\n")
    done = datapath("replay", CAPTURE, "--host", str(tmp_path))
    assert done.returncode == 2
    assert "iptables-save.txt:3: " in done.stderr
    assert "nowhere" in done.stderr


def test_version() -> None:
    done = datapath("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("datapath")


def test_an_interrupted_trace_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), LineFile(str(path)) as lines:
        lines.write({"packet": 1})
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_has_no_control_characters() -> None:
    assert plain("interface \x1b[31m\nx é") == "interface \\x1b[31m\\nx é"
