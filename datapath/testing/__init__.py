"""Public helpers for property-based tests of rule sets."""
