"""A random action of each target, where Linux allows it."""

from __future__ import annotations

from datapath.lab.generate.matches import Place
from datapath.lab.generate.world import MARKS

REJECT4 = ("icmp-port-unreachable", "icmp-net-unreachable", "icmp-host-unreachable", "icmp-proto-unreachable", "icmp-net-prohibited",
           "icmp-host-prohibited", "icmp-admin-prohibited")  # fmt: skip
REJECT6 = (
    "icmp6-port-unreachable",
    "icmp6-no-route",
    "icmp6-adm-prohibited",
    "icmp6-addr-unreachable",
    "icmp6-policy-fail",
    "icmp6-reject-route",
)


def draw_target(place: Place) -> str:
    """`-j ...` for a rule of the place's table, or nothing (a rule that only counts)."""
    rng = place.world.rng
    kind = rng.random()
    if kind < 0.08:
        return ""
    if kind < 0.5 or place.table == "security":
        return f"-j {rng.choice(('ACCEPT', 'ACCEPT', 'RETURN', 'RETURN', 'DROP'))}" if place.table != "nat" else _nat(place)
    if place.table == "nat":
        return _nat(place)
    if place.table == "filter":
        return _filter(place)
    return _raw(place) if place.table == "raw" else _mangle(place)


def _filter(place: Place) -> str:
    rng = place.world.rng
    if place.protocol == "tcp" and rng.random() < 0.4:
        return "-j REJECT --reject-with tcp-reset"
    return rng.choice(
        (f"-j REJECT --reject-with {rng.choice(REJECT4 if place.family == 4 else REJECT6)}", "-j REJECT", "-j DROP", _any(place))
    )


def _any(place: Place) -> str:
    rng = place.world.rng
    return rng.choice(
        (
            f"-j MARK {mark_change(place)}",
            f"-j CONNMARK {connmark_change(place)}",
            '-j LOG --log-prefix "seen " --log-level 6',
            '-j NFLOG --nflog-group 5 --nflog-prefix "seen"',
            "-j CONNMARK --save-mark",
        )
    )


def mark_change(place: Place) -> str:
    """What MARK may do."""
    value = place.world.rng.choice(MARKS)
    return place.world.rng.choice(
        (
            f"--set-xmark {value}/0xffffffff",
            f"--set-xmark {value}/{value}",
            f"--or-mark {value}",
            f"--and-mark {value}",
            f"--xor-mark {value}",
            f"--set-mark {value}",
        )
    )


def connmark_change(place: Place) -> str:
    """What CONNMARK may do."""
    value = place.world.rng.choice(MARKS)
    return place.world.rng.choice(
        (
            f"--set-xmark {value}/0xffffffff",
            f"--set-xmark {value}/{value}",
            "--save-mark",
            "--restore-mark",
            f"--restore-mark --nfmask {value} --ctmask {value}",
            f"--save-mark --nfmask 0xff --ctmask {value}",
        )
    )


def _raw(place: Place) -> str:
    return place.world.rng.choice(("-j CT --notrack", "-j NOTRACK", "-j TRACE", _any(place)))


def _mangle(place: Place) -> str:
    rng = place.world.rng
    lifetime = f"-j TTL --ttl-{rng.choice(('dec 1', 'inc 2', 'set 9', 'set 1'))}"
    choices = [
        f"-j MARK {mark_change(place)}",
        f"-j CONNMARK {connmark_change(place)}",
        f"-j DSCP --set-dscp {rng.choice(('0x00', '0x0a', '0x2e'))}",
        f"-j TOS {rng.choice(('--set-tos 0x10/0x3f', '--set-tos 0x08/0xff', '--and-tos 0x03', '--or-tos 0x10', '--xor-tos 0xff'))}",
        lifetime if place.family == 4 else lifetime.replace("-j TTL --ttl", "-j HL --hl"),
    ]
    return rng.choice(choices)


def _nat(place: Place) -> str:
    rng = place.world.rng
    if rng.random() < 0.2:
        return rng.choice(("-j ACCEPT", "-j RETURN", f"-j MARK {mark_change(place)}"))
    destination = bool(place.hooks) and place.hooks <= {"PREROUTING", "OUTPUT"}
    source = bool(place.hooks) and place.hooks <= {"POSTROUTING", "INPUT"}
    if destination:
        return rng.choice((_dnat(place), _dnat(place), _redirect(place), _netmap(place)))
    if source:
        choices = [_snat(place), _snat(place), _netmap(place)]
        if place.hooks == {"POSTROUTING"}:
            choices += [_masquerade(place)] * 2
        return rng.choice(choices)
    return "-j ACCEPT"


def _dnat(place: Place) -> str:
    members = place.world.families[place.family]
    address = place.world.rng.choice([*members.all_peers(), *members.all_own()])
    return f"-j DNAT --to-destination {_with_port(place, address)}"


def _with_port(place: Place, address: str) -> str:
    if not place.transport or place.world.chance(0.5):
        return address
    ports = place.world.rng.choice((str(place.world.port()), str(place.world.port()), "8000-8003"))
    return f"[{address}]:{ports}" if place.family == 6 else f"{address}:{ports}"


def _snat(place: Place) -> str:
    members = place.world.families[place.family]
    address = place.world.rng.choice([*members.all_own(), *members.services])
    if place.transport and place.world.chance(0.2):
        single = place.world.rng.choice((str(place.world.port()), "5000-5000"))
        return f"-j SNAT --to-source {f'[{address}]:{single}' if place.family == 6 else f'{address}:{single}'}"
    return f"-j SNAT --to-source {address}"


def _redirect(place: Place) -> str:
    return f"-j REDIRECT --to-ports {place.world.port()}" if place.transport and place.world.chance(0.6) else "-j REDIRECT"


def _netmap(place: Place) -> str:
    nets = place.world.families[place.family].nets
    return f"-j NETMAP --to {place.world.rng.choice(list(nets.values()))}"


def _masquerade(place: Place) -> str:
    if place.transport and place.world.chance(0.15):
        return f"-j MASQUERADE --to-ports {place.world.port()}"
    return "-j MASQUERADE"
