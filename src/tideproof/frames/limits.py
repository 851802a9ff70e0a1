"""How much is too much: sizes beyond which a table is refused rather than read in part."""

from __future__ import annotations

MOST_ARMS = 5_000  # the covariance of so many fills 200 MB
MOST_CELLS = 2**23  # so many groups, or aggregated rows, are fetched from an engine
