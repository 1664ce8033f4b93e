"""The enums of conn.pxd as Python sees them."""
