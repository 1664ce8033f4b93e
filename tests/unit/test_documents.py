"""The generated pages of docs/ are those that the code makes now."""

from pathlib import Path

import pytest

from datapath.report.documents import pages

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", pages())
def test_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == pages()[name], f"docs/{name} is old: run ./dev docs"
