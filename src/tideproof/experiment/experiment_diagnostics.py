"""Diagnostics of a running experiment: progress, tests of the model's assumptions, and usage warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from tideproof.analysis.fit_result import Fit
from tideproof.errors import InputError, NotComparable
from tideproof.experiment.read_model import ReadModel
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.diagnostics.sample_ratio import SampleRatio
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES, ScaleName
from tideproof.stats.variance.cell_variances import Spread
from tideproof.table import to_json_values
from tideproof.text import format_count, format_rounded

Test = TypeVar("Test")


@dataclass(frozen=True, slots=True, repr=False)
class Diagnostics:
    """Progress of a running experiment, tests of its assumptions, and usage warnings.

    Attributes
    ----------
    asked, recorded, pending, lost : number of pulls asked for; of recorded rewards, including those in
        summaries; of pending pulls; of cancelled or expired pulls.
    oldest_pending : age in seconds of the oldest pending pull; None if no pull is pending.
    environments : number of environments with at least one reward.
    sample_ratio : test whether arms got equal shares; None for policies that react to rewards, which do not
        intend equal shares.
    additivity : test whether one shift per environment for all arms describes the rewards; on the ratio and
        odds scales, one factor.
    spread : test whether all arms and environments have the same noise; None for 0/1 rewards, whose variance
        follows from the mean, and on the ratio and odds scales.
    remarks : warnings about likely mistakes in how the experiment is used.
    scale : scale on which arms are compared.
    tide : description of the estimated hidden tide; None with environment labels.

    A test is None while there are too few rewards for it. Printing gives a short text; `to_dict()` returns
    all values.
    """

    asked: int
    recorded: int
    pending: int
    lost: int
    oldest_pending: float | None
    environments: int
    sample_ratio: SampleRatio | None
    additivity: Additivity | None
    spread: Spread | None
    remarks: tuple[str, ...]
    scale: ScaleName = "difference"
    tide: str | None = None

    def __repr__(self) -> str:
        status = f"{self.pending:,} pending, {self.lost:,} cancelled or expired"
        if self.oldest_pending is not None:
            status += f", the oldest pending for {format_rounded(self.oldest_pending)} s"
        rewards = (
            f"{format_count(self.recorded, 'reward')} in {format_count(self.environments, 'environment')}"
        )
        lines = [f"{format_count(self.asked, 'pull')}: {status}", rewards, *self._tests()]
        return "\n".join([*lines, *(f"Warning: {remark}" for remark in self.remarks)])

    def _tests(self) -> Iterable[str]:
        """Yield lines of text on the estimated hidden tide and on the tests of the model's assumptions."""
        if self.tide is not None:
            yield f"hidden tide: {self.tide}"
        if self.sample_ratio is not None:
            yield f"equal shares of the arms (sample ratio test): p = {self.sample_ratio.p:.3g}"
        if self.additivity is not None:
            effect = "factor" if SCALE_PROPERTIES[self.scale].lifts else "shift"
            yield f"same {effect} for all arms (additivity test): p = {self.additivity.p:.3g}"
        if self.spread is not None:
            arms, days = self.spread.p_arm, self.spread.p_environment
            yield f"equal variances: p = {arms:.3g} between arms, p = {days:.3g} between environments"

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostics of the experiment as a dictionary of JSON values."""
        found: dict[str, Any] = to_json_values(self)
        return found


def diagnose(found: ReadModel) -> Diagnostics:
    """Return an experiment's counts of pulls and rewards, tests of its assumptions, and usage warnings."""
    facts, oldest = found.facts, found.pending_pulls(1)
    fit = found.fit if isinstance(found.fit, Fit) else None
    return Diagnostics(
        asked=facts.pulls,
        recorded=facts.recorded,
        pending=facts.pending,
        lost=found.status.lost,
        oldest_pending=oldest[0][1] if oldest else None,
        environments=facts.environments,
        sample_ratio=None if fit is None or fit.adaptive else _run_test(fit.sample_ratio),
        additivity=None if fit is None else _run_test(fit.additivity),
        spread=None
        if fit is None or fit.scale != "difference" or fit.cells.binary
        else _run_test(fit.spread),
        remarks=found.warnings,
        scale="difference" if fit is None else fit.scale,
        tide=found.fit.said() if isinstance(found.fit, TideFit) else None,
    )


def _run_test(test: Callable[[], Test]) -> Test | None:
    try:
        return test()
    except (InputError, NotComparable):  # there are too few rewards for this test
        return None
