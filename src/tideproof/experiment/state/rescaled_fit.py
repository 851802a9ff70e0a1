"""What a policy goes by where arms are compared by ratios or odds, not by differences.

Its kernels know one fit: estimates, a matrix P counted in pulls, and the variance of the noise of a pull.
Here the three come from the likelihood on that scale, given the totals of the environments: theta, the
inverse of its information in units of what an average pull tells, and the inverse of that. So a pull where
there were many events counts more than one where hardly any were, and an arm with few events is uncertain.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.errors import InputError
from tideproof.kernels.fit.fixed_effects import freedom
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import NOISE_MODELS
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.odds_pairs import OddsPairScale
from tideproof.stats.pairs.ratio_pairs import RatioPairScale
from tideproof.stats.scales.scale_test import Scale
from tideproof.text import join_names

Rewards = Literal["normal", "conversions", "counts", "money"]


class RescaledFit(NamedTuple):
    """A fit on another scale.

    Attributes
    ----------
    theta : (K,) logarithms of the arms' rates or odds, up to a constant.
    P : (K, K) inverse of the information on theta, times what an average pull tells.
    noise : the inverse of what it tells: the variance of theta_i - theta_k is `noise` times that of P.
    """

    theta: Floats
    P: Floats
    noise: float

    def write(self, fit: Any, sign: float) -> None:
        """Let kernels read it."""
        fit.P[:], fit.mu[:] = self.P, sign * self.theta
        fit.rss[0] = self.noise * freedom(fit)


def scaled(scale: Scale, n: Floats, mean: Floats, squares: Floats) -> RescaledFit | None:
    """Return the fit of told rewards, (J, K) arrays of their cells; None while they say nothing on the scale.

    Half an event more of every arm keeps the estimates finite, as it does in `Fit`.
    """
    environment, arm = np.nonzero(n)
    at = environment, arm
    cells = Cells(
        list(range(n.shape[1])), list(range(len(n))), arm, environment, n[at], mean[at], squares[at]
    )
    if not cells.counts.all():
        return None
    try:
        found = OddsPairScale(cells) if scale == "odds" else RatioPairScale(cells)
    except InputError:  # no event, or of odds nothing else
        return None
    P, variance = found.P, found.fitted  # of a reward, as the likelihood has it
    if isinstance(found, OddsPairScale):
        P = np.asarray(np.linalg.inv(found.information), np.float64)
        variance = found.fitted * (1.0 - found.fitted)
    spread = float(np.sum(cells.squares + cells.n * np.square(cells.mean - found.fitted)))
    average = float(np.sum(cells.n * variance) / np.sum(cells.n))
    dispersion = spread / (average * float(np.sum(cells.n)))
    return RescaledFit(found.theta, P * average, dispersion / average) if dispersion > 0.0 else None


def checked_rewards(rewards: Any) -> Rewards:
    """Return what kind rewards are of, or say what is allowed."""
    if not isinstance(rewards, str) or rewards not in get_args(Rewards):
        raise InputError(f"rewards must be {join_names(map(repr, get_args(Rewards)), 'or')}, not {rewards!r}")
    return cast(Rewards, rewards)


def checked_scale(scale: Any, rewards: Rewards, spec: PolicySpec) -> Scale:
    """Return on what scale the policy compares arms; `auto` takes that of the rewards, if the policy can."""
    able = spec.reads == {"fit"} and spec.policy.merges is not None
    if scale == "auto":
        return "ratio" if rewards != "normal" and able else "difference"
    if not isinstance(scale, str) or scale not in get_args(Scale):
        allowed = join_names(map(repr, ("auto", *get_args(Scale))), "or")
        raise InputError(f"scale must be {allowed}, not {scale!r}")
    needed = {"ratio": ("conversions", "counts", "money"), "odds": ("conversions",)}.get(scale, (rewards,))
    if rewards not in needed:
        raise InputError(
            f"scale={scale!r} is for rewards={join_names(map(repr, needed), 'or')}, not {rewards!r}"
        )
    if scale != "difference" and spec.policy.tide in NOISE_MODELS:
        raise InputError(f"scale={scale!r} does not go with {spec.label}, which compares arms by differences")
    if scale != "difference" and not able:
        raise InputError(
            f"scale={scale!r} is for policies that decide by the fit alone, such as 'contrast'; "
            f"{spec.label} does not"
        )
    return cast(Scale, scale)
