"""`Host`: a node as its commands printed it, and what a change of it would make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from datapath.compiler.host import compile_host
from datapath.engine.host_files import read_host_files
from datapath.engine.host_load import HostLoader
from datapath.model import edit
from datapath.model import host as model
from datapath.model.host import Address, Neighbour, PolicyRule, Route
from datapath.syntax.ip_command import apply_ip_command


class Host(model.Host):
    """A node as its commands printed it. See `datapath.model.host.Host` for its fields.

    The `with_` and `without_` methods give a changed host, with what Linux changes on its own besides: an address
    brings its routes, a device that goes down loses them. They raise HostError where Linux would refuse.
    """

    __slots__ = ()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """The host of a directory, or of a tar of one (.tar, .tar.gz, .tar.xz, .tar.bz2).

        Every file is optional; `assumptions` says what is taken for a missing one. Raises HostError (file, and
        line where there is one) for what cannot be read or contradicts itself, UnsupportedFeatureError for a
        device, route or rule that is not emulated.
        """
        return cls.from_files(read_host_files(Path(path)), str(path))

    @classmethod
    def from_files(cls, texts: Mapping[str, str], source: str = "host") -> Self:
        """The host of texts by file name, as `load` finds them."""
        found: dict[str, Any] = HostLoader(texts).fields()
        host = cls(**found, texts=MappingProxyType(dict(texts)), source=source)
        compile_host(host)      # refuses what contradicts itself
        return host

    def _changed(self, host: model.Host) -> Self:
        return replace(self, **{part.name: getattr(host, part.name) for part in fields(host)})

    def with_sysctl(self, name: str, value: str) -> Self:
        """After `sysctl -w NAME=VALUE`; ip_forward and the forwarding of `all` set the devices' too."""
        return self._changed(edit.with_sysctl(self, name, value))

    def with_address(self, address: Address) -> Self:
        """After `ip addr add`."""
        return self._changed(edit.with_address(self, address))

    def without_address(self, address: Address) -> Self:
        """After `ip addr del`."""
        return self._changed(edit.without_address(self, address))

    def with_route(self, route: Route, how: str = "add") -> Self:
        """After `ip route HOW`: add, append, prepend, replace or change."""
        return self._changed(edit.with_route(self, route, how))

    def with_rule(self, rule: PolicyRule) -> Self:
        """After `ip rule add`."""
        return self._changed(edit.with_rule(self, rule))

    def with_neighbour(self, neighbour: Neighbour) -> Self:
        """After `ip neigh replace`."""
        return self._changed(edit.with_neighbour(self, neighbour))

    def with_link_up(self, device: str, up: bool) -> Self:
        """After `ip link set DEVICE up` or `down`."""
        return self._changed(edit.with_link_up(self, device, up))

    def after_ip(self, command: str) -> Self:
        """After an `ip` command that changes addresses, links, routes, rules or neighbours."""
        return self._changed(apply_ip_command(self, command))
