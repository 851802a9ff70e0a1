"""Early stopping of a running experiment, and confidence intervals that are valid at all inspections."""
