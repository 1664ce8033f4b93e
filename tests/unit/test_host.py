"""Loading a host: folder or tar, what is missing, what contradicts itself, hostile archives."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from ipaddress import ip_address
from pathlib import Path

import pytest

from datapath.engine import host_files
from datapath.engine.host import Host
from datapath.errors import HostError, UnsupportedFeatureError

LINKS = [
    {"ifindex": 1, "ifname": "lo", "flags": ["LOOPBACK", "UP", "LOWER_UP"], "mtu": 65536, "link_type": "loopback",
     "address": "00:00:00:00:00:00"},
    {"ifindex": 2, "ifname": "eth0", "flags": ["UP", "LOWER_UP", "BROADCAST", "MULTICAST"], "mtu": 1500, "link_type": "ether",
     "address": "02:00:00:00:00:01"},
]
ADDRESSES = [
    {"ifname": "lo", "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8, "scope": "host"}]},
    {"ifname": "eth0", "addr_info": [
        {"family": "inet", "local": "192.0.2.1", "prefixlen": 24, "broadcast": "192.0.2.255", "scope": "global"}]},
]
ROUTES = [
    {"dst": "192.0.2.0/24", "dev": "eth0", "protocol": "kernel", "scope": "link", "prefsrc": "192.0.2.1", "flags": []},
    {"type": "local", "dst": "192.0.2.1", "dev": "eth0", "table": "local", "protocol": "kernel", "scope": "host", "prefsrc": "192.0.2.1",
     "flags": []},
]
FILES = {"ip-link.json": json.dumps(LINKS), "ip-addr.json": json.dumps(ADDRESSES), "ip-route.json": json.dumps(ROUTES), "notes.md": "mine"}


def make_tar(path: Path, files: dict[str, str], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as tar:     # type: ignore[call-overload]
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize("form", ["folder", "w", "w:gz", "w:xz", "w:bz2"])
def test_folder_and_tar_are_the_same(form: str, tmp_path: Path) -> None:
    if form == "folder":
        for name, text in FILES.items():
            (tmp_path / name).write_text(text)
        (tmp_path / "xt_recent").mkdir()
        (tmp_path / "xt_recent" / "SSH").write_text("src=192.0.2.9\n")
        path = tmp_path
    else:
        files = {f"some/where/{name}": text for name, text in (FILES | {"xt_recent/SSH": "src=192.0.2.9\n"}).items()}
        path = make_tar(tmp_path / "host.tar", files, form)
    host = Host.load(path)
    assert host.interfaces == ("lo", "eth0")
    assert host.texts["xt_recent/SSH"] == "src=192.0.2.9\n"
    assert "notes.md" not in host.texts
    assert len([route for route in host.routes if route.family == 4]) == 2


def test_everything_missing_is_said() -> None:
    host = Host.from_files({"iptables-save.txt": ""})
    said = " ".join(host.assumptions)
    for file in ("ip-link.json", "ip-addr.json", "ip-route.json", "ip6-route.json", "ip-rule.json", "ip-neigh.json", "sysctl.txt",
                 "uname.txt"):
        assert file in said
    assert host.interfaces == ("lo",)
    assert host.neighbours is None
    assert host.kernel == (6, 18)


def test_devices_and_addresses_from_routes() -> None:
    rule = '[{"priority":0,"src":"all","iif":"tun7","table":"local"}]'
    host = Host.from_files({"ip-route.json": FILES["ip-route.json"], "ip-rule.json": rule})
    assert host.interfaces == ("lo", "eth0", "tun7")
    assert [(a.device, a.local, a.prefix_length) for a in host.addresses] == [("eth0", ip_address("192.0.2.1"), 24)]
    assert len({link.mac for link in host.links if link.name != "lo"}) == 2


def test_routes_from_addresses() -> None:
    host = Host.from_files({"ip-link.json": FILES["ip-link.json"], "ip-addr.json": FILES["ip-addr.json"]})
    assert {(str(r.destination), r.type, r.table) for r in host.routes} == {
        ("192.0.2.0/24", "unicast", 254), ("127.0.0.0/8", "local", 255), ("127.0.0.1/32", "local", 255),
        ("127.255.255.255/32", "broadcast", 255),
        ("192.0.2.1/32", "local", 255), ("192.0.2.255/32", "broadcast", 255),
    }


def test_a_local_table_that_is_not_shown_is_derived() -> None:
    shown = [ROUTES[0], {"dst": "default", "gateway": "192.0.2.9", "dev": "eth0", "flags": []}]
    host = Host.from_files(FILES | {"ip-route.json": json.dumps(shown)})
    assert any("does not show the local table" in said for said in host.assumptions)
    assert any(str(route.destination) == "192.0.2.1/32" and route.type == "local" for route in host.routes)


@pytest.mark.parametrize(("changes", "words"), [
    pytest.param({"ip-addr.json": json.dumps([{"ifname": "eth9", "addr_info": [{"family": "inet", "local": "1.1.1.1", "prefixlen": 8}]}])},
                 "ip-addr.json: address 1.1.1.1: no device 'eth9'", id="address on an unknown device"),
    pytest.param({"ip-route.json": json.dumps([{"dst": "10.0.0.0/8", "dev": "eth9", "flags": []}])},
                 "ip-route.json: route 10.0.0.0/8: no device 'eth9'", id="route over an unknown device"),
    pytest.param({"ip-neigh.json": json.dumps([{"dst": "192.0.2.2", "dev": "eth9", "state": ["STALE"]}])},
                 "ip-neigh.json: neighbour 192.0.2.2: no device 'eth9'", id="neighbour on an unknown device"),
    pytest.param({"sysctl.txt": "net.ipv4.ip_forward = maybe\n"}, "sysctl.txt: net.ipv4.ip_forward = 'maybe'", id="sysctl"),
    pytest.param({"ip-rule.json": "[}"}, "ip-rule.json:1: not JSON", id="broken rules"),
])
def test_contradictions(changes: dict[str, str], words: str) -> None:
    with pytest.raises(HostError) as caught:
        Host.from_files(FILES | changes)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_vrf_is_refused_by_name() -> None:
    links = [*LINKS, LINKS[1] | {"ifindex": 3, "ifname": "blue", "linkinfo": {"info_kind": "vrf"}}]
    with pytest.raises(UnsupportedFeatureError, match="device blue: a VRF is not emulated"):
        Host.from_files(FILES | {"ip-link.json": json.dumps(links)})


@pytest.mark.parametrize(("uname", "kernel", "said"), [
    pytest.param("Linux n 6.18.44 #1 SMP x86_64", (6, 18), "", id="known"),
    pytest.param("Linux n 6.1.0-18-amd64 #1 SMP", (6, 1), "", id="old"),
    pytest.param("Linux n 5.15.0-91-generic", (6, 1), "Linux 5.15 is emulated as 6.1", id="nearest"),
    pytest.param("Linux n 6.12.9+bpo-amd64", (6, 18), "Linux 6.12 is emulated as 6.18", id="nearer above"),
    pytest.param("FreeBSD", (6, 18), "names no kernel", id="unknown"),
])
def test_profiles(uname: str, kernel: tuple[int, int], said: str) -> None:
    host = Host.from_files(FILES | {"uname.txt": uname})
    assert host.kernel == kernel
    assert said in " ".join(host.assumptions)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="no such host directory or tar"):
        Host.load(tmp_path / "nothing")
    (tmp_path / "text").write_text("not a tar at all " * 100)
    with pytest.raises(HostError, match="cannot be read"):
        Host.load(tmp_path / "text")
    make_tar(tmp_path / "other.tar", {"README": "x"})
    with pytest.raises(HostError, match="holds no file of a host directory"):
        Host.load(tmp_path / "other.tar")


def test_hostile_tars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = make_tar(tmp_path / "twice.tar", {"a/ip-link.json": "[]", "b/ip-link.json": "[]"})
    with pytest.raises(HostError, match=r"holds ip-link.json twice \(a/ip-link.json and b/ip-link.json\)"):
        Host.load(twice)

    with tarfile.open(tmp_path / "links.tar", "w") as tar:      # a link is not followed, a path that leads out is only a name
        member = tarfile.TarInfo("ip-link.json")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(member)
        member = tarfile.TarInfo("../../../ip-addr.json")
        member.size = 2
        tar.addfile(member, io.BytesIO(b"[]"))
    host = Host.load(tmp_path / "links.tar")
    assert "ip-link.json" not in host.texts

    bomb = io.BytesIO()
    with tarfile.open(fileobj=bomb, mode="w") as tar:
        member = tarfile.TarInfo("junk")
        member.size = 4 << 20
        tar.addfile(member, io.BytesIO(bytes(4 << 20)))
    (tmp_path / "bomb.tar.gz").write_bytes(gzip.compress(bomb.getvalue()))
    monkeypatch.setattr(host_files, "TOTAL_MAX", 1 << 20)
    with pytest.raises(HostError, match="unpacks to more than"):
        Host.load(tmp_path / "bomb.tar.gz")
    monkeypatch.setattr(host_files, "FILE_MAX", 1)
    with pytest.raises(HostError, match="expected at most 1"):
        Host.load(make_tar(tmp_path / "big.tar", {"uname.txt": "Linux"}))


@pytest.mark.parametrize("cut", range(0, 3000, 97))
def test_a_truncated_tar_is_one_clear_line(cut: int, tmp_path: Path) -> None:
    whole = make_tar(tmp_path / "host.tar.gz", FILES, "w:gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[:min(cut, len(whole) - 1)])
    with pytest.raises(HostError) as caught:
        Host.load(tmp_path / "cut.tar.gz")
    assert "\n" not in str(caught.value)
