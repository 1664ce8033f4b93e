"""The matches that are emulated, one file each."""
