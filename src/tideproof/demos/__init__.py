"""The demonstrations of `tideproof demo`, with and without environment labels."""
