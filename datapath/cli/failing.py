"""How a command ends: 0 done, 1 an answer of "no", 2 bad input with one line that says where."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from datapath.errors import DatapathError

DONE, NO, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def run(command: Callable[[], object]) -> int:
    """Run a command; an error of the input becomes one line on standard error and exit code 2."""
    try:
        command()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else DONE
    except DatapathError as error:
        sys.stdout.flush()
        print(f"datapath: {plain(str(error))}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of our output has gone: nothing is left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        print("datapath: interrupted", file=sys.stderr)
        return INTERRUPTED
    return DONE


def plain(text: str) -> str:
    """The text on one line without control characters: names in a capture are whatever its maker wrote."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
