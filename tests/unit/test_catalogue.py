"""docs/supported.md is what the registry says, and says all of it."""

from __future__ import annotations

from pathlib import Path

from datapath.extensions import MATCHES, TARGETS
from datapath.extensions.catalogue import supported_page

PAGE = Path(__file__).parents[2] / "docs" / "supported.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == supported_page(), "run ./dev docs"


def test_every_extension_has_a_row_and_a_summary() -> None:
    page = supported_page()
    for flag, extensions in (("-m", MATCHES), ("-j", TARGETS)):
        for extension in extensions:
            assert f"| `{flag} {extension.NAME}` | {extension.SUMMARY} |" in page
            assert extension.SUMMARY, extension.NAME


def test_no_row_is_broken_by_its_own_text() -> None:
    for line in supported_page().splitlines():
        if line.startswith("|"):
            assert line.replace("\\|", "").count("|") == 5, line
