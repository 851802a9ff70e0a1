"""Readers of evaluation logs, one file per format; `format_registry` detects the format of a file."""
