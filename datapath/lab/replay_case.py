"""Play a saved case in the emulator and print where it differs: `python -m datapath.lab.replay_case DIRECTORY [--kernel] [--all]`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from datapath.lab.case import load_case
from datapath.lab.compare import compare
from datapath.lab.kernel import record_case
from datapath.lab.show import show_difference, show_packet


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kernel", action="store_true", help="play it on this kernel first, instead of believing kernel.json (root)")
    parser.add_argument("--all", action="store_true", help="every difference, not only the first")
    parser.add_argument("--packets", action="store_true", help="print the packets and rules first")
    options = parser.parse_args()
    case = load_case(options.directory)
    if options.packets:
        print("\n".join([*case.rules.values(), *map(show_packet, case.packets)]))
    with tempfile.TemporaryDirectory(prefix="datapath-lab-") as scratch:
        if options.kernel:
            record_case(case, Path(scratch) / "host", drops=True)
        differences = compare(case, all_differences=options.all, seconds_slack=4).differences
    for difference in differences:
        print(show_difference(difference))
    print("differs" if differences else "agrees")
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
