"""Races of commands and functions: which is faster, on a machine whose speed keeps changing."""
