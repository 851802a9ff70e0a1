"""The built-in policies of tideproof, one file each."""
