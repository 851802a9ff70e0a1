"""`tideproof serve`: experiments of a store behind HTTP."""
