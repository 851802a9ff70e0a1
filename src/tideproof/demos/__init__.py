"""The demonstrations of the command `tideproof demo`, on data with and without environment labels."""
