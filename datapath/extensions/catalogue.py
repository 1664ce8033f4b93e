"""The list of what is emulated, for docs/supported.md: made from the registry, so it cannot be out of date."""

from __future__ import annotations

from datapath.extensions import MATCHES, TARGETS
from datapath.extensions.base import HOOK_NAMES, Extension, Option

TABLE_NAMES = ("raw", "mangle", "nat", "filter", "security")
HEAD = """# Matches and targets

The matches and targets of iptables and ip6tables that are emulated, with every option of each. An option that may be
negated is shown with `[!]`. Whatever is not listed is refused by name, with the line it stands on; `--lenient` turns
the refusal into a verdict of *unknown*.

This page is made from the code: `./dev docs` rewrites it.
"""


def supported_page() -> str:
    """The text of docs/supported.md."""
    return "\n".join([HEAD, *section("Matches", "-m", MATCHES), "", *section("Targets", "-j", TARGETS), ""])


def section(title: str, flag: str, extensions: tuple[type[Extension], ...]) -> list[str]:
    """A heading and a table of extensions by name."""
    rows = [row(flag, extension) for extension in sorted(extensions, key=lambda extension: extension.NAME)]
    return [f"## {title}", "", "| name | what it is about | options | where |", "| --- | --- | --- | --- |", *rows]


def row(flag: str, extension: type[Extension]) -> str:
    """One line of a table."""
    options = "<br>".join(f"`{option_text(option)}`" for option in extension.OPTIONS)
    return f"| `{flag} {extension.NAME}` | {extension.SUMMARY} | {options} | {places(extension)} |"


def option_text(option: Option) -> str:
    """The option as a manual would spell it: all its names, its arguments."""
    text = ("[!] " if option.negatable else "") + " \\| ".join(option.names)
    if option.optional_argument:
        return f"{text} [VALUE]"
    return text + " VALUE" * option.arguments


def places(extension: type[Extension]) -> str:
    """The families, tables and hooks in which the extension may stand, where these are fewer than all."""
    parts = [] if len(extension.FAMILIES) == 2 else [f"IPv{min(extension.FAMILIES)}"]
    if extension.TABLES is not None:
        parts.append(", ".join(name for name in TABLE_NAMES if name in extension.TABLES))
    if extension.HOOKS is not None:
        parts.append(", ".join(name for name in HOOK_NAMES if name in extension.HOOKS))
    return "; ".join(parts)
