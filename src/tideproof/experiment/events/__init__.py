"""Events of an experiment: record types, validation, application to the state, and the event log."""
