"""Estimates of the arms in an experiment with a hidden tide, that is, with shifts at unknown times.

They come from the filter that follows the tide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tideproof.analysis.arm_comparisons import Contrast, finite_or_none
from tideproof.checks import Direction, Prior
from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError, UnknownName
from tideproof.experiment.state.hidden_tide_state import HiddenTideState
from tideproof.kernels.fit.fixed_effects import degrees_of_freedom
from tideproof.kernels.fit.hidden_tide import SUMMARY_WEIGHT
from tideproof.kernels.fit.tide_paths import DRIFT, EACH
from tideproof.stats.best.multiple_comparisons import critical_deviate, p_value
from tideproof.stats.best.p_best import p_best
from tideproof.stats.pairs.difference_pairs import WaldPairs
from tideproof.stats.scales.scale_properties import ScaleName
from tideproof.table import Table, render_notebook_html
from tideproof.text import format_count, format_rounded

ROUNDING = 1e-13  # relative rounding error of rewards


@dataclass(frozen=True, repr=False, eq=False)
class TideFit:
    """Estimates of the arms in an experiment with a hidden tide (shifts at unknown times).

    `run.fit()` returns them.

    Attributes
    ----------
    names : names of the active arms.
    counts : number of rewards of each arm.
    now : expected reward of each arm now, including the present shift.
    covariance : covariance matrix of these estimates.
    degrees_of_freedom : of the noise estimate; 0 if the noise is unknown.
    noise : standard deviation of a reward.
    jumps, drift : expected number of jumps of the tide within environments; standard deviation of the drift
        from one pull to the next, in units of the noise.
    tide : `"hidden"` or `"both"`.
    """

    names: tuple[str, ...]
    counts: Floats
    now: Floats
    covariance: Floats
    degrees_of_freedom: int
    noise: float
    jumps: float
    drift: float
    tide: str
    direction: Direction
    adaptive: bool
    confidence: float = 0.95
    prior: Prior = "exchangeable"
    scale: ScaleName = field(default="difference", init=False)

    @property
    def exact(self) -> bool:
        """Whether rewards have no noise at all, so that no probability can be computed."""
        return bool(self.degrees_of_freedom > 0 and self.noise <= ROUNDING * np.abs(self.now).max())

    @property
    def best(self) -> str:
        """The arm with the best estimate of its expected reward."""
        return self._ranking[0]

    @property
    def _ranking(self) -> list[str]:
        sign = 1.0 if self.direction == "maximize" else -1.0
        seen = [position for position in range(len(self.names)) if self.counts[position] > 0.0]
        return [
            self.names[position] for position in sorted(seen, key=lambda position: -sign * self.now[position])
        ]

    def rival(self, arm: Any) -> Any:
        """Return the arm with the best estimate among all arms but `arm`, or None."""
        self._index(arm)
        return next((other for other in self._ranking if other != arm), None)

    def contrast(self, a: Any, b: Any, *, confidence: float | None = None, picked: bool = False) -> Contrast:
        """Return the estimated difference between the mean rewards of arms `a` and `b`, with its interval.

        `picked` says that the arms are the selected arm and its runner-up, as in `tp.Fit`.
        """
        i, k, arms = self._index(a), self._index(b), len(self.names)
        if not self.counts[i] or not self.counts[k]:
            raise InputError(f"{a!r} and {b!r} cannot be compared: both need a recorded reward")
        pairs = WaldPairs(self.now, self.covariance, np.full((arms, arms), float(self.degrees_of_freedom)))
        z = critical_deviate(
            self.confidence if confidence is None else confidence, arms, adaptive=self.adaptive, picked=picked
        )
        C = self.covariance
        unsure = not self.degrees_of_freedom or self.exact
        deviate = math.nan if unsure else pairs.deviate(i, k)
        low, high = (math.nan, math.nan) if unsure else (pairs.lower(i, k, z), pairs.upper(i, k, z))
        return Contrast(
            a,
            b,
            estimate=float(self.now[i] - self.now[k]),
            se=None
            if unsure
            else finite_or_none(math.sqrt(max(float(C[i, i] + C[k, k] - 2.0 * C[i, k]), 0.0))),
            low=finite_or_none(low),
            high=finite_or_none(high),
            p=None
            if unsure
            else finite_or_none(p_value(deviate, arms, adaptive=self.adaptive, picked=picked)),
            degrees_of_freedom=self.degrees_of_freedom,
            adaptive=self.adaptive,
        )

    @cached_property
    def p_best(self) -> dict[Any, float | None]:
        """Probability of each arm to be the best, as in `tp.Fit`.

        It is None without rewards, if the noise is unknown, and if no arm is clearly the best.
        """
        if not self.degrees_of_freedom or self.exact or not self.counts.all() or len(self.names) < 2:
            return dict.fromkeys(self.names)
        sign = 1.0 if self.direction == "maximize" else -1.0
        chances, _ = p_best(self.prior, sign * self.now, self.covariance, float(self.degrees_of_freedom))
        return dict(zip(self.names, map(finite_or_none, chances.tolist()), strict=True))

    @property
    def arms(self) -> Table:
        """Table with one row per arm: number of rewards, expected reward now, probability to be best."""
        return Table(
            {
                "arm": list(self.names),
                "n": [int(n) for n in self.counts.tolist()],
                "now": [x if n else None for n, x in zip(self.counts, self.now.tolist(), strict=True)],
                "p_best": list(self.p_best.values()),
            }
        )

    def said(self) -> str:
        """Return a text about the estimated jumps and drift of the tide, and the noise of the rewards."""
        text = f"about {format_count(round(self.jumps), 'abrupt change')}"
        if self.drift > 0.05:
            text += f" and a drift of {format_rounded(self.drift)} standard deviations of the noise per pull"
        return f"{text}; the standard deviation of the noise is {format_rounded(self.noise)}"

    def __repr__(self) -> str:
        return f"{self.arms!r}\nestimated shift (tide={self.tide!r}): {self.said()}"

    def _repr_html_(self) -> str:
        return render_notebook_html(f"estimated shift (tide={self.tide!r}): {self.said()}", self.arms)

    def _index(self, arm: Any) -> int:
        if arm not in self.names:
            raise UnknownName.with_suggestion("arm", arm, self.names)
        return self.names.index(arm)


def tide_fit(
    numbers: HiddenTideState,
    arms: Sequence[str],
    direction: Direction,
    confidence: float = 0.95,
    prior: Prior = "exchangeable",
) -> TideFit:
    """Copy the estimates of the arms from the policy state of an experiment with a hidden tide."""
    found: Any = numbers.memory.view.data.fit
    nu = max(int(degrees_of_freedom(found)), 0)
    variance = float(found.rss[0]) / nu if nu else 0.0
    weight = np.where(found.paths.weight >= SUMMARY_WEIGHT, found.paths.weight, 0.0)
    share = weight / max(float(weight.sum()), 1e-300)
    paths = found.paths
    drift = np.repeat(DRIFT, EACH) + paths.steep + (paths.slope**2 / variance if variance else 0.0)
    return TideFit(
        names=tuple(arms[arm] for arm in numbers.active),
        counts=found.first.copy(),
        now=numbers.rewards.sign * found.mu,
        covariance=variance * found.P,
        degrees_of_freedom=nu,
        noise=math.sqrt(variance),
        jumps=float(share @ found.paths.jumps),
        drift=math.sqrt(float(share @ drift)),
        tide=numbers.rewards.spec.policy.tide,
        direction=direction,
        adaptive=numbers.rewards.spec.policy.adaptive,
        confidence=confidence,
        prior=prior,
    )
