"""Client for an experiment that `tideproof serve` serves over HTTP; it has the methods of `Experiment`."""
