"""Text of a tool to model and back, one module per tool."""
