"""-j CT --zone: connections of the same tuple in several zones, in both directions or in one; zones from marks."""

from __future__ import annotations

import pytest

from tests.kernel.conntrack_other import icmp, icmp_error, udp
from tests.kernel.conntrack_pair import RULES, differences, pair
from tests.kernel.conntrack_scripts import OPEN, Said, client, server

pytestmark = pytest.mark.kernel
TALK = (udp("client"), udp("server"), udp("client"), icmp("client", 8), icmp("server", 0), *OPEN,
        icmp_error("server", 3, 3, udp("client").packet),
        icmp_error("client", 3, 3, udp("server").packet), server("S", 7000), client("SA", 9000, 7001), client("R", 1001))
RAW = {
    "one zone": "-A PREROUTING -j CT --zone 7",
    "a zone for each side": "-A PREROUTING -i eth0 -j CT --zone 7\n-A PREROUTING -i eth1 -j CT --zone 8",
    "a zone for one side only": "-A PREROUTING -i eth0 -j CT --zone 7",
    "original direction": "-A PREROUTING -j CT --zone-orig 7",
    "reply direction": "-A PREROUTING -j CT --zone-reply 7",
    "original of the client, reply of the server": "-A PREROUTING -i eth0 -j CT --zone-orig 7\n-A PREROUTING -i eth1 -j CT --zone-reply 7",
    "a mark": "-A PREROUTING -p udp -j MARK --set-mark 0x10005\n-A PREROUTING -j CT --zone mark",
    "a mark, original direction": "-A PREROUTING -i eth0 -j MARK --set-mark 5\n-A PREROUTING -j CT --zone-orig mark",
    "the first rule holds": "-A PREROUTING -p udp -j CT --zone 1\n-A PREROUTING -j CT --zone 2\n-A PREROUTING -j CT --notrack",
    "not tracked, whatever follows": "-A PREROUTING -p udp -j CT --notrack\n-A PREROUTING -j CT --zone 2",
    "events alone": "-A PREROUTING -j CT --ctevents new,destroy --expevents new",
    "seen before it is tracked": "-A PREROUTING -j CT --zone 3\n-A PREROUTING -m conntrack --ctstate NEW -j DROP",
}


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
def test_zones(raw: str) -> None:
    assert play(f"*raw\n{raw}\nCOMMIT\n{RULES[4]}", TALK) == []


def play(rules: str, talk: tuple[Said, ...]) -> list[str]:
    with pair({4: rules}) as both:
        for number, said in enumerate(talk, 1):
            found = differences(*both.send(said.interface, said.packet))
            if found:
                return [f"after packet {number}: {said.text}", *found]
    return []
