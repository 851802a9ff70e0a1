"""Selection rules, which select one arm as the best at the end of an experiment.

Each policy lists the rules that it supports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tideproof.core.kernel_linker import check_kernel, kernel
from tideproof.kernels.choose.arm_choice import LOWEST, argmax, contend
from tideproof.kernels.choose.elimination import front_runner
from tideproof.kernels.fit.statistics_interface import connected, degrees_of_freedom, sigma2, together
from tideproof.policies.declared_statistics import check_words
from tideproof.policies.kernel_signatures import Identified, Select
from tideproof.policies.reserved_placeholders import check_holes


@dataclass(frozen=True, eq=False)
class Selection:
    """Definition of a selection rule: the function that selects an arm, and the statistics that it reads.

    Attributes
    ----------
    name : the suffix of a policy name that chooses the rule, such as "ols" in `round-robin+ols`.
    idea : one line that describes the rule.
    select : kernel (params, state, data, draw) -> arm.
    identified : kernel (data) -> whether shared environments connect the arms that the rule compares.
    reads : the statistics that its kernels read: the words of `Policy.reads`, "period" and "control".
    holes : kernels or numbers that fill the holes in its own kernels, by name.
    """

    name: str
    idea: str
    select: Select
    identified: Identified
    reads: frozenset[str]
    holes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_words(self.title, self.reads)
        for what in ("select", "identified"):
            check_kernel(f"{what} of {self.title}", getattr(self, what))
        check_holes(self.title, self.holes)

    @property
    def title(self) -> str:
        """Name of the selection rule as error messages show it, such as "selection rule 'ols'"."""
        return f"selection rule {self.name!r}"


@kernel
def _always(data):
    """Return True: a selection rule that needs no shared environments can always compare all arms."""
    return True


@kernel
def _largest_mean(params, state, data, draw):
    """Select the arm with the largest mean of raw rewards; ties are broken at random."""
    told, mean = data.moments.told, data.moments.mean
    best, top, ties = -1, 0.0, 0
    for i in range(mean.size):
        best, top, ties = contend(best, top, ties, i, mean[i] if told[i] > 0.0 else LOWEST, draw)
    return best


@kernel
def _most_pulls(params, state, data, draw):
    """Select the arm with the most pulls; ties are broken at random."""
    return argmax(data.pulls, draw)


@kernel
def _largest_sum(params, state, data, draw):
    """Select the arm with the largest weighted sum of rewards; ties are broken at random."""
    return argmax(data.moments.sums, draw)


@kernel
def _survivor(params, state, data, draw):
    """Select the arm that is not eliminated or, if several remain, the one with the largest mean reward."""
    return front_runner(state.race, data.moments, draw)


@kernel
def _arms_connected(data):
    """Return whether chains of shared environments link all arms, so that all can be compared."""
    return connected(data.fit)


@kernel
def _largest_effect(params, state, data, draw):
    """Select the arm with the largest fixed-effects estimate."""
    fit = data.fit
    if connected(fit):
        return argmax(fit.mu, draw)
    # Only connected arms can be compared: take the best arm of the group with the most pulls.
    best, most = 0, -1
    for i in range(fit.mu.size):
        pulls = 0
        for k in range(fit.mu.size):
            if together(fit, i, k):
                pulls += data.pulls[k]
        if pulls > most or (pulls == most and together(fit, i, best) and fit.mu[i] > fit.mu[best]):
            best, most = i, pulls
    return best


@kernel
def _largest_period_mean(params, state, data, draw):
    """Select the arm with the largest weighted average of its means in the environments.

    The weight of an environment is the number of its pulls.
    """
    top, bottom = data.periods.top, data.periods.bottom
    best, highest, ties = -1, 0.0, 0
    for i in range(top.size):
        value = top[i] / bottom[i] if bottom[i] > 0.0 else LOWEST
        best, highest, ties = contend(best, highest, ties, i, value, draw)
    return best


@kernel
def _all_met_control(data):
    """Return whether every arm shares an environment with the first arm, which is the control."""
    for i in range(1, data.periods.share.size):  # noqa: SIM110
        if data.periods.share[i] <= 0.0:
            return False
    return True


@kernel
def _largest_over_control(params, state, data, draw):
    """Select the arm with the largest average difference to the control arm within environments."""
    versus, share = data.periods.versus, data.periods.share
    best, top, ties = 0, 0.0, 1  # begin with the control, whose difference to itself is 0
    for i in range(1, versus.size):
        if share[i] > 0.0:
            best, top, ties = contend(best, top, ties, i, versus[i] / share[i], draw)
    return best


def _rule(name, idea, select, *reads, identified=_always):
    """Return a selection rule with the given name, description and function, and the statistics it reads."""
    return Selection(name, idea, select, identified, frozenset(reads))


FLOOR = 0.005  # smallest variance between arms that shrinkage assumes, in units of the noise variance


@kernel
def _largest_shrunk(params, state, data, draw):
    """Select the arm with the largest estimate after shrinkage towards the mean of all arms.

    An estimate is shrunk more, the larger its standard error is compared with the variance between arms.
    """
    fit = data.fit
    P, mu, K, nu = fit.P, fit.mu, fit.mu.size, degrees_of_freedom(fit)
    if not connected(fit) or nu <= 0 or fit.rss[0] <= 0.0:
        return _largest_effect(params, state, data, draw)
    noise, mean, total = sigma2(fit), 0.0, 0.0
    for i in range(K):
        mean += mu[i] / K
        total += _row_mean(P, i) / K
    between = 0.0
    for i in range(K):
        between += (mu[i] - mean) * (mu[i] - mean) - noise * (P[i, i] - 2.0 * _row_mean(P, i) + total)
    between = max(between / (K - 1.0), FLOOR * noise)
    weighted, weights = 0.0, 0.0
    for i in range(K):
        variance = between + noise * max(P[i, i] - 2.0 * _row_mean(P, i) + total, 0.0)
        weighted += mu[i] / variance
        weights += 1.0 / variance
    mean = weighted / weights
    best, top, ties = -1, 0.0, 0
    for i in range(K):
        variance = between + noise * max(P[i, i] - 2.0 * _row_mean(P, i) + total, 0.0)
        best, top, ties = contend(best, top, ties, i, (mu[i] - mean) * between / variance, draw)
    return best


@kernel
def _row_mean(P, i):
    """Return the mean of row i of a square matrix."""
    total = 0.0
    for k in range(P.shape[0]):
        total += P[i, k]
    return total / P.shape[0]


MEAN = _rule("mean", "the largest raw mean, which shifts distort", _largest_mean, "means")
OLS = _rule("ols", "the largest fixed-effects estimate", _largest_effect, "fit", identified=_arms_connected)
SHRUNK = _rule(
    "shrunk",
    "the largest estimate after shrinkage towards the mean of all arms, for noise that differs between arms",
    _largest_shrunk,
    "fit",
    identified=_arms_connected,
)
MOST_PLAYED = _rule("most-played", "the most pulls, for policies that minimize regret", _most_pulls)
IPS = _rule("ips", "the largest inverse-propensity-weighted sum of rewards", _largest_sum, "sums")
SURVIVOR = _rule(
    "survivor",
    "the only arm not eliminated; if several remain, the largest raw mean of these",
    _survivor,
    "means",
)
PERIOD = _rule(
    "period", "the largest mean over environments, weighted by pulls", _largest_period_mean, "period"
)
CONTROL = _rule(
    "control",
    "the largest average difference from the first arm within environments",
    _largest_over_control,
    "control",
    identified=_all_met_control,
)
