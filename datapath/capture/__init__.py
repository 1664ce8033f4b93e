"""Captures: reading, writing, where a packet enters, and what a capture shows of draws."""
