"""Races of commands and functions: which is fastest, on a machine whose speed keeps changing."""
