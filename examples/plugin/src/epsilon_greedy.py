"""Epsilon-greedy under global shifts: usually the leader of the fixed-effects fit, sometimes another arm.

After n0 pulls of each arm by Algorithm 1, which connects the arms, each pull is

    argmax muhat           with probability 1 - epsilon,
    a least-pulled arm     with probability epsilon.

Use it as a baseline, and as a template for policies of your own.

Sutton, Barto (2018), Reinforcement learning: an introduction, section 2.2, without shifts.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.plugin import (
    OLS,
    InputError,
    Policy,
    Start,
    argmax,
    kernel,
    least_pulled,
    require_finite,
    require_whole_number,
    start_arm,
    start_tell,
    started,
    uniform,
)


class Params(NamedTuple):
    """Parameters: pulls of each arm at the start, and the probability of exploring."""

    n0: int
    epsilon: float


class State(NamedTuple):
    """State: the progress of Algorithm 1. The fit holds everything else."""

    start: Start


def configure(arms: int, horizon: int | None, selection: str, *, n0: int = 2, epsilon: float = 0.5) -> Params:
    """Set the pulls of each arm at the start, and the probability of exploring."""
    if require_finite("epsilon", epsilon, 0.0) > 1.0:
        raise InputError(f"epsilon must be a probability between 0 and 1, not {epsilon!r}")
    return Params(require_whole_number("n0", n0, 1), float(epsilon))


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm of Algorithm 1 and, after it, the leader or a least-pulled arm."""
    if not started(data, params.n0):
        return start_arm(state.start, data, slot, params.n0, -1, draw)
    if explores(params, data, draw):
        return least_pulled(data.pulls, draw)
    return argmax(data.fit.mu, draw)


@kernel
def explores(params, data, draw):
    """Return whether this pull explores; `argmax` and `least_pulled` use the lanes below K of the draws."""
    return uniform(draw, data.pulls.size) < params.epsilon


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Advance Algorithm 1."""
    start_tell(state.start, data, slot, arm, n)


POLICY = Policy(
    name="epsilon-greedy",
    idea="the leader of the fixed-effects fit, or now and then a least-pulled arm",
    reference="Sutton, Barto 2018",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms * params.n0,
    selections=(OLS,),
    reads=frozenset({"fit"}),
    needs_horizon=False,
    shift_aware=True,
)
