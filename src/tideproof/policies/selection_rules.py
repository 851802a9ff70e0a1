"""Selection rules: which arm in the end. A policy lists the ones it can serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tideproof.core.kernel_linker import check_kernel, kernel
from tideproof.kernels.choose.arm_choice import LOWEST, argmax, contend
from tideproof.kernels.choose.elimination import front_runner
from tideproof.kernels.fit.statistics_interface import connected, freedom, sigma2, together
from tideproof.policies.declared_reads import known_words
from tideproof.policies.kernel_signatures import Identified, Select
from tideproof.policies.reserved_holes import check_holes


@dataclass(frozen=True, eq=False)
class Selection:
    """A rule, its kernel and the statistics it reads.

    Attributes
    ----------
    name : as in `round-robin+ols`.
    idea : one line for people.
    select : kernel (params, state, data, draw) -> arm.
    identified : kernel (data) -> whether the selection compares what can be compared.
    reads : the statistics its kernels read: the words of `Policy.reads`, "period" and "control".
    holes : what fills the holes in its own kernels, by name.
    """

    name: str
    idea: str
    select: Select
    identified: Identified
    reads: frozenset[str]
    holes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known_words(self.title, self.reads)
        for what in ("select", "identified"):
            check_kernel(f"{what} of {self.title}", getattr(self, what))
        check_holes(self.title, self.holes)

    @property
    def title(self) -> str:
        """What errors call it."""
        return f"selection rule {self.name!r}"


@kernel
def _always(data):
    return True


@kernel
def _largest_mean(params, state, data, draw):
    told, mean = data.moments.told, data.moments.mean
    best, top, ties = -1, 0.0, 0
    for i in range(mean.size):
        best, top, ties = contend(best, top, ties, i, mean[i] if told[i] > 0.0 else LOWEST, draw)
    return best


@kernel
def _most_pulls(params, state, data, draw):
    return argmax(data.pulls, draw)


@kernel
def _largest_sum(params, state, data, draw):
    return argmax(data.moments.sums, draw)


@kernel
def _survivor(params, state, data, draw):
    return front_runner(state.race, data.moments, draw)


@kernel
def _arms_connected(data):
    return connected(data.fit)


@kernel
def _largest_effect(params, state, data, draw):
    fit = data.fit
    if connected(fit):
        return argmax(fit.mu, draw)
    # the leader of the group with most pulls; the study counts the run as unidentified
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
    top, bottom = data.periods.top, data.periods.bottom
    best, highest, ties = -1, 0.0, 0
    for i in range(top.size):
        value = top[i] / bottom[i] if bottom[i] > 0.0 else LOWEST
        best, highest, ties = contend(best, highest, ties, i, value, draw)
    return best


@kernel
def _all_met_control(data):
    for i in range(1, data.periods.share.size):  # noqa: SIM110
        if data.periods.share[i] <= 0.0:
            return False
    return True


@kernel
def _largest_over_control(params, state, data, draw):
    versus, share = data.periods.versus, data.periods.share
    best, top, ties = 0, 0.0, 1  # the control
    for i in range(1, versus.size):
        if share[i] > 0.0:
            best, top, ties = contend(best, top, ties, i, versus[i] / share[i], draw)
    return best


def _rule(name, idea, select, *reads, identified=_always):
    return Selection(name, idea, select, identified, frozenset(reads))


FLOOR = 0.005  # noise variances: arms are never taken to differ by less


@kernel
def _largest_shrunk(params, state, data, draw):
    fit = data.fit
    P, mu, K, nu = fit.P, fit.mu, fit.mu.size, freedom(fit)
    if not connected(fit) or nu <= 0 or fit.rss[0] <= 0.0:
        return _largest_effect(params, state, data, draw)
    noise, mean, total = sigma2(fit), 0.0, 0.0
    for i in range(K):
        mean += mu[i] / K
        total += _row_mean(P, i) / K
    apart = 0.0
    for i in range(K):
        apart += (mu[i] - mean) * (mu[i] - mean) - noise * (P[i, i] - 2.0 * _row_mean(P, i) + total)
    apart = max(apart / (K - 1.0), FLOOR * noise)
    weighted, weights = 0.0, 0.0
    for i in range(K):
        variance = apart + noise * max(P[i, i] - 2.0 * _row_mean(P, i) + total, 0.0)
        weighted += mu[i] / variance
        weights += 1.0 / variance
    mean = weighted / weights
    best, top, ties = -1, 0.0, 0
    for i in range(K):
        variance = apart + noise * max(P[i, i] - 2.0 * _row_mean(P, i) + total, 0.0)
        best, top, ties = contend(best, top, ties, i, (mu[i] - mean) * apart / variance, draw)
    return best


@kernel
def _row_mean(P, i):
    total = 0.0
    for k in range(P.shape[0]):
        total += P[i, k]
    return total / P.shape[0]


MEAN = _rule("mean", "the largest raw mean: wrong under shifts", _largest_mean, "means")
OLS = _rule("ols", "the largest fixed-effects estimate", _largest_effect, "fit", identified=_arms_connected)
SHRUNK = _rule(
    "shrunk",
    "the largest estimate, each drawn to their mean as far as it is uncertain: for noise that differs",
    _largest_shrunk,
    "fit",
    identified=_arms_connected,
)
MOST_PLAYED = _rule("most-played", "the most pulls: what a regret minimiser came to like", _most_pulls)
IPS = _rule("ips", "the largest sum of rewards, each divided by its arm's chance", _largest_sum, "sums")
SURVIVOR = _rule("survivor", "the last arm in the race, or the best mean of those", _survivor, "means")
PERIOD = _rule("period", "the largest mean over periods, weighted by size", _largest_period_mean, "period")
CONTROL = _rule(
    "control",
    "the largest difference to the first arm within environments",
    _largest_over_control,
    "control",
    identified=_all_met_control,
)
