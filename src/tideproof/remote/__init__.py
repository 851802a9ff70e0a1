"""An experiment behind HTTP: what `tideproof serve` serves, as if it were here."""
