"""The generated pages of docs/: `python -m datapath.report.documents docs` rewrites them, and a test checks that they are current."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from datapath.extensions.catalogue import supported_page
from datapath.report.conntrack_page import conntrack_page
from datapath.report.schema import trace_schema


def pages() -> dict[str, str]:
    """Text by file name."""
    return {
        "supported.md": supported_page(),
        "tcp_conntrack.md": conntrack_page(),
        "trace.schema.json": json.dumps(trace_schema(), indent=1) + "\n",
    }


def main(folder: str) -> None:
    """Rewrite the pages in a folder."""
    for name, text in pages().items():
        Path(folder, name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
