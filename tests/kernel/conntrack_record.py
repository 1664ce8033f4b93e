"""Record what the kernel answers to the scripts, for where none can be asked: `python -m tests.kernel.conntrack_record`.

Writes tests/unit/conntrack_answers.json.xz: for each script, after each packet, the connection's state as rules see it
(None when nothing was forwarded) and the lines of all connections.
"""

from __future__ import annotations

import json
import lzma
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from datapath.lab.masks import network_offset
from tests.kernel.conntrack_other import OTHER_SCRIPTS
from tests.kernel.conntrack_pair import STATE_TTLS, Pair, pair
from tests.kernel.conntrack_scripts import TCP_SCRIPTS, Script

ANSWERS = Path(__file__).parent.parent / "unit" / "conntrack_answers.json.xz"
STATES = {ttl: state for state, ttl in STATE_TTLS.items()}


def state_of(outputs: Iterable[tuple[str, bytes]], interface: str) -> str | None:
    """The state that the rules wrote into the packet that left by the other interface."""
    for name, frame in outputs:
        at = network_offset(frame)
        if name != interface:
            return STATES.get(frame[at + 8] if frame[at] >> 4 == 4 else frame[at + 7])
    return None


def answers(both: Pair, script: Script) -> list[Any]:
    both.begin(script.sysctls)
    found = []
    for said in script.packets:
        time.sleep(said.wait)
        (outputs, entries), _ = both.send(said.interface, said.packet)
        found.append([state_of(outputs, said.interface), sorted(map(str, entries))])
    return found


def main() -> None:
    with pair() as both:
        recorded = {script.name: answers(both, script) for script in (*TCP_SCRIPTS, *OTHER_SCRIPTS)}
    ANSWERS.write_bytes(lzma.compress(json.dumps(recorded, indent=0).encode(), preset=9))
    print(f"{len(recorded)} scripts, {sum(map(len, recorded.values()))} packets")


if __name__ == "__main__":
    main()
