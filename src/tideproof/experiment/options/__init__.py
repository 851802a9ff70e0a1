"""Options of an experiment: models of the tide, a set of environments, shares, and prefixes of policies."""
