"""What is asked: arms, how far the best one is ahead, how long environments last, and the error allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tideproof.checks import require_finite, require_whole_number
from tideproof.errors import InputError
from tideproof.policies.policy_registry import policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.worlds import Lengths, NoShift, World
from tideproof.worlds.world import EnvironmentLengths

ENOUGH = 5  # pulls of each arm in an environment, below which it is not shortened


@dataclass(frozen=True)
class Question:
    """A plan that is asked for, in units of the noise: only what matters, so that equal questions are equal.

    Attributes
    ----------
    arms : how many.
    gap : how far the best arm is ahead of all others, over the standard deviation of their noise.
    best_sigma : that of the best arm, over that of the others.
    lengths : of environments, as a `World` has them.
    error : how often a wrong arm may be selected.
    rates : of the others and of the best arm, where rewards are conversions; None where they are means.
    """

    arms: int
    gap: float
    best_sigma: float
    lengths: EnvironmentLengths
    error: float
    rates: tuple[float, float] | None = None

    @property
    def size(self) -> float:
        """Pulls in an environment, on average; infinite if there is only one."""
        if self.lengths is None:
            return math.inf
        values = self.lengths.values if isinstance(self.lengths, Lengths) else self.lengths
        assert isinstance(values, tuple)
        return sum(values) / len(values)

    def world(self, block: int) -> World:
        """Return the least favourable world: one arm ahead of equals, which are the hardest to leave behind.

        Shifts that add move no choice and no selection: there are none. In a world of blocks a pull stands
        for so many; conversions are then as good as normal, with the variances of their rates. The best arm
        is the last: ties among estimates are not in its favour.
        """
        others = self.arms - 1
        if self.rates is not None and block == 1:
            low, high = self.rates
            means = [low] * others + [high]
            return World(means, lengths=self.lengths, shifts=NoShift(), rewards="conversions")
        return World(
            [0.0] * others + [self.gap * math.sqrt(block)],
            sigma=[1.0] * others + [self.best_sigma],
            lengths=self._shortened(block),
            shifts=NoShift(),
        )

    def _shortened(self, block: int) -> EnvironmentLengths:
        """Return lengths in blocks, none so short that its shift would cost more than it does.

        What is not shortened is as many environments merged into one, which tell the same together.
        """

        def short(length: int) -> int:
            return min(length, max(round(length / block), ENOUGH * self.arms))

        if isinstance(self.lengths, Lengths):
            return Lengths([short(length) for length in self.lengths.values])
        if isinstance(self.lengths, tuple):
            return short(self.lengths[0]), short(self.lengths[1])
        return self.lengths

    def options(self, budget: float, block: int) -> dict[str, Any]:
        """Return the options of `contrast` with which it explores among blocks as it does among pulls.

        What it explores grows with the logarithm of the pulls that are left for each arm.
        """
        chosen = policy("contrast")
        exploration = chosen.policy.options()["exploration"]
        if self.rates is not None:
            exploration = dict(chosen.on_ratios().options)["exploration"]
        each = budget / self.arms
        return {"exploration": exploration * math.sqrt(math.log(2.0 + each) / math.log(2.0 + each / block))}

    def contrast(self, budget: float, block: int) -> PolicySpec:
        """Return `contrast`, to be played with about so many pulls."""
        return policy("contrast", label="contrast", **self.options(budget, block))


def ask(
    *,
    arms: Any,
    gap: Any = None,
    sigma: Any = None,
    rate: Any = None,
    lift: Any = None,
    lengths: Any = None,
    error: Any = 0.05,
) -> Question:
    """Return the question, or say what is wrong with it."""
    if arms is None:
        raise InputError("arms is missing: how many there are, at least 2")
    arms = require_whole_number("arms", arms, 2)
    error = require_finite("error", error)
    if not 0.0 < error < 0.5:
        raise InputError(f"error must be above 0 and below 0.5, such as 0.05, not {error:g}")
    if (rate is not None or lift is not None) and (gap is not None or sigma is not None):
        raise InputError("rate and lift are for conversions, gap and sigma for means: give one pair")
    if rate is None and lift is None:
        if gap is None:
            raise InputError(
                "gap is missing: by how much the best arm is ahead; or rate and lift, of conversions"
            )
        gap = _positive("gap", gap, "no number of pulls tells equal arms apart")
        sigma = _positive(
            "sigma", 1.0 if sigma is None else sigma, "it is the standard deviation of a reward"
        )
        return Question(arms, gap / sigma, 1.0, _lengths(lengths), error)
    if rate is None or lift is None:
        lacking = "rate" if rate is None else "lift"
        raise InputError(
            f"{lacking} is missing: conversions need both, such as a rate of 0.03 and a lift of 0.1"
        )
    rate = require_finite("rate", rate)
    if not 0.0 < rate < 1.0:
        raise InputError(f"rate must be above 0 and below 1, such as 0.03, not {rate:g}")
    lift = _positive("lift", lift, "no number of pulls tells equal arms apart")
    best = rate * (1.0 + lift)
    if best >= 1.0:
        raise InputError(f"a rate of {rate:g} with a lift of {lift:g} is {best:g}: it must stay below 1")
    spread = math.sqrt(rate * (1.0 - rate))
    return Question(
        arms,
        (best - rate) / spread,
        math.sqrt(best * (1.0 - best)) / spread,
        _lengths(lengths),
        error,
        (rate, best),
    )


def _positive(name: str, value: Any, why: str) -> float:
    number = require_finite(name, value)
    if number <= 0.0:
        raise InputError(f"{name} must be above 0, not {number:g}: {why}")
    return number


def _lengths(given: Any) -> EnvironmentLengths:
    """Return how long environments last: all alike, or one after the other as in a log."""
    if given is None:
        raise InputError(
            "per_environment is missing: how many pulls share an environment, such as the visitors of a day"
        )
    if isinstance(given, Lengths):
        if max(given.values) < 2:
            raise InputError("every environment has a single pull: nothing can be compared there")
        return given
    length = require_whole_number("per_environment", given, 2)
    return length, length
