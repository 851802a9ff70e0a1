"""Group-sequential tests: planned repeated analyses (looks), spending functions, and bounds for many arms."""
