"""Frames to and from the far ends of a node's interfaces, and packets of its local processes."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import socket
import struct
from collections.abc import Iterator

from datapath.lab.case import CasePacket, Output
from datapath.lab.errors import LabError
from datapath.lab.namespace import Namespace, set_file_owner_ids

ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
AUXDATA = struct.Struct("=IIIHHHH")  # struct tpacket_auxdata
IPV6_HDRINCL = 36
SIOCETHTOOL, SIOCSIFFLAGS = 0x8946, 0x8914
IFF_UP, IFF_NOARP = 1, 0x80
# linux/ethtool.h: receive and transmit checksums, scatter-gather, TSO, GSO, GRO; VLAN offload is a flag of its own
OFFLOADS = (0x15, 0x17, 0x19, 0x1F, 0x24, 0x2C)
ETHTOOL_SFLAGS = 0x26


def switch_off_offload(device: str) -> None:
    """Let a device of the current namespace compute every checksum and keep every frame as it is."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in (*OFFLOADS, ETHTOOL_SFLAGS):
            _ethtool(control, device, command, 0)


def bring_up(device: str, arp: bool = True) -> None:
    """Set a device of the current namespace up; without ARP when its end has no addresses."""
    request = struct.pack("16sH22x", device.encode(), IFF_UP | (0 if arp else IFF_NOARP))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, request)


def _ethtool(control: socket.socket, device: str, command: int, value: int) -> None:
    argument = ctypes.create_string_buffer(struct.pack("=II", command, value))
    request = struct.pack("16sP16x", device.encode(), ctypes.addressof(argument))
    with contextlib.suppress(OSError):  # a device without this offload has it off
        fcntl.ioctl(control, SIOCETHTOOL, request)


class Wire:
    """One packet socket over all far ends, so that frames come in the order in which they left the node.

    Frames of the far ends themselves are not seen. Frames longer than the largest IP packet do not exist.
    """

    def __init__(self, namespace: Namespace) -> None:
        with namespace:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            self._socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            self._socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE: a burst must fit
        self._socket.setblocking(False)

    def send(self, device: str, frame: bytes) -> None:
        """Put a frame on the far end of a device. When this returns the node has done with it. LabError when it cannot take it."""
        try:
            self._socket.sendto(frame, (device, 0))
        except OSError as error:
            raise LabError(f"{len(frame)} bytes on {device}: {error.strerror}") from None

    def received(self) -> Iterator[Output]:
        """What left the node since the last call."""
        while True:
            try:
                frame, ancillary, _, address = self._socket.recvmsg(65536 + 32, 128)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.ENETDOWN, errno.EINTR):
                    continue
                raise
            if address[0] != "lo":
                yield address[0], with_vlan_tag(frame, ancillary)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def with_vlan_tag(frame: bytes, ancillary: list[tuple[int, int, bytes]]) -> bytes:
    """The frame with the VLAN tag that the kernel took out of it."""
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and len(data) >= AUXDATA.size:
            status, _, _, _, _, tci, tpid = AUXDATA.unpack_from(data)
            if status & TP_STATUS_VLAN_VALID:
                tag = struct.pack("!HH", tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100, tci)
                return frame[:12] + tag + frame[12:]
    return frame


class LocalProcesses:
    """Raw sockets in the node's namespace, one per (family, source, owner, mark, device).

    A socket is bound to the packet's source when that is an address of the node: an unbound one is routed without it.
    """

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._sockets: dict[tuple[object, ...], socket.socket] = {}

    def send(self, packet: CasePacket) -> int:
        """Send an IP packet; 0 or the errno with which the kernel refused."""
        data = packet.data
        version = data[0] >> 4
        family = socket.AF_INET6 if version == 6 else socket.AF_INET
        source, destination = (data[8:24], data[24:40]) if version == 6 else (data[12:16], data[16:20])
        try:
            sender = self._socket(family, socket.inet_ntop(family, source), packet)
            sender.sendto(data, (socket.inet_ntop(family, destination), 0))
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def _socket(self, family: int, source: str, packet: CasePacket) -> socket.socket:
        key = (family, source, packet.uid, packet.gid, packet.mark, packet.device)
        if key not in self._sockets:
            self._sockets[key] = self._open(family, source, packet)
        return self._sockets[key]

    def _open(self, family: int, source: str, packet: CasePacket) -> socket.socket:
        with self._namespace:
            set_file_owner_ids(packet.uid or 0, packet.gid or 0)
            try:
                opened = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
            finally:
                set_file_owner_ids(0, 0)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, IPV6_HDRINCL, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        if packet.mark:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, packet.mark)
        if packet.device:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, packet.device.encode())
        with contextlib.suppress(OSError):  # not an address of the node
            opened.bind((source, 0))
        return opened

    def close(self) -> None:
        """Close all sockets."""
        for opened in self._sockets.values():
            opened.close()
        self._sockets.clear()
