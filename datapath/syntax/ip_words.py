"""The words of an `ip` command, read one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from datapath.errors import HostError
from datapath.model.host import IpAddress, IpNetwork

U32 = 0xFFFFFFFF


@dataclass
class Words:
    """The words of a command that are left to read."""

    command: str
    rest: list[str]

    def error(self, message: str) -> HostError:
        """The error about this command."""
        return HostError(f"ip {self.command}: {message}")

    def take(self, what: str) -> str:
        """The next word."""
        if not self.rest:
            raise self.error(f"ends where {what} was expected")
        return self.rest.pop(0)

    def number(self, what: str, high: int = U32) -> int:
        """The next word, a number."""
        text = self.take(what)
        try:
            value = int(text, 0)
        except ValueError:
            value = -1
        if not 0 <= value <= high:
            raise self.error(f"{what} is {text!r}: expected a number from 0 to {high}")
        return value

    def address(self, what: str) -> IpAddress:
        """The next word, an address."""
        text = self.take(what)
        try:
            return ip_address(text)
        except ValueError:
            raise self.error(f"{what} is {text!r}: expected an address") from None

    def prefix(self, what: str, family: int) -> IpNetwork:
        """The next word, a prefix; `default`, `all` and `any` are the shortest."""
        text = self.take(what)
        if text in ("default", "all", "any"):
            return IPv4Network((0, 0)) if family == 4 else IPv6Network((0, 0))
        try:
            return ip_network(text)
        except ValueError:
            raise self.error(f"{what} is {text!r}: expected a prefix") from None
