"""Selection rules: which arm in the end. A policy lists the ones it can serve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tideproof.kernels._link import kernel
from tideproof.kernels.choose import argmax
from tideproof.kernels.fixed_effects import connected, together
from tideproof.kernels.random import below


@dataclass(frozen=True, eq=False)
class Selection:
    """A rule, its kernel and the statistics it reads.

    Attributes
    ----------
    name : as in `round-robin+ols`.
    idea : one line for people.
    select : kernel (params, state, data, draw) -> arm.
    identified : kernel (data) -> whether the selection compares what can be compared.
    reads : "moments", "fit" or both.
    """

    name: str
    idea: str
    select: Callable[..., Any]
    identified: Callable[..., Any]
    reads: frozenset[str]


@kernel
def _always(data):
    return True


@kernel
def _largest_mean(params, state, data, draw):
    told, mean = data.moments.told, data.moments.mean
    best, ties = -1, 1
    for i in range(mean.size):
        if told[i] > 0.0:
            if best < 0 or mean[i] > mean[best]:
                best, ties = i, 1
            elif mean[i] == mean[best]:
                ties += 1
                if below(draw, i, ties) == 0:
                    best = i
    return max(best, 0)


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


MEAN = Selection(
    "mean", "the largest raw mean: wrong under shifts", _largest_mean, _always, frozenset({"moments"})
)
OLS = Selection(
    "ols", "the largest fixed-effects estimate", _largest_effect, _arms_connected, frozenset({"fit"})
)
