"""How a running experiment is doing, and whether what its fit assumes holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tideproof.errors import InputError, NotComparable
from tideproof.estimate.fitted import Fit
from tideproof.live.remarks import Facts
from tideproof.stats.additivity import Additivity
from tideproof.stats.sample_ratio import SampleRatio
from tideproof.stats.variances import Spread
from tideproof.table import plain

Test = TypeVar("Test")


@dataclass(frozen=True, slots=True)
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
    additivity, spread : whether one shift for all arms, and one noise, describe the rewards.
    remarks : what looks wrong in how the experiment is used.

    A test that needs more than was told so far is None.
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

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain values."""
        found: dict[str, Any] = plain(self)
        return found


def diagnose(
    fit: Fit | None, facts: Facts, lost: int, oldest_out: float | None, remarks: tuple[str, ...]
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
        spread=None if fit is None else _tested(fit.spread),
        remarks=remarks,
    )


def _tested(test: Callable[[], Test]) -> Test | None:
    try:
        return test()
    except (InputError, NotComparable):  # too little was told
        return None
