"""The enums of verdict.pxd as Python sees them."""
