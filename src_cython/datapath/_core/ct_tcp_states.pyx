"""How TCP segments move the state of a connection (net/netfilter/nf_conntrack_proto_tcp.c, tcp_conntracks).

The observer sees what both sides send, but not what arrives. So it follows the sender of each segment; a segment
that may be right though it does not fit what was seen so far is let through without a change ("ignore"), because
the answer to it will tell; what can never be right is invalid. docs/tcp_conntrack.md is made from this table.
"""

EVENTS = ("SYN", "SYN+ACK", "FIN", "ACK", "RST", "none")
STATES = ("NONE", "SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT", "CLOSE_WAIT", "LAST_ACK", "TIME_WAIT", "CLOSE", "SYN_SENT2")

# state of the connection: the next one for each of EVENTS; "-" invalid, "=" ignored
TRANSITIONS = {
    "original": """
        NONE:         SYN_SENT    -          -         ESTABLISHED  -      -
        SYN_SENT:     SYN_SENT    -          -         -            CLOSE  -
        SYN_RECV:     =           SYN_RECV   FIN_WAIT  ESTABLISHED  CLOSE  -
        ESTABLISHED:  =           -          FIN_WAIT  ESTABLISHED  CLOSE  -
        FIN_WAIT:     =           -          LAST_ACK  CLOSE_WAIT   CLOSE  -
        CLOSE_WAIT:   =           -          LAST_ACK  CLOSE_WAIT   CLOSE  -
        LAST_ACK:     =           -          LAST_ACK  TIME_WAIT    CLOSE  -
        TIME_WAIT:    SYN_SENT    -          TIME_WAIT TIME_WAIT    CLOSE  -
        CLOSE:        SYN_SENT    -          CLOSE     CLOSE        CLOSE  -
        SYN_SENT2:    SYN_SENT2   SYN_RECV   -         -            CLOSE  -
    """,
    "reply": """
        NONE:         -           -          -         -            -      -
        SYN_SENT:     SYN_SENT2   SYN_RECV   -         =            CLOSE  -
        SYN_RECV:     -           =          FIN_WAIT  SYN_RECV     CLOSE  -
        ESTABLISHED:  -           =          FIN_WAIT  ESTABLISHED  CLOSE  -
        FIN_WAIT:     -           =          LAST_ACK  CLOSE_WAIT   CLOSE  -
        CLOSE_WAIT:   -           =          LAST_ACK  CLOSE_WAIT   CLOSE  -
        LAST_ACK:     -           =          LAST_ACK  TIME_WAIT    CLOSE  -
        TIME_WAIT:    SYN_SENT    =          TIME_WAIT TIME_WAIT    CLOSE  -
        CLOSE:        -           =          CLOSE     CLOSE        CLOSE  -
        SYN_SENT2:    SYN_SENT2   SYN_RECV   -         =            CLOSE  -
    """,
}


def transition_rows(direction: str) -> list:
    """The rows of one direction: [(state, [next state, "-" or "=", for each of EVENTS])]."""
    rows = []
    for line in TRANSITIONS[direction].strip().splitlines():
        state, _, following = line.partition(":")
        rows.append((state.strip(), following.split()))
    return rows


def next_state(int direction, int state, int event) -> int:
    """The TcpState after a segment; TCP_INVALID, TCP_IGNORE. For the tests."""
    if not (0 <= direction < 2 and 0 <= state < TCP_STATES and 0 <= event < TCP_EVENTS):
        raise ValueError(f"no such transition: {direction}, {state}, {event}")
    return TCP_NEXT[direction][state][event]


cdef int build() except -1:
    cdef dict codes = {name: code for code, name in enumerate(STATES)}
    codes["-"] = TCP_INVALID
    codes["="] = TCP_IGNORE
    for d, direction in enumerate(("original", "reply")):
        for state, following in transition_rows(direction):
            if len(following) != TCP_EVENTS:
                raise RuntimeError(f"a row of {direction} has not {TCP_EVENTS} cells: {state}")
            for event, name in enumerate(following):
                TCP_NEXT[d][codes[state]][event] = codes[name]
    return 0


build()
