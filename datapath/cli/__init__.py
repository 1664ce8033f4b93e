"""The commands. They parse, call and print."""
