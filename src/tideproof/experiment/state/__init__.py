"""The state that events add up to: the book of pulls and the statistics of the policy."""
