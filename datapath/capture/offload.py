"""What the capturing machine's offload left in a frame, said aloud; the core makes the allowances (_core/offload.pyx)."""

from __future__ import annotations

from datapath.capture.compare import holds_pseudo_sum_only
from datapath.capture.window import Sight
from datapath.model.host import Link


def offload_notes(sight: Sight, link: Link, strict: bool) -> tuple[str, ...]:
    """Half-computed checksums, zero lengths, frames above the MTU, and what the snap length cut."""
    packet, record = sight.packet, sight.record
    notes = []
    if record.cut:
        notes.append(f"cut by the snap length: {len(record.data)} of {record.length} bytes; its checksum is not verified")
    if packet is None or strict:
        return tuple(notes)
    if holds_pseudo_sum_only(packet):
        notes.append("offload: its checksum holds only the pseudo-header's sum and counts as valid")
    if packet.family == 4 and packet.data[2:4] == b"\0\0":
        notes.append("offload: its IP length is zero and is taken from the frame")
    if packet.length > link.mtu > 0:
        notes.append(f"offload: {packet.length} bytes on a device with MTU {link.mtu} are one packet of several segments")
    return tuple(notes)
