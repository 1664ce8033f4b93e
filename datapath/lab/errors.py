"""What can go wrong with a lab: the kernel refuses, a tool is missing."""

from __future__ import annotations

from datapath.errors import DatapathError


class LabError(DatapathError):
    """A kernel lab could not do what a case asks for; `str()` says which command or call failed and why."""
