"""What a node is: rules, devices, routes, tuples. Frozen dataclasses; no text of any tool, no packets."""
