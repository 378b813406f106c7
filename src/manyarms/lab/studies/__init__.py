"""Studies: a question as data."""
