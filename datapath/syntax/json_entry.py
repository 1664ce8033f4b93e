"""Reading the JSON that `ip -j` and `bridge -j` print, with an error that says where and what was expected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from datapath.errors import HostError
from datapath.model.host import IpAddress, IpNetwork

U16, U32 = 0xFFFF, 0xFFFFFFFF
ADDRESS_TYPES: dict[int, type[IPv4Address] | type[IPv6Address]] = {4: IPv4Address, 6: IPv6Address}
NETWORK_TYPES: dict[int, type[IPv4Network] | type[IPv6Network]] = {4: IPv4Network, 6: IPv6Network}


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of a printed array."""

    fields: dict[str, object]
    what: str       # "route 3"
    source: str     # the file

    def error(self, message: str) -> HostError:
        """The error to raise about this entry."""
        return HostError(f"{self.what}: {message}", self.source)

    def has(self, key: str) -> bool:
        """Whether the key is there; `ip` prints bare words as keys with null."""
        return key in self.fields

    def text(self, key: str, default: str | None = None) -> str:
        """A string; numbers are taken as `ip` prints some of both kinds."""
        value = self.fields.get(key, default)
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self.error(f"{key!r} is {shown(value)}: expected a string")

    def optional_text(self, key: str) -> str | None:
        """A string, or None when the key is missing or null."""
        return self.text(key) if self.fields.get(key) is not None else None

    def number(self, key: str, high: int = U32, default: int | None = None, low: int = 0) -> int:
        """A whole number from low to high; strings in decimal or 0x hexadecimal are taken."""
        value = self.fields.get(key, default)
        if isinstance(value, str):
            try:
                value = int(value, 0) if value.lower().startswith("0x") else int(value)
            except ValueError:
                value = self.fields[key]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.error(f"{key!r} is {shown(value)}: expected a number from {low} to {high}")
        return value

    def words(self, key: str) -> frozenset[str]:
        """An array of strings; missing means empty."""
        value = self.fields.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(f"{key!r} is {shown(value)}: expected an array of strings")
        return frozenset(value)

    def address(self, key: str, family: int | None = None) -> IpAddress:
        """An address, of that family when one is given."""
        text = self.text(key)
        try:
            return ip_address(text) if family is None else ADDRESS_TYPES[family](text)
        except ValueError:
            raise self.error(f"{key!r} is {text!r}: expected an {'IP' if family is None else f'IPv{family}'} address") from None

    def network(self, key: str, family: int) -> IpNetwork:
        """`default`, `all`, an address, or an address and a prefix length; host bits are refused."""
        text = self.text(key)
        if text in ("default", "all", "any"):
            return NETWORK_TYPES[family]((0, 0))
        try:
            return NETWORK_TYPES[family](text)
        except (AddressValueError, ValueError):
            raise self.error(f"{key!r} is {text!r}: expected an IPv{family} prefix") from None

    def mac(self, key: str) -> bytes:
        """A link-layer address of any length."""
        text = self.text(key)
        parts = text.split(":")
        if not all(len(part) == 2 for part in parts) or not set(text) <= set("0123456789abcdefABCDEF:"):
            raise self.error(f"{key!r} is {text[:60]!r}: expected a link-layer address such as 02:00:00:00:00:01")
        return bytes(int(part, 16) for part in parts)

    def mapping(self, key: str) -> dict[str, object]:
        """An object; missing means empty."""
        value = self.fields.get(key, {})
        if not isinstance(value, dict):
            raise self.error(f"{key!r} is {shown(value)}: expected an object")
        return value

    def entries(self, key: str, what: str) -> Iterator[Entry]:
        """An array of objects; missing means empty."""
        value = self.fields.get(key, [])
        if not isinstance(value, list):
            raise self.error(f"{key!r} is {shown(value)}: expected an array")
        for position, item in enumerate(value, 1):
            if not isinstance(item, dict):
                raise self.error(f"{what} {position} is {shown(item)}: expected an object")
            yield Entry(item, f"{self.what}, {what} {position}", self.source)


def shown(value: object) -> str:
    """A value as it may stand in a message: short."""
    text = "missing" if value is None else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def read_entries(text: str, source: str, what: str) -> Iterator[Entry]:
    """The objects of the array that the command printed. Empty text is an empty array, as `ip -j` prints nothing for none."""
    if not text.strip():
        return
    try:
        value = json.loads(text)
    except json.JSONDecodeError as wrong:
        raise HostError(f"not JSON: {wrong.msg} at column {wrong.colno}", source, wrong.lineno) from None
    except RecursionError:
        raise HostError("not JSON that `ip -j` prints: nested too deep", source) from None
    except ValueError as wrong:     # a number with thousands of digits
        raise HostError(f"not JSON that `ip -j` prints: {wrong}", source) from None
    if not isinstance(value, list):
        raise HostError(f"holds {shown(value)}: expected the array that `ip -j` prints", source)
    for position, item in enumerate(value, 1):
        if not isinstance(item, dict):
            raise HostError(f"{what} {position} is {shown(item)}: expected an object", source)
        if item:    # `ip -j` prints {} for what a filter left out
            yield Entry(item, f"{what} {position}", source)
