"""Which arm is best: intervals, simultaneous comparisons, probabilities, and bounds for repeated looks."""
