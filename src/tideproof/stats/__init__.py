"""Statistics of a whole log, from its cells: arrays in, arrays out, vectorised NumPy, no names of columns."""
