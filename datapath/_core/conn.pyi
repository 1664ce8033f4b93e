from enum import IntEnum

class CtHow(IntEnum):
    HOW_NONE = 0
