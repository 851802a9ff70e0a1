"""EXP4.P draws arms by exponential weights; its regret is bounded with high probability for any rewards.

With p_min = sqrt(ln K / (K T)) it draws the next arm with the probabilities

    p_i = (1 - K p_min) w_i / sum_k w_k + p_min,

and after a reward x in [0, 1] of arm a it multiplies every weight:

    w_i *= exp((p_min / 2) ([i = a] x / p_i + sqrt(ln(K / delta) / (K T)) / p_i)).

The experts are the K arms themselves: there is no context. x = (r - lo) / (hi - lo), clipped to [0, 1]. The
range of rewards must therefore be known: an `Experiment` requires `lo` and `hi` (of the negated rewards if
it minimises). `tp.simulate` derives them from the world unless they are given: from the lowest and the
highest mean plus the 0.001 and 0.999 quantiles of the shift, extended by 3 sigma on either side.

Use it to earn rewards against an adversary. For finding the best arm under shifts it is a baseline. The
selection rule `mean` selects the largest raw mean, and `ips` the largest sum of raw rewards, each divided
by the probability with which its arm was drawn.

Beygelzimer, Langford, Li, Reyzin, Schapire (2011), Contextual bandit algorithms with supervised
learning guarantees, AISTATS. The ECAI 2024 paper reports neither the constants of its variant nor delta;
tideproof uses delta = 0.05. A batch of n rewards counts as n times its mean, with the probabilities before
the batch.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tideproof.checks import require_finite
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatK
from tideproof.errors import InputError
from tideproof.kernels.simulate import world_draws as kinds
from tideproof.kernels.simulate.threefry import normal_quantile, uniform
from tideproof.policies.final_selection_rules import IPS, MEAN
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the policy `exp4p`: lowest probability of an arm, bonus factor, and range of rewards.

    Attributes
    ----------
    p_min : the smallest probability of an arm.
    root : sqrt(ln(K / delta) / (K T)), the factor of the bonus.
    lo, hi : the range of rewards.
    """

    p_min: float
    root: float
    lo: float
    hi: float


class State(NamedTuple):
    """State of the bandit policy EXP4.P: the logarithm of the weight of each arm.

    Attributes
    ----------
    logs : (K,) ln w_i.
    """

    logs: FloatK


def configure(
    arms: int,
    horizon: int,
    selection: str,
    *,
    delta: float = 0.05,
    lo: float | None = None,
    hi: float | None = None,
) -> Params:
    """Return the parameters of the policy `exp4p`, computed from its options.

    Its regret bound fails with probability `delta`. `lo` and `hi` are the range of rewards.
    """
    delta = require_finite("delta", delta)
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta must be between 0 and 1, not {delta:g}")
    low = -math.inf if lo is None else require_finite("lo", lo)
    high = math.inf if hi is None else require_finite("hi", hi)
    if low >= high:
        raise InputError(f"lo must be below hi: {low:g} >= {high:g}")
    pulls = arms * horizon  # K T in the formulas
    return Params(math.sqrt(math.log(arms) / pulls), math.sqrt(math.log(arms / delta) / pulls), low, high)


def from_world(world: Any) -> dict[str, Any]:
    """Return the policy options `lo` and `hi`: the range of rewards to expect in a simulated world."""
    numbers = world.numbers()
    z = normal_quantile(0.999)
    a, b = numbers.shift_a, numbers.shift_b
    low, high = {
        kinds.NONE: lambda: (0.0, 0.0),
        kinds.UNIFORM: lambda: (a + 0.001 * (b - a), a + 0.999 * (b - a)),
        kinds.NORMAL: lambda: (a - z * b, a + z * b),
        kinds.WALK: lambda: (a - 10.0 * z * b, a + 10.0 * z * b),  # after 100 environments
        kinds.WEEKLY: lambda: (numbers.pattern.min() - z * b, numbers.pattern.max() + z * b),
    }[numbers.shift]()
    levels = [kinds.level(numbers, arm, shift) for arm in range(numbers.means.size) for shift in (low, high)]
    if numbers.rewards == kinds.NOISY:
        reach = 3.0 * numbers.sigmas.max()
        return {"lo": float(min(levels) - reach), "hi": float(max(levels) + reach)}
    return {"lo": 0.0, "hi": float(kinds.reward_at(numbers, max(levels), 0.999, 1.0)) or 1.0}


@kernel
def total(logs):
    """Return the sum of the arms' exponential weights, split into two factors to avoid overflow.

    The factors are the largest weight, as a logarithm, and the sum divided by it. The weights are those of
    the arms.
    """
    peak, scaled = logs[0], 0.0
    for i in range(logs.size):
        peak = max(peak, logs[i])
    for i in range(logs.size):
        scaled += math.exp(logs[i] - peak)
    return peak, scaled


@kernel
def chance(params, state, arm, peak, scaled):
    """Return the probability with which the policy chooses a given arm for the next pull."""
    share = math.exp(state.logs[arm] - peak) / scaled
    return (1.0 - state.logs.size * params.p_min) * share + params.p_min


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm to pull, drawn at random with the probabilities that `chance` returns."""
    peak, scaled = total(state.logs)
    left = uniform(draw, 0)
    for i in range(data.pulls.size - 1):
        left -= chance(params, state, i, peak, scaled)
        if left < 0.0:
            return i
    return data.pulls.size - 1


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Update the exponential weights of all arms with `n` rewards of `arm`."""
    if data.told[0] == 0:  # a pending pull has no reward
        return
    x = min(max((data.reward[0] - params.lo) / (params.hi - params.lo), 0.0), 1.0)
    peak, scaled = total(state.logs)
    for i in range(state.logs.size):
        gain = params.root if i != arm else params.root + x
        state.logs[i] += 0.5 * params.p_min * n * gain / chance(params, state, i, peak, scaled)


@kernel
def weigh(params, state, data, arm):
    """Return a reward's inverse-propensity weight: 1 / (probability of choosing its arm)."""
    peak, scaled = total(state.logs)
    return 1.0 / chance(params, state, arm, peak, scaled)


POLICY = Policy(
    name="exp4p",
    idea="draws arms with exponential weights; designed for rewards that an adversary chooses",
    reference="Beygelzimer, Langford, Li, Reyzin, Schapire 2011",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: max(arms, math.ceil(arms * math.log(arms))),
    selections=(MEAN, IPS),
    reads=frozenset({"reward"}),
    needs_horizon=True,
    shift_aware=False,
    weigh=weigh,
    from_world=from_world,
)
