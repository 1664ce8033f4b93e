"""How a command ends: 0 done, 1 an answer of "no", 2 bad input with one line that says where."""

from __future__ import annotations

import sys
from collections.abc import Callable

from datapath.errors import DatapathError

DONE, NO, BAD_INPUT = 0, 1, 2


def run(command: Callable[[], None]) -> int:
    """Run a command; an error of the input becomes one line on standard error and exit code 2."""
    try:
        command()
    except DatapathError as error:
        print(f"datapath: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        sys.stderr.close()
        return DONE
    except KeyboardInterrupt:
        print("datapath: interrupted", file=sys.stderr)
        return 130
    return DONE
