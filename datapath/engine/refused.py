"""What a host directory holds and this version does not emulate: refused by name, never passed over."""

from __future__ import annotations

import json
from typing import Any

from datapath.errors import HostError, UnsupportedFeatureError
from datapath.model.host import Host
from datapath.model.ruleset import TABLES

IPTABLES_FILES = {"ip": "iptables-save.txt", "ip6": "ip6tables-save.txt"}


def refuse_unsupported_files(host: Host) -> None:
    """Raise UnsupportedFeatureError for virtual services of IPVS and for native nftables rules."""
    for number, line in enumerate(host.texts.get("ipvsadm-save.txt", "").splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            raise UnsupportedFeatureError(f"IPVS is not emulated yet: {line.strip()[:80]!r}", "ipvsadm-save.txt", number)
    if host.texts.get("nft.json", "").strip():
        refuse_native_tables(host.texts["nft.json"], host)


def refuse_native_tables(text: str, host: Host) -> None:
    """Tables of iptables-nft are read from iptables-save; a table of another owner that sees packets is refused."""
    try:
        objects = json.loads(text)["nftables"]
        hooked = [(*table_of(item["chain"]), item["chain"]["name"]) for item in objects if "hook" in item.get("chain", {})]
        filled = {table_of(item["rule"]) for item in objects if "rule" in item}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise HostError("expected what `nft -j list ruleset` prints", "nft.json") from None
    for family, table, chain in hooked:
        if (family, table) in filled and not is_iptables(family, table, host):
            raise UnsupportedFeatureError(f"native nftables rules are not emulated yet: table {family} {table}, chain {chain}", "nft.json")


def table_of(item: dict[str, Any]) -> tuple[str, str]:
    """Family and name of the table that a chain or a rule stands in."""
    return str(item["family"]), str(item["table"])


def is_iptables(family: str, table: str, host: Host) -> bool:
    """Whether the table is iptables-nft's: it has one of its names, and iptables-save has printed it."""
    return table in TABLES and f"*{table}" in host.texts.get(IPTABLES_FILES.get(family, ""), "").split()
