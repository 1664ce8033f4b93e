STATES: tuple[str, ...]
TRANSITIONS: dict[str, dict[str, str]]
CHUNKS: dict[str, int]
