"""How a running experiment is doing, and whether what its fit assumes holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from tideproof.analysis.fit_result import Fit
from tideproof.errors import InputError, NotComparable
from tideproof.experiment.usage_warnings import Facts
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.diagnostics.sample_ratio import SampleRatio
from tideproof.stats.scales.scale_choice import ScaleName
from tideproof.stats.variance.equal_variance_test import Spread
from tideproof.table import to_json_values
from tideproof.text import format_count, format_rounded

Test = TypeVar("Test")


@dataclass(frozen=True, slots=True, repr=False)
class Diagnostics:
    """What to look at while an experiment runs.

    Attributes
    ----------
    asked, told, out, lost : pulls asked for; rewards told, of summaries too; pulls out; pulls that were
        cancelled or expired.
    oldest_out : seconds since the oldest pull that is out was asked for; None if none is.
    environments : those with a told reward.
    sample_ratio : whether arms got equal shares; None for a policy that looks at rewards, which does not
        mean them to.
    additivity : whether one shift for all arms describes the rewards; on the scales of ratios and odds, one
        factor.
    spread : whether one noise does; None where it goes with the mean, as of 0 and 1, and on those scales.
    remarks : what looks wrong in how the experiment is used.
    scale : on which arms are compared.
    tide : what was seen of it, where it is followed; None where labels say all.

    A test that needs more than was told so far is None. Printed, it is some lines; `to_dict()` has all of it.
    """

    asked: int
    told: int
    out: int
    lost: int
    oldest_out: float | None
    environments: int
    sample_ratio: SampleRatio | None
    additivity: Additivity | None
    spread: Spread | None
    remarks: tuple[str, ...]
    scale: ScaleName = "difference"
    tide: str | None = None

    def __repr__(self) -> str:
        waiting = f"{self.out:,} out, {self.lost:,} lost"
        if self.oldest_out is not None:
            waiting += f", the oldest out for {format_rounded(self.oldest_out)} s"
        told = f"{format_count(self.told, 'reward')} told in {format_count(self.environments, 'environment')}"
        lines = [f"{format_count(self.asked, 'pull')} asked for: {waiting}", told, *self._tests()]
        return "\n".join([*lines, *(f"Careful: {remark}" for remark in self.remarks)])

    def _tests(self) -> Iterable[str]:
        """Say what each test that could be made found."""
        if self.tide is not None:
            yield f"tide followed: {self.tide}"
        if self.sample_ratio is not None:
            yield f"sample_ratio: arms got equal shares, p = {self.sample_ratio.p:.3g}"
        if self.additivity is not None:
            what = "shift" if self.scale == "difference" else "factor"
            yield f"additivity: one {what} for all arms, p = {self.additivity.p:.3g}"
        if self.spread is not None:
            arms, environments = self.spread.p_arm, self.spread.p_environment
            yield f"spread: one noise for all arms, p = {arms:.3g}, and environments, p = {environments:.3g}"

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain values."""
        found: dict[str, Any] = to_json_values(self)
        return found


def diagnose(
    fit: Fit | None,
    facts: Facts,
    lost: int,
    oldest_out: float | None,
    remarks: tuple[str, ...],
    tide: str | None = None,
) -> Diagnostics:
    """Make the tests that the fit allows."""
    return Diagnostics(
        asked=facts.pulls,
        told=facts.told,
        out=facts.out,
        lost=lost,
        oldest_out=oldest_out,
        environments=facts.environments,
        sample_ratio=None if fit is None or fit.adaptive else _tested(fit.sample_ratio),
        additivity=None if fit is None else _tested(fit.additivity),
        spread=None if fit is None or fit.scale != "difference" or fit.cells.binary else _tested(fit.spread),
        remarks=remarks,
        scale="difference" if fit is None else fit.scale,
        tide=tide,
    )


def _tested(test: Callable[[], Test]) -> Test | None:
    try:
        return test()
    except (InputError, NotComparable):  # too little was told
        return None
