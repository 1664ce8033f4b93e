"""The page on TCP and SCTP connection tracking, made from the tables that the core runs."""

from __future__ import annotations

from datapath._core.ct_sctp import TRANSITIONS as SCTP_CHANGES
from datapath._core.ct_tcp_states import EVENTS, transition_rows

SIGNS = {"-": "invalid", "=": "(ignored)"}

HEAD = """\
# TCP in connection tracking

Made by `./dev docs` from the tables in `src_cython/datapath/_core/ct_tcp_states.pyx` and `ct_sctp.pyx`; do not edit.

The observer sees what both ends send, not what arrives. A segment that fits its state moves it as the table says, once
it has passed the checks of the windows (`ct_tcp_window.pyx`).

* *invalid*: the packet is INVALID and the connection untouched.
* *(ignored)*: the packet passes as part of the connection and changes nothing, not even the timeout. It may show that
  our state is out of date; the answer to it will tell. A SYN+ACK that acknowledges an ignored SYN makes us follow; a
  reset that answers one ends the connection; an ACK that challenges a SYN in LAST_ACK is not taken for the last one.
* SYN_SENT in the rows TIME_WAIT and CLOSE begins a new connection in place of the old, when that was closed by a FIN
  or has just been reset by the sender of the SYN; else the SYN is ignored.
* After SYN_SENT2 an ACK of the replying side leads to ESTABLISHED, not SYN_RECV.
* A reset inside the window, but not at the number expected next, leaves an established connection open for the
  timeout of CLOSE, since the receiver may challenge it. Below what was acknowledged it is invalid, unless
  `nf_conntrack_tcp_ignore_invalid_rst` is set. When the connection is closing it is not looked at closely.
* A segment without SYN, ACK, FIN or RST, and every combination of flags that no stack sends, is invalid at once.
"""

WINDOWS = """\
## Windows

Of each side is kept the highest sequence number it sent (*end*), the highest its peer has allowed (*allowed*) and the
largest window it has offered (*window*, scaled when both offered scaling). A segment fits when

1. it begins at or below the sender's *allowed*: else INVALID, except that a little too much is ignored,
2. what it acknowledges (or selectively acknowledges) is not beyond the receiver's *end*: else INVALID,
3. it ends no more than the receiver's *window* below the sender's *end*: else ignored,
4. it acknowledges no less than the larger of the sender's *window* and 66000 bytes below the receiver's *end*: else ignored.

With `nf_conntrack_tcp_be_liberal`, and in connections that were picked up in the middle, segments that do not fit pass
all the same and teach nothing. Connections of an imported `conntrack.txt` are liberal until both sides were seen; as
their scaling is not known, the widest is assumed then.
"""

SCTP = """\
# SCTP in connection tracking

What a chunk does in a state; where nothing is said the state stays, and other chunks never change it. In the original
direction every chunk named here leads from NONE and HEARTBEAT_SENT to CLOSED unless the table says otherwise, in the
reply direction it is invalid there.
"""


def conntrack_page() -> str:
    """The text of docs/tcp_conntrack.md."""
    parts = [HEAD, *(tcp_table(direction) for direction in ("original", "reply")), WINDOWS, SCTP, sctp_table()]
    return "\n".join(parts)


def tcp_table(direction: str) -> str:
    """One direction of the states of TCP."""
    lines = [f"## Segments in the {direction} direction", "", "| state | " + " | ".join(EVENTS) + " |", "|---" * (len(EVENTS) + 1) + "|"]
    lines += [f"| {state} | " + " | ".join(SIGNS.get(cell, cell) for cell in cells) + " |" for state, cells in transition_rows(direction)]
    return "\n".join([*lines, ""])


def sctp_table() -> str:
    """Both directions of the states of SCTP."""
    lines = ["| chunk | original direction | reply direction |", "|---|---|---|"]
    for chunk, original in SCTP_CHANGES["original"].items():
        lines.append(f"| {chunk} | {changes(original)} | {changes(SCTP_CHANGES['reply'][chunk])} |")
    return "\n".join([*lines, ""])


def changes(text: str) -> str:
    """What a chunk changes, in words."""
    return ", ".join(change.replace(">", " → ") for change in text.split()) or "stays"
