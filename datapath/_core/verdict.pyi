from enum import IntEnum

class Hook(IntEnum):
    HOOK_PREROUTING = 0
    HOOK_INPUT = 1
    HOOK_FORWARD = 2
    HOOK_OUTPUT = 3
    HOOK_POSTROUTING = 4

class TableId(IntEnum):
    TABLE_RAW = 0
    TABLE_MANGLE = 1
    TABLE_NAT = 2
    TABLE_FILTER = 3
    TABLE_SECURITY = 4

class Outcome(IntEnum):
    OUTCOME_NONE = 0

class DropReason(IntEnum):
    DROP_NONE = 0
