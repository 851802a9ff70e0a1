"""Protocol `ScaleFit` of estimates on one scale (difference, ratio, odds or log), used to compare arms."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tideproof.core.array_layout import Floats
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.scales.scale_test import ScaleName
from tideproof.stats.solve.environment_contrasts import EnvironmentGaps
from tideproof.stats.variance.equal_variance_test import Spread
from tideproof.stats.variance.variance_models import Estimate


class LeaveOneOut(NamedTuple):
    """Values of the K arms, estimated from all J environments (K,) and with each one left out (J, K)."""

    mu: Floats
    without: Floats


class ScaleFit(Protocol):
    """Estimates of arms and environments on one scale (difference, ratio, odds or log) of comparison.

    Attributes
    ----------
    name : name of the scale.
    lifts : whether arms are compared by lifts; arm values are then logarithms.
    exact : whether tests and intervals of the two arms are exact if the pulls do not depend on rewards.
    found : estimates of arms and environments, with their covariance.
    """

    @property
    def name(self) -> ScaleName:
        """Name of the scale on which arms are compared: "difference", "ratio", "odds" or "log"."""

    @property
    def lifts(self) -> bool:
        """Whether arms are compared by lifts (0.12 for 12 %) instead of differences."""

    @property
    def exact(self) -> bool:
        """Whether tests and intervals of two arms use an exact distribution instead of an approximation."""

    @property
    def found(self) -> Estimate:
        """Estimates of arms and environments, with their covariance."""

    def shown(self, values: Floats) -> Floats:
        """Return differences of arm values in the form that users read: unchanged, or as lifts."""

    def means(self, confidence: float) -> dict[str, Floats]:
        """Return standard errors and confidence intervals of adjusted means: "se", "low" and "high"."""

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return the difference of arms `i` and `k` in each environment that contains both."""

    def additivity(self, worst: int) -> Additivity:
        """Test whether environments shift all arms equally; list the `worst` deviations."""

    def spread(self) -> Spread:
        """Test whether all arms, and all environments, have the same variance of rewards."""

    def left_out(self) -> LeaveOneOut:
        """Return the arm values from all environments, and with each environment left out in turn."""
