"""Comparisons of arms, and the decision on which arm is the best according to the data.

Two arms are compared, and each arm with the best of the group that shared environments connect; arms of
different groups are never compared. The decision is made once for verdicts, reports, JSON and exit codes. The
arm that a live experiment selects is chosen by its policy, in `policies.final_selection_rules`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.analysis.scales.scale_protocol import ScaleFit
from tideproof.checks import Prior
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.anytime_bounds import AnytimeBounds
from tideproof.stats.best.multiple_comparisons import (
    ArmGroup,
    Comparisons,
    ReversedPairs,
    allowance,
    beaten_by_leader,
    compare_with_best,
    critical_deviate,
    lead_critical_values,
    lead_p_values,
    may_be_best,
    p_value,
)
from tideproof.stats.best.p_best import p_best
from tideproof.stats.looks.look_bounds import LookBounds
from tideproof.stats.scales.scale_properties import ScaleName
from tideproof.stats.variance.variance_models import Estimate
from tideproof.table import to_json_values

About = Literal["similar", "these"]
RepeatedBounds = AnytimeBounds | LookBounds  # bounds that hold at several looks together
Standing = Literal["winner", "winner_on_these", "open", "not_comparable"]
Doubt = Literal[
    "no degrees of freedom",
    "exact",
    "too few events",
    "too few units",
    "several candidates",
    "other environments",
    "unequal differences",
    "moving shift",
    "wrong shares",
    "single row",
    "groups",
]
# doubts because the tests of arms do not hold, or cannot be computed
UNTESTED = ("no degrees of freedom", "exact", "too few events", "too few units")
# doubts because the data contradict an assumption, although the tests of arms name a winner
_ALARMS = ("unequal differences", "moving shift", "wrong shares", "single row")


@dataclass(frozen=True, slots=True)
class Contrast:
    """Estimated difference or lift of arm `a` over arm `b`, with a confidence interval.

    Attributes
    ----------
    a, b : the two arms.
    estimate : on the scale "difference", mean of `a` minus mean of `b`, in units of the reward. On "ratio",
        "odds" and "log", the lift: 0.12 if the mean (the odds) of `a` is 12 % higher.
    se : standard error of the difference, or of the logarithm of the ratio.
    low, high : lower and upper bound of the estimate, at the confidence level of the fit. The interval is not
        symmetric where rewards are rare or skewed. Where the data do not identify the scale, the interval
        covers the intervals of all scales that fit the data.
    p : two-sided p-value of the hypothesis of no difference. Where several scales fit the data, the largest
        of their p-values.
    degrees_of_freedom : of all rewards. With 0, all attributes above except `estimate` are None.
    adaptive : whether an adaptive policy chose the pulls. The interval and `p` then allow for it.
    scale : "difference", "ratio", "odds" or "log".
    exact : whether the interval and `p` come from the exact distribution, conditional on the totals of the
        environments (for two arms with few events, on the scale of odds; the mid-p version is used). True
        only if the pulls did not depend on rewards.
    """

    a: Any
    b: Any
    estimate: float
    se: float | None
    low: float | None
    high: float | None
    p: float | None
    degrees_of_freedom: float
    adaptive: bool
    scale: ScaleName = "difference"
    exact: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison of two arms as a dictionary of plain values, for JSON."""
        found: dict[str, Any] = to_json_values(self)
        return found


class CriticalValues(NamedTuple):
    """Critical z-scores of the two bounds of an interval of two arms, and the p-value of no difference."""

    low: float
    high: float
    p: float


def compare_arms(
    names: tuple[Any, Any],
    on: ScaleFit,
    found: Estimate,
    indices: tuple[int, int],
    critical: CriticalValues,
    adaptive: bool,
) -> Contrast:
    """Return the estimated difference or lift of one arm over another, with a confidence interval.

    Unknown numbers become None. `found` holds the tests on the scale `on`.
    """
    (i, k), pairs = indices, found.pairs
    bounds = pairs.lower(i, k, critical.low), pairs.upper(i, k, critical.high)
    return _to_contrast(names, on, found, indices, bounds, critical.p, adaptive)


def compare_leader(
    leader: tuple[Any, int],
    others: Sequence[tuple[Any, int]],
    on: ScaleFit,
    found: Estimate,
    critical: Sequence[CriticalValues] | None,
    adaptive: bool,
) -> list[Contrast]:
    """Compare the leading arm with each of many other arms, computing all comparisons at once.

    Arms are given as pairs of their name and index. Without critical values, there are no intervals.
    """
    name, i = leader
    own, rest = np.full(len(others), i), np.array([k for _, k in others], np.int64)
    p = np.full(len(others), np.nan)
    lows, highs = p, p
    if critical is not None:
        low, high, p = np.array(critical).reshape(-1, 3).T
        lows, highs = -found.pairs.uppers(rest, own, low), found.pairs.uppers(own, rest, high)
    rows = zip(others, lows.tolist(), highs.tolist(), p.tolist(), strict=True)
    return [
        _to_contrast((name, arm), on, found, (i, k), (least, most), chance, adaptive)
        for (arm, k), least, most, chance in rows
    ]


def _to_contrast(
    names: tuple[Any, Any],
    on: ScaleFit,
    found: Estimate,
    indices: tuple[int, int],
    bounds: tuple[float, float],
    p: float,
    adaptive: bool,
) -> Contrast:
    """Return the comparison of two arms as numbers for users, from confidence bounds of their difference."""
    se, nu = found.error_of(*indices)
    estimate, low, high = on.shown(np.array([found.pairs.gap(*indices), *bounds])).tolist()
    return Contrast(
        *names,
        estimate=estimate,
        se=finite_or_none(se),
        low=finite_or_none(low),
        high=finite_or_none(high),
        p=finite_or_none(p),
        degrees_of_freedom=int(nu) if nu.is_integer() else nu,
        adaptive=adaptive,
        scale=on.name,
        exact=on.exact and found.pairs is on.found.pairs and not adaptive,
    )


def planned_critical_values(
    found: Estimate, indices: tuple[int, int], confidence: float, *, adaptive: bool, picked: bool
) -> CriticalValues:
    """Return critical values for two arms that were chosen in advance, or (`picked`) for the best two."""
    arms, deviate = found.mu.size, found.pairs.deviate(*indices)
    z = critical_deviate(confidence, arms, adaptive=adaptive, picked=picked)
    return CriticalValues(z, z, p_value(deviate, arms, adaptive=adaptive, picked=picked))


def deciding_critical_values(
    found: Estimate,
    groups: Sequence[Ints],
    sign: float,
    leader: int,
    others: Sequence[int],
    confidence: float,
    always: RepeatedBounds | None = None,
    *,
    adaptive: bool = False,
) -> list[CriticalValues]:
    """Return the critical values with which the decision compares the leader and each of several other arms.

    Their interval excludes 0 if and only if the decision excludes the other arm by this comparison. All are
    NaN if the noise is unknown.
    """
    group = next(group for group in groups if leader in group)
    field = _comparison_field(found, group, sign, confidence, always, adaptive)
    if not field.known:
        return [CriticalValues(math.nan, math.nan, math.nan)] * len(others)
    i, rest = int(np.searchsorted(group, leader)), np.searchsorted(group, others)
    deviates = field.pairs.deviates(np.full(len(others), leader), np.array(others))
    if always is None:
        p = lead_p_values(field, i, rest, deviates)
    else:
        both = found.of_group(group)
        each = zip(rest.tolist(), deviates.tolist(), strict=True)
        bounds_of = always.of_group(group)
        p = np.array([bounds_of.p_value_with_best(*both, i, k, z) / field.error_share for k, z in each])
    low, high = lead_critical_values(field, i, rest)
    bounds = (low, high) if sign > 0.0 else (high, low)
    rows = np.array([*bounds, np.minimum(p, 1.0)]).T.tolist()
    return [CriticalValues(*row) for row in rows]


def finite_or_none(x: float) -> float | None:
    """Return a number, or None if it is NaN or infinite."""
    return x if math.isfinite(x) else None


def best_probabilities(
    found: Estimate, groups: Sequence[Ints], sign: float, prior: Prior
) -> tuple[Floats, float]:
    """Return each arm's probability of being the best, and the largest standard error of these probabilities.

    An arm competes only with the arms of its group, to which shared environments connect it.

    The probability is NaN for an arm that is alone in its group, where the noise is unknown, without degrees
    of freedom (0/1 rewards can lack them, as their means determine their variance), and where `p_best` gives
    none because no arm is clearly the best. A low reward is good if `sign` is -1.
    """
    chance, error = np.full(found.mu.size, np.nan), math.nan
    noise_known = not np.isnan(found.covariance).any()
    for group in groups:
        freedom = float(_fewest_degrees_of_freedom(found, group).min())
        if group.size > 1 and noise_known and freedom > 0.0:
            C = (found.covariance if found.posterior is None else found.posterior)[np.ix_(group, group)]
            chance[group], worst = p_best(prior, sign * found.mu[group], C, freedom)
            error = float(np.fmax(error, worst))
    return chance, error


def compare_with_group_best(
    found: Estimate,
    groups: Sequence[Ints],
    sign: float,
    confidence: float,
    may: NDArray[np.bool_] | None = None,
    always: RepeatedBounds | None = None,
    *,
    adaptive: bool = False,
) -> Comparisons:
    """Compare each arm with the best other arm of its group of comparable arms.

    Shared environments connect the arms of a group. An arm that is alone in its group gets NaN and counts as
    a candidate. `may` is the result of `find_candidates`, if the caller has it already. `adaptive` means that
    a policy chose pulls by rewards.
    """
    estimate, low, high = (np.full(found.mu.size, np.nan) for _ in range(3))
    candidate = np.ones(found.mu.size, bool)
    for group in groups:
        if group.size > 1:
            known = None if may is None else may[group]
            field = _comparison_field(found, group, sign, confidence, always, adaptive)
            own = compare_with_best(field, known)
            estimate[group], candidate[group] = sign * own.estimate, own.candidate
            low[group], high[group] = (own.low, own.high) if sign > 0.0 else (-own.high, -own.low)
    return Comparisons(estimate, low, high, candidate)


def find_candidates(
    found: Estimate,
    groups: Sequence[Ints],
    sign: float,
    confidence: float,
    always: RepeatedBounds | None = None,
    *,
    adaptive: bool = False,
) -> NDArray[np.bool_]:
    """Return for each arm whether the data allow it to be the best of all arms comparable with it.

    `adaptive` means that a policy chose pulls by rewards.
    """
    may = np.ones(found.mu.size, bool)
    for group in groups:
        if group.size > 1:
            may[group] = may_be_best(_comparison_field(found, group, sign, confidence, always, adaptive))
    return may


def find_beaten(
    found: Estimate,
    groups: Sequence[Ints],
    sign: float,
    confidence: float,
    always: RepeatedBounds | None = None,
    *,
    adaptive: bool = False,
) -> NDArray[np.bool_]:
    """Return for each arm whether the interval of the leader's lead over it excludes 0.

    The leader is the best arm of its group of comparable arms.
    """
    beaten = np.zeros(found.mu.size, bool)
    for group in groups:
        if group.size > 1:
            beaten[group] = beaten_by_leader(
                _comparison_field(found, group, sign, confidence, always, adaptive)
            )
    return beaten


def anytime_critical_values(
    found: Estimate,
    groups: Sequence[Ints],
    pair: tuple[int, int],
    always: RepeatedBounds | None,
    confidence: float,
    alone: float | None,
) -> CriticalValues | None:
    """Return critical values and p-value for comparing two arms at several times while data grow.

    Without `alone`, the critical values hold for all pairs of the group at once at the level `confidence`;
    with `alone`, they hold for this pair only, at that confidence level. Return None without `always` (for a
    log that is analyzed only once), or if the noise is unknown.
    """
    if always is None or np.isnan(found.covariance).any() or not found.freedom[pair]:
        return None
    group = next(group for group in groups if pair[0] in group)
    i, k = np.searchsorted(group, pair).tolist()
    both = found.covariance[np.ix_(group, group)], found.freedom[np.ix_(group, group)]
    of = always.of_group(group)
    bars = of.all_pairs(*both, 1.0 - confidence) if alone is None else of.alone(*both, 1.0 - alone)
    bar = float(bars[i, k])
    return CriticalValues(bar, bar, of.p_value(*both, i, k, found.pairs.deviate(*pair)))


def _comparison_field(
    found: Estimate,
    group: Ints,
    sign: float,
    confidence: float,
    always: RepeatedBounds | None,
    adaptive: bool,
) -> ArmGroup:
    """Return the estimated means and covariances for comparisons of each arm with the best other arm."""
    pairs = found.pairs if sign > 0.0 else ReversedPairs(found.pairs)
    C = found.covariance[np.ix_(group, group)]
    field = ArmGroup(
        pairs, group, sign * found.mu[group], C, _fewest_degrees_of_freedom(found, group), confidence,
        allowance=allowance(found.mu.size) if adaptive else 0.0,
    )  # fmt: skip
    if always is None or not field.known:
        return field
    bars = always.of_group(group).with_best(C, found.freedom[np.ix_(group, group)], 1.0 - field.one_sided)
    return replace(field, always=bars)


def _fewest_degrees_of_freedom(found: Estimate, group: Ints) -> Floats:
    """Return for each arm of `group` the fewest degrees of freedom of its comparisons with other arms."""
    freedom = found.freedom[np.ix_(group, group)]
    np.fill_diagonal(freedom, np.inf)
    return np.asarray(freedom.min(axis=1))


@dataclass(frozen=True, slots=True)
class Decision:
    """Conclusion of an analysis: the best arm, or the reason why no arm can be named the best.

    Attributes
    ----------
    best, runner_up : the leader, and the best other arm that the data do not exclude as the best. If they
        exclude all others: the second best. Both are None if arms cannot be compared.
    candidates : the arms that the data do not exclude as the best, ordered by adjusted mean, the best first.
        All arms if an alarm voids the tests of arms. Empty if arms cannot be compared.
    doubt : the reason why no winner can be named, or None if one can. "no degrees of freedom": none are
        left to estimate the noise. "exact": arms and environments explain all rewards, so that the noise
        cannot be estimated. "too few events", "too few units": confidence intervals are not reliable, because
        few rewards are above 0, or few units have most of the rewards. "several candidates": the data do not
        separate the best arms. "other environments": one arm is the best on the observed environments, but
        several can be on average over environments like these. "unequal differences": the tests of arms name
        a winner, but differences between arms vary from environment to environment. "moving shift": the
        shift changes within environments. "wrong shares": arms did not receive their intended shares of the
        traffic. "single row": without one row of the log another arm would lead. "groups": no chain of shared
        environments connects all arms.
    about : whether a winner would be the best on environments like these ("similar"), future ones included,
        or on the observed environments only ("these").
    """

    best: Any
    runner_up: Any
    candidates: tuple[Any, ...]
    doubt: Doubt | None
    about: About = "similar"

    @property
    def void(self) -> bool:
        """Whether the data contradict an assumption without which the tests of arms are not valid.

        Tests about environments like these allow for differences between arms that vary.
        """
        return self.doubt in _ALARMS and (self.doubt != "unequal differences" or self.about == "these")

    def with_alarm(self, doubt: Doubt, arms: Sequence[Any]) -> Decision:
        """Return the decision without a winner because of an alarm; `arms` are all arms, best first."""
        alarmed = replace(self, doubt=doubt)
        return replace(alarmed, candidates=tuple(arms)) if alarmed.void else alarmed

    @property
    def names_winner(self) -> bool:
        """Whether one arm is the best, on environments like these or on the observed ones."""
        return self.standing in ("winner", "winner_on_these")

    @property
    def standing(self) -> Standing:
        """Status of the decision, for exit codes and colours.

        "winner": one arm is the best on environments like these. "winner_on_these": one is the best on the
        observed environments. "open": several arms may be the best. "not_comparable".
        """
        if self.doubt is None:
            return "winner" if self.about == "similar" else "winner_on_these"
        if self.doubt == "other environments":
            return "winner_on_these"
        return "not_comparable" if self.doubt == "groups" else "open"


NOT_COMPARABLE = Decision(None, None, (), "groups")


def decide(
    ranked: Sequence[Any], candidates: Sequence[Any], degrees_of_freedom: int, exact: bool, few: bool = False
) -> Decision:
    """Decide which of several comparable arms is the best; `ranked` lists them by adjusted mean, best first.

    >>> decide("BAC", "B", degrees_of_freedom=9, exact=False).standing
    'winner'
    >>> decide("BAC", "BA", degrees_of_freedom=9, exact=False).doubt
    'several candidates'
    """
    best, runner_up = ranked[0], next((arm for arm in candidates if arm != ranked[0]), ranked[1])
    doubt: Doubt | None = None
    if not degrees_of_freedom:
        doubt = "no degrees of freedom"
    elif exact:
        doubt = "exact"
    elif any(arm != best for arm in candidates):
        doubt = "too few events" if few else "several candidates"
    return Decision(best, runner_up, tuple(candidates), doubt)
