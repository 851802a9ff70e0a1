"""Parameters of a planned test: arms, lead of the best arm, length of environments, allowed error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tideproof.checks import require_finite, require_whole_number
from tideproof.errors import InputError
from tideproof.policies.policy_registry import policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.worlds import Lengths, NoShift, World
from tideproof.worlds.world import EnvironmentLengths

FEWEST_PULLS = 5  # pulls per arm that an environment keeps when it is shortened


@dataclass(frozen=True)
class Question:
    """Parameters of a planned test; differences of arms are in units of the noise's standard deviation.

    Two questions are equal if they have the same plan, so that plans can be cached.

    Attributes
    ----------
    arms : the number of arms.
    gap : lead of the best arm over all others, divided by the standard deviation of their noise.
    best_sigma : standard deviation of the best arm, divided by that of the others.
    lengths : lengths of environments, in the form that `World` takes.
    error : allowed probability of selecting a wrong arm.
    rates : rates of the others and of the best arm if rewards are conversions; None if they are means.
    interaction : standard deviation of the interaction of arm and environment; 0 if all environments shift
        all arms equally. The simulated world has none: it is about the environments of the test.
    """

    arms: int
    gap: float
    best_sigma: float
    lengths: EnvironmentLengths
    error: float
    rates: tuple[float, float] | None = None
    interaction: float = 0.0

    @property
    def size(self) -> float:
        """Mean number of pulls in an environment; infinite if there is only one environment."""
        if self.lengths is None:
            return math.inf
        values = self.lengths.values if isinstance(self.lengths, Lengths) else self.lengths
        assert isinstance(values, tuple)
        return sum(values) / len(values)

    def world(self, block: int) -> World:
        """Return the least favourable world for a test: one best arm ahead of others that are all equal.

        The world has no shifts, because additive shifts change neither choices nor selections. `block` is the
        number of pulls that one simulated pull stands for; means of conversions in blocks are treated as
        normal with the variances of their rates. The best arm is the last one, so that ties do not favour it.
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
        """Return the lengths of environments in blocks of pulls, with at least a few blocks for each arm.

        Each arm keeps `FEWEST_PULLS` blocks, unless the environment has fewer pulls. In shorter environments
        the estimation of the shift would cost more than it does in the real test. An environment that is not
        shortened fully stands for several environments with the same information.
        """

        def shorten(length: int) -> int:
            return min(length, max(round(length / block), FEWEST_PULLS * self.arms))

        if isinstance(self.lengths, Lengths):
            return Lengths([shorten(length) for length in self.lengths.values])
        if isinstance(self.lengths, tuple):
            return shorten(self.lengths[0]), shorten(self.lengths[1])
        return self.lengths

    def options(self, budget: float, block: int) -> dict[str, Any]:
        """Return options of the policy `contrast` for simulations in which a step is a block of pulls.

        With them, the policy explores blocks of pulls as much as single pulls. Its exploration grows with the
        logarithm of the number of pulls that remain for each arm.
        """
        chosen = policy("contrast")
        exploration = chosen.policy.options()["exploration"]
        if self.rates is not None:
            exploration = dict(chosen.on_ratios().options)["exploration"]
        each = budget / self.arms
        return {"exploration": exploration * math.sqrt(math.log(2.0 + each) / math.log(2.0 + each / block))}

    def contrast(self, budget: float, block: int) -> PolicySpec:
        """Return the policy `contrast` for a budget in pulls, if each simulated step is a block of pulls."""
        return policy("contrast", label="contrast", **self.options(budget, block))


def make_question(
    *,
    arms: Any,
    gap: Any = None,
    sigma: Any = None,
    rate: Any = None,
    lift: Any = None,
    lengths: Any = None,
    error: Any = 0.05,
    omega: float = 0.0,
    spell: Callable[[str], str] = str,
) -> Question:
    """Return the parameters of a planned test as a `Question`; raise an error if one is not allowed.

    `omega` is the standard deviation of the interaction of arm and environment, in units of the reward.
    `spell` returns the name under which users know a parameter: as in Python, on the command line or in a
    form.
    """
    names = {name: spell(name) for name in ("arms", "gap", "sigma", "rate", "lift", "error")}
    if arms is None:
        raise InputError(f"{names['arms']} is missing: give the number of arms, at least 2")
    arms = require_whole_number(names["arms"], arms, 2)
    error = require_finite(names["error"], error)
    if not 0.0 < error < 0.5:
        raise InputError(f"{names['error']} must be above 0 and below 0.5, such as 0.05, not {error:g}")
    if (rate is not None or lift is not None) and (gap is not None or sigma is not None):
        raise InputError(
            f"{names['rate']} and {names['lift']} are for conversions, {names['gap']} and {names['sigma']} "
            f"for means: give only one pair"
        )
    if rate is None and lift is None:
        if gap is None:
            raise InputError(
                f"{names['gap']} is missing: give the lead of the best arm or, for conversions, give "
                f"{names['rate']} and {names['lift']}"
            )
        gap = _require_positive(names["gap"], gap, "no number of pulls can separate equal arms")
        sigma = _require_positive(
            names["sigma"], 1.0 if sigma is None else sigma, "it is the standard deviation of a reward"
        )
        lengths = _lengths(lengths, spell)
        return Question(arms, gap / sigma, 1.0, lengths, error, interaction=omega / sigma)
    if rate is None or lift is None:
        missing = names["rate" if rate is None else "lift"]
        raise InputError(
            f"{missing} is missing: conversions need both, such as a rate of 0.03 and a lift of 0.1"
        )
    rate = require_finite(names["rate"], rate)
    if not 0.0 < rate < 1.0:
        raise InputError(f"{names['rate']} must be above 0 and below 1, such as 0.03, not {rate:g}")
    lift = _require_positive(names["lift"], lift, "no number of pulls can separate equal arms")
    best = rate * (1.0 + lift)
    if best >= 1.0:
        raise InputError(f"a rate of {rate:g} with a lift of {lift:g} gives {best:g}, which must be below 1")
    deviation = math.sqrt(rate * (1.0 - rate))
    return Question(
        arms,
        (best - rate) / deviation,
        math.sqrt(best * (1.0 - best)) / deviation,
        _lengths(lengths, spell),
        error,
        (rate, best),
        omega / deviation,
    )


def _require_positive(name: str, value: Any, why: str) -> float:
    """Return `value` as a positive float, or raise `InputError` with the reason `why`."""
    number = require_finite(name, value)
    if number <= 0.0:
        raise InputError(f"{name} must be above 0, not {number:g}: {why}")
    return number


def _lengths(given: Any, spell: Callable[[str], str]) -> EnvironmentLengths:
    """Return the environment lengths of a planned test: one common length, or those of a log in order."""
    name = spell("per_environment")
    if given is None:
        raise InputError(
            f"{name} is missing: give the pulls in one environment, such as the visitors of a day"
        )
    if isinstance(given, Lengths):
        if max(given.values) < 2:
            raise InputError("every environment of the log has a single pull, so no arms can be compared")
        return given
    length = require_whole_number(name, given, 2)
    return length, length
