"""Random nodes, rules and traffic for the campaign: everything from one seeded generator, drawn from one small world.

Addresses, ports and marks come from short lists, so that rules and packets meet often.
"""
