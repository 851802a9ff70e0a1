"""Files of experiments, and snapshots of their state that make loading fast."""
