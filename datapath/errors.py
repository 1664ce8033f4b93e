"""What can be wrong with what a user gives us.

Every error is a `DatapathError`, names the place it was found at, and says in one line what was expected; the
command line prints that line and ends with exit code 2. A packet with bad bytes is never an error: the
kernel drops it, and so do we, with a reason.
"""

from __future__ import annotations


class DatapathError(Exception):
    """Anything wrong with the input. `str()` is one line fit for a terminal."""


class InputError(DatapathError, ValueError):
    """A file that cannot be read as what it should be.

    `source` is the file's name as the user knows it, `line` counts from 1 (None: not in a line).
    """

    def __init__(self, message: str, source: str | None = None, line: int | None = None) -> None:
        self.message, self.source, self.line = message, source, line
        place = "" if source is None else f"{source}: " if line is None else f"{source}:{line}: "
        super().__init__(place + message)

    def at(self, source: str, line: int | None = None) -> InputError:
        """The same error with its place, for callers that know it; a place that is known stays."""
        return type(self)(self.message, self.source or source, self.line if self.line is not None else line)


class RulesetSyntaxError(InputError):
    """A line that iptables-restore would not understand."""


class RulesetError(InputError):
    """A rule that is well-formed but that Linux or iptables refuses: wrong hook, wrong table, loop, unknown chain."""


class UnsupportedFeatureError(InputError):
    """Linux has it and we do not emulate it (yet). Never ignored: refused by name, or *unknown* when lenient."""


class CaptureError(InputError):
    """A capture that is damaged; what stands before the damage has been answered."""


class HostError(InputError):
    """A file of the host directory that does not say what its command prints, or contradicts another one."""
