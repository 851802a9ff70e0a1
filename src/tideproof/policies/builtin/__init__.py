"""The policies that tideproof ships, one file each."""
