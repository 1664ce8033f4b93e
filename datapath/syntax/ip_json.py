"""What `ip -j` and `bridge -j` print of links, addresses, neighbours and forwarding databases."""

from __future__ import annotations

from types import MappingProxyType

from datapath.model.host import SCOPES, Address, FdbEntry, Link, Neighbour
from datapath.syntax.json_entry import U16, U32, Entry, read_entries

ADDRESS_FLAGS = (
    "secondary", "deprecated", "tentative", "dadfailed", "temporary", "noprefixroute", "dynamic", "nodad", "optimistic",
    "mngtmpaddr", "home",
)
NAME_MAX = 15       # IFNAMSIZ - 1
VLAN_PROTOCOLS = {"802.1Q": 0x8100, "802.1ad": 0x88A8}
GROUPS = {"default": 0}


def parse_links(text: str, source: str = "ip-link.json") -> tuple[Link, ...]:
    """`ip -d -j link show`; without -d, kinds stay unknown. `ip -j addr show` holds the same fields."""
    links = tuple(parse_link(entry) for entry in read_entries(text, source, "link"))
    names: set[str] = set()
    indices: set[int] = set()
    for link, entry in zip(links, read_entries(text, source, "link"), strict=True):
        if link.name in names:
            raise entry.error(f"device {link.name} stands here twice")
        if link.index in indices:
            raise entry.error(f"two devices have the index {link.index}")
        names.add(link.name)
        indices.add(link.index)
    return links


def parse_link(entry: Entry) -> Link:
    """One device."""
    info = Entry(entry.mapping("linkinfo"), entry.what, entry.source)
    data = Entry(info.mapping("info_data"), entry.what, entry.source)
    link_type = entry.text("link_type", "ether")
    protocol = data.text("protocol", "802.1Q")
    return Link(
        index=entry.number("ifindex", 0x7FFFFFFF, low=1),
        name=device_name(entry, "ifname"),
        flags=entry.words("flags"),
        mtu=entry.number("mtu", default=1500),
        link_type=link_type,
        mac=entry.mac("address") if link_type in ("ether", "loopback") and entry.has("address") else bytes(6),
        kind=info.text("info_kind", ""),
        master=entry.optional_text("master"),
        lower=entry.optional_text("link"),
        lower_index=entry.number("link_index", default=0),
        netns_id=entry.number("link_netnsid", 0x7FFFFFFF) if entry.has("link_netnsid") else None,
        vlan_id=data.number("id", 4095, default=0) if info.text("info_kind", "") == "vlan" else 0,
        vlan_protocol=VLAN_PROTOCOLS.get(protocol, 0x8100),
        group=parse_group(entry, "group"),
        promiscuity=entry.number("promiscuity", default=0),
        data=MappingProxyType(data.fields),
        slave_data=MappingProxyType(info.mapping("info_slave_data")),
    )


def device_name(entry: Entry, key: str) -> str:
    """A device's name as the kernel allows it."""
    name = entry.text(key)
    if not name or len(name) > NAME_MAX or "/" in name or any(c.isspace() for c in name):
        raise entry.error(f"{key!r} is {name!r}: expected a device name of at most {NAME_MAX} characters")
    return name


def parse_group(entry: Entry, key: str) -> int:
    """A device group, by its number or a name of /etc/iproute2/group."""
    return GROUPS[entry.text(key)] if entry.has(key) and entry.text(key) in GROUPS else entry.number(key, default=0)


def parse_addresses(text: str, source: str = "ip-addr.json") -> tuple[Address, ...]:
    """`ip -j addr show`, device by device in the kernel's order."""
    return tuple(
        parse_address(info, device_name(entry, "ifname"))
        for entry in read_entries(text, source, "link") for info in entry.entries("addr_info", "address") if info.fields
    )


def parse_address(entry: Entry, device: str) -> Address:
    """One object of `addr_info`. `local` is the address; with a peer, `address` is the peer's."""
    family = {"inet": 4, "inet6": 6}.get(entry.text("family"))
    if family is None:
        raise entry.error(f"'family' is {entry.text('family')!r}: expected inet or inet6")
    return Address(
        device=device,
        local=entry.address("local", family),
        prefix_length=entry.number("prefixlen", 32 if family == 4 else 128),
        scope=parse_scope(entry),
        peer=entry.address("address", family) if entry.has("address") else None,
        broadcast=entry.address("broadcast", family) if entry.has("broadcast") else None,
        label=entry.text("label", ""),
        flags=frozenset(flag for flag in ADDRESS_FLAGS if entry.fields.get(flag, False) in (True, None)),
        preferred_seconds=entry.number("preferred_life_time", default=U32),
    )


def parse_scope(entry: Entry) -> int:
    """A scope by name or number; missing means global."""
    text = entry.text("scope", "global")
    return SCOPES[text] if text in SCOPES else entry.number("scope", 255)


def parse_neighbours(text: str, source: str = "ip-neigh.json") -> tuple[Neighbour, ...]:
    """`ip -j neigh` (both families)."""
    return tuple(
        Neighbour(
            device=device_name(entry, "dev"),
            address=entry.address("dst"),
            mac=entry.mac("lladdr") if entry.has("lladdr") else None,
            state=entry.words("state"),
            router=entry.has("router"),
            proxy=entry.has("proxy"),
        )
        for entry in read_entries(text, source, "neighbour") if entry.has("dev")
    )


def parse_fdb(text: str, source: str = "bridge-fdb.json") -> tuple[FdbEntry, ...]:
    """`bridge -j fdb show`."""
    return tuple(
        FdbEntry(
            device=device_name(entry, "ifname"),
            mac=entry.mac("mac"),
            master=entry.optional_text("master"),
            vlan=entry.number("vlan", U16, default=0),
            destination=entry.address("dst") if entry.has("dst") else None,
            state=entry.text("state", ""),
            flags=entry.words("flags"),
        )
        for entry in read_entries(text, source, "entry")
    )
