"""Experiments as files, and snapshots that make loading them fast."""
