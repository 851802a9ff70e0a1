"""Rules that choose both the arm and the environment of a pull, from a fixed set of environments."""
