"""From what a policy knows to a recommendation: the margin, its interval, and the probability when asked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tideproof.checks import Direction
from tideproof.estimate.contrast import known
from tideproof.live.recommendation import Recommendation
from tideproof.stats.cells import members
from tideproof.stats.inference import normal_quantile
from tideproof.stats.prior import Prior, checked_prior, p_best
from tideproof.stats.solve import Solution, component_of
from tideproof.stats.spreads import is_exact
from tideproof.stats.wald import Wald
from tideproof.stats.wrong_scale import Scale

LEVEL = 0.95


def judge(
    arms: Sequence[str],
    chosen: int | None,
    found: Solution,
    largest: float,
    sign: float,
    adaptive: bool,
    scale: Scale = "difference",
    *,
    interval: bool = True,
    prior: Prior = "exchangeable",
) -> Recommendation:
    """Return what to select, given the policy's choice and least squares of rewards as they are.

    `largest` is the size of these rewards. On the scale of ratios or odds, estimates are their logarithms,
    and an advantage is a share: 0.1 for 10 %. The first interval of a process loads scipy, half a second:
    who does not show it does without.
    """
    groups = tuple(tuple(arms[i] for i in group) for _, group in members(component_of(found.group)))
    checked_prior(prior)
    direction: Direction = "maximize" if sign > 0.0 else "minimize"
    nothing = Recommendation(
        None,
        None,
        None,
        None,
        None,
        found.told,
        groups,
        adaptive,
        direction=direction,
        scale=scale,
        prior=prior,
    )
    if chosen is None or len(groups) > 1:
        return nothing
    gaps = sign * (found.mu[chosen] - found.mu)
    gaps[chosen] = math.inf
    rival = int(np.argmin(gaps))
    sigma2 = found.rss / found.freedom if found.freedom > 0 else math.nan
    P, margin = found.P, float(gaps[rival])
    sigma = math.sqrt(sigma2)
    exact = is_exact(sigma, largest)
    remarks = ("rewards do not vary at all: no probability can be given",) if exact else ()

    def chance() -> float | None:
        if exact or math.isnan(sigma):
            return None
        found_chances, _ = p_best(prior, sign * found.mu, sigma2 * P, float(found.freedom))
        return float(found_chances[chosen])

    def shown(gap: float | None) -> float | None:
        return gap if gap is None or scale == "difference" else sign * math.expm1(sign * gap)

    low = high = None
    if interval and not exact:
        freedom = float(max(found.freedom, 0))
        pairs = Wald(sign * found.mu, sigma2 * P, np.full(P.shape, freedom))
        z = normal_quantile(0.5 + 0.5 * LEVEL)
        low, high = (shown(known(limit(chosen, rival, z))) for limit in (pairs.lower, pairs.upper))
    return Recommendation(
        arm=arms[chosen],
        runner_up=arms[rival],
        margin=shown(margin),
        low=low,
        high=high,
        told=found.told,
        groups=groups,
        adaptive=adaptive,
        remarks=remarks,
        chance=chance,
        direction=direction,
        scale=scale,
        prior=prior,
    )
