"""Attacks: what is done to the package on purpose, and how often it held."""
