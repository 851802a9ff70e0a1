"""Texts on the analysis of a log: number formats, verdict, the summary that `repr` shows, and sentences.

The answers are on comparisons with a control, on interactions of arms and environments, and on segments.
Numbers are percent for rates and lifts, and plain numbers for other means and differences.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.analysis.interaction_summary import ONE_WINNER_SHARE
from tideproof.analysis.words.decision_text import (
    TO_NAME_BEST,
    Bounds,
    chance_text,
    comparison_text,
    confidence_text,
    control_text,
    decision_text,
    environments_text,
    interval_name,
    lead_text,
    lift_text,
    no_best_text,
    runner_up_text,
    short_lead_text,
    too_few_equal_text,
    too_few_nonzero_text,
    unbounded_lead_text,
    winsorizing_text,
)
from tideproof.stats.pairs.pair_tests import FEWEST_EVENTS, count_events
from tideproof.stats.pairs.unit_pairs import FEWEST_UNITS, UnitPairTests, count_unit_events
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES
from tideproof.text import (
    PERCENT,
    PLAIN,
    POINTS,
    NumberFormat,
    format_count,
    format_probability,
    format_rounded,
    join_labels,
    join_names,
    quote_if_needed,
)

if TYPE_CHECKING:
    from tideproof.analysis.fit_result import Fit
    from tideproof.analysis.interaction_summary import InteractionSummary
    from tideproof.analysis.segments import Segments
    from tideproof.analysis.versus_control import ControlComparison
if TYPE_CHECKING:
    from tideproof.analysis.fit_result import Fit

_ARMS = 6  # largest number of arms in the sentence on a control
_NAMED = 4  # largest number of other arms in the sentence on interactions
_SEGMENTS = 40  # largest number of segments with a line of their own


def mean_format(fit: Fit) -> NumberFormat:
    """Return the number format of means: percent if all rewards are 0 or 1, else plain numbers."""
    return PERCENT if fit.cells.binary else PLAIN


def change_format(fit: Fit) -> NumberFormat:
    """Return the number format of differences of means, for a table column whose header names the unit."""
    return NumberFormat(mean_format(fit).factor)


def contrast_format(fit: Fit) -> NumberFormat:
    """Return the number format of the difference or lift of two arms: percent, percentage points or plain."""
    if fit.lifts:
        return PERCENT
    return POINTS if fit.cells.binary else PLAIN


ADAPTIVE = (
    "intervals of differences between arms account for adaptive assignment; intervals of single means and of "
    "shifts do not"
)


def verdict(fit: Fit) -> str:
    """Return the sentence that names the best arm, its lead, and the confidence level.

    If the arm may not be the best in other environments, a second sentence says so. The probability of being
    best is left out beside other candidates if it reaches the confidence level: tests and posterior
    probabilities then seem to disagree.
    """
    decision = fit.decision
    if decision.doubt == "groups":
        return no_best_text(fit.groups, fit.bridge)
    if decision.doubt == "too few units" and fit.unit_tests is not None:
        return too_few_units_text(fit, fit.unit_tests, can_winsorize(fit))
    if decision.doubt == "too few events":
        return _too_few_text(fit) if fit.unit_tests is None else too_few_unit_events_text(fit)
    sure = confidence_text(fit.confidence, fit.validity)
    count = None if fit.cells.factors is not None else int(fit.cells.compares.sum())
    where, more = environments_text(fit.sure_about, count), fit.environments_to_come
    said = decision_text(decision.best, decision.candidates, decision.doubt, lead(fit), sure, where, more)
    known = decision.doubt in (None, "several candidates", "unequal differences") and not decision.void
    chance = fit.p_best[decision.best] if known else None
    if chance is None or (decision.doubt is not None and chance >= fit.confidence):
        return said
    return f"{said}; {chance_text(chance, fit.prior)}"


def lead(fit: Fit) -> str:
    """Return the lead of the best arm over the runner-up as text: a difference or a lift, with its interval.

    The interval is the one that decides. If an arm is the best in these environments only, so is the interval
    about these. For differences the text contains the lift as well, if all means are above 0.
    """
    best, second = fit.decision.best, fit.decision.runner_up
    found, figures = fit.lead_contrast, contrast_format(fit)
    bounds = (None, None) if fit.exact else (found.low, found.high)
    level = interval_name(fit.confidence)
    rival = runner_up_text(second) if second == fit.ranking[0][1] else quote_if_needed(second)
    if math.isinf(found.estimate):
        because, ends = _unbounded_reason(fit, best, second), figures.format_interval(*bounds, "+")
        return unbounded_lead_text(rival, because, level, ends, in_odds=fit.scale == "odds")
    prefix, lift = SCALE_PROPERTIES[fit.scale].lead_prefix, _lift(fit, found.estimate, bounds)
    return prefix + lead_text(figures, fit.direction, rival, found.estimate, bounds, level, lift)


def _unbounded_reason(fit: Fit, best: Any, second: Any) -> str:
    """Return the reason why the lead of the best arm is infinite; empty if neither arm explains it alone."""
    raw = {row["arm"]: row["raw_mean"] for row in fit.arms}
    if raw[second] == 0.0:
        return f"all rewards of {quote_if_needed(second)} are 0"
    if fit.cells.binary and raw[best] == 1.0:
        return f"all rewards of {quote_if_needed(best)} are 1"
    return ""


def _lift(fit: Fit, gap: float, bounds: Bounds) -> str:
    """Return the lead of the best arm as percent of the runner-up's mean; empty if that has no meaning.

    If the difference is a lift already, the text only says so beside means that are percentages, too. It is
    empty if a mean of a cell is negative, or if a mean of an arm is not above 0 or that of the runner-up may
    be 0.
    """
    means = {row["arm"]: row["mean"] for row in fit.arms}
    name = "lift" if fit.direction == "maximize" else "change"
    if fit.lifts:
        return f"relative {name}" if fit.cells.binary else ""
    if fit.cells.mean.min() < 0.0:
        return ""
    if any(mean is None or mean <= 0.0 for mean in means.values()):
        return ""
    least = next(row["low"] for row in fit.arms if row["arm"] == fit.decision.runner_up)
    if least is None or least <= 0.0:
        return ""
    rival = means[fit.decision.runner_up]
    low, high = (None if x is None else x / rival for x in bounds)
    return lift_text(gap / rival, (low, high), name)


def can_winsorize(fit: Fit) -> bool:
    """Return whether the option `winsorize` is possible and not in use."""
    c = fit.cells
    return not (fit.winsorized or c.binary or c.low is None or c.low.min() < 0.0)


def _too_few_text(fit: Fit) -> str:
    """Return the verdict that too few rewards differ from the others to name a best arm, and what is needed.

    For 0/1 rewards these are the rarer ones of the rewards 0 and 1, for other rewards those above 0.
    """
    events, arms = count_events(fit.cells), fit.cells.arms
    best, *others = (arms.index(arm) for arm in fit.decision.candidates)
    if events.kinds is None:
        other = min((k for k in others if not events.enough(best, k)), key=lambda k: events.worth(best, k))
        both, rarer = events.worth(best, other)
        rare = arms[events.rarer(best, other)]
        return too_few_nonzero_text((arms[best], arms[other]), both, rare, rarer, can_winsorize(fit))
    own = events.kinds
    _, kind, other = min((own[best, kind] + own[k, kind], kind, k) for k in others for kind in (0, 1))
    counts = [(int(own[i, kind]), int(own[i].sum())) for i in (best, other)]
    return too_few_equal_text(1 - kind, (arms[best], arms[other]), counts)


def summary(fit: Fit) -> str:
    """Return the text that Python displays for the result of an analysis: verdict, arms, noise and notes.

    This is `repr(fit)`.
    """
    rewards = format_count(int(fit.cells.n.sum()), "reward")
    where = f"in {format_count(int((fit.cells.sizes > 0.0).sum()), 'environment')}"
    if fit.tide is not None:
        where = f"({fit.tide.said})"
    noise = "unknown (no degrees of freedom)"
    if fit.sigma is not None:
        freedom = f"{format_count(fit.degrees_of_freedom, 'degree')} of freedom"
        noise = f"{format_rounded(fit.sigma)} ({freedom})"
    lines = [fit.verdict, repr(fit.arms), f"{rewards} {where}; standard deviation of the noise: {noise}"]
    if fit.lifts:
        lines.append(f"scale: {fit.scale}")
    if fit.tide is not None:
        lines += fit.tide.sentences()[1:]
    elif fit.variance != "auto":
        lines.append(f"standard errors: {fit.variance}")
    if fit.bins is not None:
        lines.append(fit.bins.sentence)
    if fit.cells.utc:
        lines.append(f"{fit.cells.utc} are in UTC; time_zone= chooses another time zone")
    if fit.cells.dropped:
        lines.append(f"rows skipped because a value was missing: {fit.cells.dropped}")
    if fit.uninformative:
        lines.append(
            f"environments with a single arm, which contribute nothing to comparisons of arms: "
            f"{fit.uninformative}"
        )
    if fit.adaptive and not fit.repeated:
        lines.append(ADAPTIVE)
    lines += fit.notes
    return "\n".join(lines)


def control_sentence(fit: Fit, against: ControlComparison) -> str:
    """Return a sentence on how each arm compares with the control arm, the best arm first."""
    rows = {row["arm"]: row for row in against.table}
    order = [arm for group in fit.ranking for arm in group if arm in rows]
    said = {arm: control_comparison(fit, rows[arm]) for arm in order[:_ARMS]}
    text = control_text(against.control, said, max(0, len(order) - _ARMS))
    if not fit.decision.names_winner or fit.decision.best not in rows or len(rows) < 2:
        return text
    low, high = (rows[fit.decision.best][end] for end in ("low", "high"))
    if low is None or high is None or not low <= 0.0 <= high:
        return text
    return (  # the interval of the lead over the control excludes 0
        f"{text} These intervals hold for all comparisons with the control at once, so they are longer than "
        f"the interval of the lead of the best arm."
    )


def control_comparison(fit: Fit, row: dict[str, Any]) -> str:
    """Return the comparison of an arm with the control arm as text: estimate, interval, lift, conclusion."""
    lift = ""
    if not fit.lifts and row.get("lift") is not None:
        lift = lift_text(row["lift"], (row.get("lift_low"), row.get("lift_high")))
    numbers = row["estimate"], (row["low"], row["high"])
    return comparison_text(contrast_format(fit), row["conclusion"], *numbers, lift)


def interaction_sentences(fit: Fit) -> list[str]:
    """Return sentences on how differences between arms vary by environment, and on which arm leads where."""
    found = fit.interaction
    if found is None:
        return []
    if not found.estimable:
        return [
            "Interactions of arms and environments cannot be separated from noise. To separate them, a "
            "log needs an arm with two rewards in one environment, and two arms in two environments."
        ]
    said = [_size_sentence(fit, found)]
    if found.one_winner is not None:
        said += [_winner_sentence(fit, found), _candidates_sentence(fit, found)]
    return said


def _size_sentence(fit: Fit, found: InteractionSummary) -> str:
    """Return the sentences on omega, the standard deviation of interactions of arms and environments."""
    assert found.omega is not None
    assert found.sigma is not None
    figures = contrast_format(fit)
    bounds = figures.format_interval(found.low, found.high)
    interval = f"{interval_name(fit.confidence)}: {bounds}"
    depend = "differences between arms depend on the environment"
    if found.omega == 0.0:
        return f"There is no sign that {depend}: omega = 0 ({interval})."
    times = found.omega / found.sigma
    said = depend.capitalize() if found.low else f"The data do not show whether {depend}"
    return (
        f"{said}. Interactions (effects of an environment on one arm beyond the common shift) have an "
        f"estimated standard deviation of omega = "
        f"{figures.format_estimate(found.omega, found.low, found.high)} ({interval}). This is {times:.2g} "
        f"times the standard deviation of a reward."
    )


def _winner_sentence(fit: Fit, found: InteractionSummary) -> str:
    """Return a sentence that says in how many environments each of the best arms leads."""
    rows = {row["arm"]: row for row in found.arms}
    best, days = rows.pop(fit.best), found.environments
    name = quote_if_needed(best["arm"])
    lead = (
        f"{name} leads in about {best['environments_led']:.0f} of {format_count(days, 'environment')} "
        f"({interval_name(fit.confidence)}: {best['low']:.0f} to {best['high']:.0f})"
    )
    others = sorted(rows.values(), key=lambda row: -float(row["environments_led"]))[:_NAMED]
    rest = join_names(
        (
            f"{quote_if_needed(row['arm'])} in about {n:.0f}"
            for row in others
            if (n := row["environments_led"]) >= 0.5
        ),
        most=_NAMED,
    )
    share = f"in at least {100 * ONE_WINNER_SHARE:.0f} % of environments"
    said = f"{'One' if found.one_winner else 'No'} arm leads {share}"
    to_come = format_probability(best["p_leads_in_new"])
    new = f"Probability that {name} leads in a new environment: {to_come}."
    return f"{said}: {lead}{', ' + rest if rest else ''}. {new}"


def _candidates_sentence(fit: Fit, found: InteractionSummary) -> str:
    """Return the sentence on which arm is the best in an average environment and in the observed ones."""
    average, these = (_average_text(arms) for arms in (found.average, found.observed))
    if average == these:
        return (
            f"On average over environments like these, future ones included, and over the observed ones "
            f"only, weighted by traffic, {average}."
        )
    return (
        f"On average over environments like these, future ones included, {average}. Over the observed "
        f"environments only, weighted by traffic, {these}."
    )


def _average_text(arms: tuple[object, ...]) -> str:
    """Return the best of the candidates of an average environment, with the other candidates, as text."""
    return decision_text(arms[0], arms, "several candidates" if len(arms) > 1 else None)


def segment_lines(found: Segments) -> list[str]:
    """Return a line on whether segments of the rows differ, and a line on the best arm of each segment."""
    lines = [f"By {found.by}: {found.verdict}."]
    lines += [
        f"{quote_if_needed(row['segment'])}: {_segment_text(row, found.fits[row['segment']])}."
        for row in found.table.to_dicts()[:_SEGMENTS]
    ]
    if unlike := [segment for segment, fit in found.fits.items() if fit.lifts != found.pooled.lifts]:
        own, other = ("differences", "ratios") if found.pooled.lifts else ("ratios", "differences")
        lines.append(
            f"In {join_labels(unlike)}, arms are compared by {own} instead of {other}; the scale was "
            f"selected from the rewards there."
        )
    lines += [
        f"{quote_if_needed(segment)}: not analyzed, because {why}."
        for segment, why in list(found.left_out.items())[:_SEGMENTS]
    ]
    return lines


def _segment_text(row: dict[str, Any], fit: Fit) -> str:
    """Return the best arm of one segment of the rows, such as a country, and its lead as text."""
    decision = fit.decision
    if decision.best is None:
        return no_best_text(fit.groups)
    rival, numbers = quote_if_needed(decision.runner_up), (row["estimate"], (row["low"], row["high"]))
    said = short_lead_text(contrast_format(fit), fit.direction, rival, *numbers)
    where = environments_text(fit.sure_about, int(fit.cells.compares.sum()))
    return decision_text(decision.best, decision.candidates, decision.doubt, said, where=where)


def unit_notes(fit: Fit) -> list[str]:
    """Return the note on what counts as a unit, and by how much dependent rewards increase the variance."""
    tests, units = fit.unit_tests, fit.cells.units
    if tests is None or units is None or fit.decision.standing == "not_comparable":
        return []
    i, k = (fit.cells.arms.index(arm) for arm in (fit.decision.best, fit.decision.runner_up))
    effect = f"{float(tests.design_effect[i, k]):.2g} times that of independent rewards"
    both = f"{quote_if_needed(fit.decision.best)} and {quote_if_needed(fit.decision.runner_up)}"
    count = int(np.unique(units.unit).size)
    if not units.rows:
        return [
            f"Rewards of the same unit may depend on each other ({format_count(count, 'unit')}): the "
            f"variance of the difference between {both} is {effect}, which its interval allows for."
        ]
    return [
        f"Several aggregated rows have the same arm and environment, so each of the "
        f"{format_count(count, 'row')} counts as a unit: the variance of the difference between {both} is "
        f"{effect}, which its interval allows for. If rows are parts that all arms share, such as "
        f"countries or hours, and there are many, name their column by unit= (--unit)."
    ]


def too_few_units_text(fit: Fit, tests: UnitPairTests, can_winsorize: bool) -> str:
    """Return the verdict that too few units were observed to name a best arm, and what is needed.

    `can_winsorize` says whether the option `winsorize` is possible and not in use.
    """
    too_few, arms = f"too few units {TO_NAME_BEST}", [quote_if_needed(arm) for arm in fit.cells.arms]
    best, *others = (fit.cells.arms.index(arm) for arm in fit.decision.candidates)
    other = next(k for k in others if not tests.enough_units(best, k))
    rare = min(best, other, key=lambda arm: float(tests.units[arm]))
    if tests.units[rare] < FEWEST_UNITS:
        return (
            f"{too_few}: the effective number of units of {arms[rare]} is {tests.units[rare]:.2g}, because "
            f"there are few or one has most of the rewards; at least {FEWEST_UNITS:g} are needed"
        )
    return (
        f"{too_few}: a few units with large total rewards decide the difference between {arms[best]} and "
        f"{arms[other]}; collect rewards of more units{winsorizing_text(can_winsorize)}"
    )


def too_few_unit_events_text(fit: Fit) -> str:
    """Return the verdict that too few units had events, such as purchases, to name a best arm."""
    events, arms = count_unit_events(fit.cells), [quote_if_needed(arm) for arm in fit.cells.arms]
    best, *others = (fit.cells.arms.index(arm) for arm in fit.decision.candidates)
    other = next(k for k in others if not events.enough(best, k))
    if events.kinds is not None:
        both, kind = min(
            (float(events.kinds[best, kind] + events.kinds[other, kind]), kind) for kind in (0, 1)
        )
        what = f"rewards equal to {1 - kind}"
    else:
        both, what = events.worth(best, other)[0], "nonzero rewards"
    needed = f"at least {FEWEST_EVENTS} are needed"
    if both >= FEWEST_EVENTS:
        needed = f"the expected share of {arms[events.rarer(best, other)]} is too small; it needs more units"
    return (
        f"too few {what} {TO_NAME_BEST}: several rewards of one unit count less, so the effective number of "
        f"{arms[best]} and {arms[other]} together is {both:.2g}; {needed}"
    )
