"""What all tests share: those that ask a real kernel are skipped where none can be asked."""

from __future__ import annotations

import os
import shutil

import pytest

LAB_TOOLS = ("ip", "iptables-legacy-restore", "iptables-nft-restore", "conntrack", "ipset", "ethtool")
UML_TOOLS = ("linux.uml", "ipvsadm")


def missing(tools: tuple[str, ...]) -> str:
    """Why a kernel cannot be asked here; empty when it can."""
    if os.geteuid() != 0:
        return "needs root"
    absent = [tool for tool in tools if shutil.which(tool) is None]
    return f"needs {', '.join(absent)}" if absent else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reasons = {"kernel": missing(LAB_TOOLS), "uml": missing(UML_TOOLS)}
    for item in items:
        for name, reason in reasons.items():
            if reason and item.get_closest_marker(name) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))
