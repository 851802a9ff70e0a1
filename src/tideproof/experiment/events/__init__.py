"""Events of an experiment: their records, their validation, their effect, and the event log."""
