"""The targets that are emulated, one file each."""
