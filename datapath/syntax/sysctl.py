"""What `sysctl -a` prints: `name = value`, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from datapath.errors import HostError


def parse_sysctls(text: str, source: str = "sysctl.txt") -> Mapping[str, str]:
    """Values by name. Of a name that stands twice the last value counts; sysctl's own complaints are passed over.

    A device name with a dot is printed with a slash (`net.ipv4.conf.eth0/100.rp_filter`) and kept so.
    """
    values: dict[str, str] = {}
    for line, words in enumerate(text.splitlines(), 1):
        stripped = words.strip()
        if not stripped or stripped[0] in "#;" or stripped.startswith("sysctl:"):
            continue
        name, equals, value = stripped.partition("=")
        name = name.strip()
        if not equals or not name or any(c.isspace() for c in name):
            if values:      # the second line of a value such as kernel.core_pattern or dev.cdrom.info
                continue
            raise HostError(f"{stripped[:60]!r}: expected `name = value`", source, line)
        values[name] = value.strip()
    return MappingProxyType(values)
