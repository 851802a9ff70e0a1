"""tideproof."""
