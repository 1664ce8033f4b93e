"""The one-line headers of a captured frame, whatever its link type."""

from __future__ import annotations

from datapath.capture.frame import ETH_P_ARP, read_frame
from datapath.capture.record import Record
from datapath.report import headers


def headers_of(record: Record) -> headers.Headers:
    """The one-line headers of a captured frame."""
    frame = read_frame(record)
    if frame is None:
        return headers.Headers(0, "frame cut before its link header ends")
    body = record.data[frame.network :]
    if frame.is_ip:
        return headers.of_packet(body)
    if frame.ethertype == ETH_P_ARP:
        return headers.of_arp(body)
    return headers.Headers(0, f"ethertype 0x{frame.ethertype:04x}")
