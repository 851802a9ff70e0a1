"""What a fit asks of a scale."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tideproof.core.array_layout import Floats
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.scales.scale_choice import Compared
from tideproof.stats.solve.environment_contrasts import EnvironmentGaps
from tideproof.stats.variance.equal_variance_test import Spread
from tideproof.stats.variance.variance_models import Estimate


class LeaveOneOut(NamedTuple):
    """Values of the arms with all environments, (K,), and with each left out in turn, (J, K)."""

    mu: Floats
    without: Floats


class OnScale(Protocol):
    """Cells whose arms are compared on one scale.

    Attributes
    ----------
    name : what it is called.
    lifts : whether arms are compared by lifts: their values are then logarithms.
    exact : whether tests and limits of the two arms are exact where allocation does not depend on rewards.
    found : arms, environments and how well they are known.
    """

    @property
    def name(self) -> Compared:
        """What it is called."""

    @property
    def lifts(self) -> bool:
        """Whether arms are compared by lifts."""

    @property
    def exact(self) -> bool:
        """Whether tests and limits are exact."""

    @property
    def found(self) -> Estimate:
        """The estimate."""

    def shown(self, values: Floats) -> Floats:
        """Return differences of the arms' values as people read them: as they are, or as lifts."""

    def means(self, level: float) -> dict[str, Floats]:
        """Return standard errors and limits of adjusted means, "se", "low" and "high"."""

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return how far arm i was above arm k in each environment that saw both."""

    def additivity(self, worst: int) -> Additivity:
        """Test whether one shift for all arms describes the data."""

    def spread(self) -> Spread:
        """Test whether all arms, and all environments, vary alike."""

    def left_out(self) -> LeaveOneOut:
        """Return what leaving out each environment would change."""
