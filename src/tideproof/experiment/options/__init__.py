"""Options of an experiment: tide model, set of environments, traffic shares, and policy prefixes."""
