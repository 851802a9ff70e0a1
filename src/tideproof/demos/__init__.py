"""The two demonstrations behind `tideproof demo`."""
