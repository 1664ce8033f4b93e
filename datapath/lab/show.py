"""Differences for a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from datapath.lab.case import CasePacket, Output
from datapath.lab.compare import Difference, split_seconds


def show_difference(difference: Difference) -> str:
    """Some lines: which packet, what the kernel did, what the emulator did, the way that the emulator's packet took."""
    case = difference.case
    lines = [
        f"case {case.name}, "
        + (f"packet {difference.packet} of {len(case.packets)}" if difference.packet >= 0 else "at the end")
        + f": {difference.what} differ"
    ]
    if difference.packet >= 0:
        lines.append(f"  packet    {show_packet(case.packets[difference.packet])}")
    shown = SHOWN.get(difference.what, _plain)
    lines += [f"  {line}" for line in shown(difference.kernel, difference.emulator)]
    lines += [f"    {step}" for step in difference.steps]
    return "\n".join(lines)


def show_packet(packet: CasePacket) -> str:
    """Where it enters, what it is, its bytes."""
    if packet.local:
        return f"local process {decode_packet(packet.data)} {packet.data.hex()}"
    return f"in {packet.interface} {decode_frame(packet.data)} {packet.data.hex()}"


def decode_frame(frame: bytes) -> str:
    """Scapy's one-line summary of a frame, with what it leaves out of an IP header."""
    return _decode(Ether, frame)


def decode_packet(packet: bytes) -> str:
    """Scapy's one-line summary of an IP packet."""
    return _decode(IPv6 if packet[:1] and packet[0] >> 4 == 6 else IP, packet)


def _decode(layer: Any, data: bytes) -> str:
    try:
        packet = layer(data)
        text = str(packet.summary())
        if IP in packet:
            ip = packet[IP]
            text += f" [ttl {ip.ttl} tos {ip.tos} id {ip.id} off {ip.frag} {ip.flags}]"
        return text
    except Exception as error:  # a dissector may fail in any way on a broken packet; the bytes are shown beside it
        return f"undecodable ({error})"


def _outputs(kernel: list[Output], emulator: list[Output]) -> Iterable[str]:
    for who, outputs in (("kernel  ", kernel), ("emulator", emulator)):
        if not outputs:
            yield f"{who}  nothing leaves"
        for name, frame in outputs:
            yield f"{who}  out {name} {decode_frame(frame)} {frame.hex()}"


def _hits(kernel: dict[str, int], emulator: dict[str, int]) -> Iterable[str]:
    for name in sorted(kernel.keys() | emulator.keys()):
        if kernel.get(name, 0) != emulator.get(name, 0):
            yield f"{name}: kernel {kernel.get(name, 0)}, emulator {emulator.get(name, 0)}"


def _counters(kernel: dict[str, Any], emulator: dict[str, Any]) -> Iterable[str]:
    for name, count in kernel.items():
        yield f"{name}: kernel {count}, emulator {emulator.get(name)}"


def _conntrack(kernel: list[str], emulator: list[str]) -> Iterable[str]:
    left = {split_seconds(line)[0]: line for line in kernel}
    right = {split_seconds(line)[0]: line for line in emulator}
    if left.keys() == right.keys():
        for line, text in left.items():
            if split_seconds(text)[1] != split_seconds(right[line])[1]:
                yield f"kernel    {text}"
                yield f"emulator  {right[line]}"
    for line in sorted(left.keys() - right.keys()):
        yield f"kernel    {left[line]}"
    for line in sorted(right.keys() - left.keys()):
        yield f"emulator  {right[line]}"


def _plain(kernel: Any, emulator: Any) -> Iterable[str]:
    yield f"kernel    {kernel}"
    yield f"emulator  {emulator}"


SHOWN: dict[str, Callable[[Any, Any], Iterable[str]]] = {
    "outputs": _outputs,
    "hits": _hits,
    "counters": _counters,
    "conntrack": _conntrack,
}
