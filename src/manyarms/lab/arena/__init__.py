"""The arena: every policy against every other."""
