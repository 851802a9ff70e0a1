"""State of an experiment, computed from its events: the book of pulls and the policy's statistics."""
