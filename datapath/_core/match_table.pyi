MATCH_KINDS: dict[str, tuple[int, int]]
