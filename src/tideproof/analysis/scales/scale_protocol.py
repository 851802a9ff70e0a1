"""Interface of the scales on which arms are compared (difference, ratio, odds, log): estimates and tests."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.scales.scale_properties import ScaleName
from tideproof.stats.solve.adjusted_means import EnvironmentGaps
from tideproof.stats.variance.cell_variances import Spread
from tideproof.stats.variance.variance_models import Estimate


class LeaveOneOut(NamedTuple):
    """Estimates of the arms from all environments, and with each environment left out in turn.

    The shape of `mu` is (K,) for K arms, that of `without` is (J, K) for J environments.
    """

    mu: Floats
    without: Floats


class ScaleFit(Protocol):
    """Estimates of arms and environments on one scale for comparing arms (difference, ratio, odds or log).

    Attributes
    ----------
    name : name of the scale; `SCALE_PROPERTIES` has its texts and whether arms are compared by lifts.
    exact : whether tests and intervals of the two arms are exact if the pulls do not depend on rewards.
    found : estimates of arms and environments, with their covariance.
    """

    @property
    def name(self) -> ScaleName:
        """Name of the scale on which arms are compared: "difference", "ratio", "odds" or "log"."""

    @property
    def exact(self) -> bool:
        """Whether tests and intervals of two arms use an exact distribution instead of an approximation."""

    @property
    def found(self) -> Estimate:
        """Estimates of arms and environments, with their covariance."""

    def shown(self, values: Floats) -> Floats:
        """Return differences between arms in the form that users read: unchanged, or as relative lifts."""

    def means(self, confidence: float) -> dict[str, Floats]:
        """Return standard errors and confidence intervals of adjusted means: "se", "low" and "high"."""

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return the difference of arms `i` and `k` in each environment that contains both."""

    def additivity(self, worst: int) -> Additivity:
        """Test whether environments shift all arms equally; `worst` is the number of deviations to list."""

    def spread(self) -> Spread:
        """Test whether all arms, and all environments, have the same variance of rewards."""

    def left_out(self) -> LeaveOneOut:
        """Return estimates of the arms, from all environments and with each environment left out in turn."""
