from enum import IntEnum

class Hook(IntEnum):
    HOOK_PREROUTING = 0
    HOOK_INPUT = 1
    HOOK_FORWARD = 2
    HOOK_OUTPUT = 3
    HOOK_POSTROUTING = 4

class TableId(IntEnum): ...
class Outcome(IntEnum): ...
class DropReason(IntEnum): ...
