"""Play recorded cases and print where the emulator differs: `python -m tests.cases.run [CASE or GROUP...] [--all]`."""

from __future__ import annotations

import argparse
import tempfile
import traceback
from pathlib import Path

from datapath.lab.case import load_case
from datapath.lab.compare import compare
from datapath.lab.show import show_difference
from tests.cases import case_names, unpack


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="ipv4/1, or a group: ipv4, ipv6, timed, corners; all when none is named")
    parser.add_argument("--all", action="store_true", help="every difference of a case, not only the first")
    parser.add_argument("--brief", action="store_true", help="one line per case")
    options = parser.parse_args()
    names = [name for name in case_names() if not options.cases or name in options.cases or name.split("/")[0] in options.cases]
    same = 0
    with tempfile.TemporaryDirectory(prefix="datapath-cases-") as directory:
        unpack(Path(directory))
        for name in names:
            same += play(name, Path(directory), options)
    print(f"{same} of {len(names)} cases agree")
    return 0 if same == len(names) else 1


def play(name: str, directory: Path, options: argparse.Namespace) -> bool:
    case = load_case(directory / name)
    case.name = name
    try:
        comparison = compare(case, all_differences=options.all)
    except Exception as error:  # the runner goes on with the next case
        print(f"{name}: {type(error).__name__}: {error}" if options.brief else f"{name}:\n{traceback.format_exc()}")
        return False
    for difference in comparison.differences:
        text = show_difference(difference)
        print(text.splitlines()[0] if options.brief else text)
    return not comparison.differences


if __name__ == "__main__":
    raise SystemExit(main())
