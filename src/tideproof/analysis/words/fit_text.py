"""Texts on the analysis of a log: number formats, verdict, the summary that `repr` shows, and sentences.

The answers are on comparisons with a control, on interactions of arms and environments, and on segments.
Numbers are percent for rates and lifts, and plain numbers for other means and differences.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tideproof.analysis.interaction_summary import ONE_WINNER_SHARE
from tideproof.analysis.words.unit_text import too_few_unit_events_text, too_few_units_text
from tideproof.checks import Direction
from tideproof.stats.best.p_best import PRIOR_NAMES
from tideproof.stats.pairs.pair_tests import FEWEST_EVENTS, FEWEST_RARER_EVENTS, count_events
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES
from tideproof.text import (
    PERCENT,
    PLAIN,
    POINTS,
    NumberFormat,
    format_count,
    format_probability,
    format_rounded,
    join_groups,
    join_names,
    quote_if_needed,
)

if TYPE_CHECKING:
    from tideproof.analysis.fit_result import Fit
    from tideproof.analysis.interaction_summary import InteractionSummary
    from tideproof.analysis.segments import Segments
    from tideproof.analysis.versus_control import ControlComparison

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
    """Return one sentence that names the best arm, its lead, and the confidence level."""
    decision = fit.decision
    if decision.doubt == "groups":
        return f"no best arm: {groups_text(fit)}"
    best = quote_if_needed(decision.best)
    leads = f"{best} leads: {lead(fit)}"
    if decision.doubt == "no degrees of freedom":
        return f"{leads}; no degrees of freedom are left to estimate the noise, so the confidence is unknown"
    if decision.doubt == "exact":
        return (
            f"{leads}; the fit is exact (arms and environments explain all rewards), so the noise and the "
            f"confidence are unknown"
        )
    if decision.doubt == "too few units" and fit.unit_tests is not None:
        return too_few_units_text(fit, fit.unit_tests)
    if decision.doubt == "too few events":
        return _too_few_text(fit) if fit.unit_tests is None else too_few_unit_events_text(fit)
    sure = f"{100 * fit.confidence:g} % confidence{anytime_suffix(fit.anytime)}"
    chance = fit.p_best[decision.best]
    p_best = (
        ""
        if chance is None
        else f"; best with probability {format_probability(chance)} ({PRIOR_NAMES[fit.prior]})"
    )
    if decision.doubt is None:
        return f"{best} is best ({sure}): {lead(fit)}{p_best}"
    others = [quote_if_needed(arm) for arm in decision.candidates if arm != decision.best]
    return f"{leads}, but {join_names(others)} cannot be excluded ({sure}){p_best}"


def lead(fit: Fit) -> str:
    """Return the lead of the best arm over the runner-up as text: a difference or a lift, with its interval.

    The interval is two-sided and allows for the selection of the two arms (with `anytime`: for all pairs).
    For differences the text contains the lift as well, if all means are above 0.
    """
    best, second = fit.decision.best, fit.decision.runner_up
    found, figures = fit.contrast(best, second, picked=True), contrast_format(fit)
    low, high = (None, None) if fit.exact else (found.low, found.high)
    level = f"{100 * fit.confidence:g} % confidence interval"
    rival = f"{quote_if_needed(second)}, the runner-up"
    if math.isinf(found.estimate):
        kind = " in odds" if fit.scale == "odds" else ""
        said = f"unbounded lead{kind} over {rival}{_unbounded_reason(fit, best, second)}"
        interval = figures.format_interval(low, high, "+")
        return f"{said} ({level}: {interval})" if interval else said
    prefix, lift = SCALE_PROPERTIES[fit.scale].lead_prefix, _lift(fit, found.estimate, low, high)
    return prefix + lead_text(figures, fit.direction, rival, found.estimate, low, high, level, lift)


def lead_text(
    figures: NumberFormat,
    direction: Direction,
    rival: str,
    difference: float,
    low: float | None,
    high: float | None,
    interval_name: str,
    lift: str = "",
) -> str:
    """Return the lead of an arm over `rival` as text, with the confidence interval of their difference.

    The difference is that of the mean rewards, or a lift. If low rewards are better, the difference of the
    better arm is negative, and so are the bounds of its interval: the text is then "1.8 below B (95 %
    confidence interval: -3.1 to -0.6)". Without an `interval_name`, the interval only determines the number
    of decimals. `lift` is a further text for the parentheses.

    >>> lead_text(PLAIN, "maximize", "C", 1.06, 0.78, 1.35, "95 % confidence interval", "lift +9 %")
    '+1.06 over C (95 % confidence interval: +0.78 to +1.35; lift +9 %)'
    >>> lead_text(PLAIN, "minimize", "B", -1.8, -3.1, -0.6, "95 % confidence interval")
    '1.8 below B (95 % confidence interval: -3.1 to -0.6)'
    >>> lead_text(PLAIN, "minimize", "B", -1.8, None, None, "95 % confidence interval")
    '1.8 below B'
    """
    if direction == "maximize":
        said = f"{figures.format_lead(difference, low, high, '+')} over {rival}"
    else:
        said = f"{figures.format_lead(-difference, low, high)} below {rival}"
    interval = figures.format_interval(low, high, "+") if interval_name else ""
    beside = "; ".join(filter(None, [f"{interval_name}: {interval}" if interval else "", lift]))
    return f"{said} ({beside})" if beside else said


def _unbounded_reason(fit: Fit, best: Any, second: Any) -> str:
    """Return the reason why the lead of the best arm is infinite, as the end of a sentence.

    It is empty if neither arm explains it alone.
    """
    raw = {row["arm"]: row["raw_mean"] for row in fit.arms}
    if raw[second] == 0.0:
        return f", because all rewards of {quote_if_needed(second)} are 0"
    if fit.cells.binary and raw[best] == 1.0:
        return f", because all rewards of {quote_if_needed(best)} are 1"
    return ""


def _lift(fit: Fit, gap: float, low: float | None, high: float | None) -> str:
    """Return the lead of the best arm as percent of the runner-up's mean; empty if that has no meaning.

    The text is empty if the difference is a lift already, if a mean of a cell is negative, or if a mean of an
    arm is not above 0.
    """
    means = {row["arm"]: row["mean"] for row in fit.arms}
    if fit.lifts or fit.cells.mean.min() < 0.0:
        return ""
    if any(mean is None or mean <= 0.0 for mean in means.values()):
        return ""
    rival = means[fit.decision.runner_up]
    low, high = (None if x is None else x / rival for x in (low, high))
    change = "lift" if fit.direction == "maximize" else "change"
    return f"{change} {PERCENT.format_estimate(gap / rival, low, high, '+')}"


def _too_few_text(fit: Fit) -> str:
    """Return the verdict that too few rewards differ from the others to name a best arm, and what is needed.

    For 0/1 rewards these are the rarer ones of the rewards 0 and 1, for other rewards those above 0.
    """
    events, arms = count_events(fit.cells), [quote_if_needed(arm) for arm in fit.cells.arms]
    best, *others = (fit.cells.arms.index(arm) for arm in fit.decision.candidates)
    if events.kinds is None:
        too_few = "too few nonzero rewards to name a best arm"
        other = min((k for k in others if not events.enough(best, k)), key=lambda k: events.worth(best, k))
        both, rarer, rare = *events.worth(best, other), arms[events.rarer(best, other)]
        if both < FEWEST_EVENTS:
            return (
                f"{too_few}: the effective number of nonzero rewards of {arms[best]} and {arms[other]} "
                f"together is {both:.2g}, because few are above 0 or a few large ones dominate; at least "
                f"{FEWEST_EVENTS} are needed; collect more rewards, or try winsorize=0.999 (--winsorize "
                f"99.9%)"
            )
        return (
            f"{too_few}: {rare} has too little traffic: if {arms[best]} and {arms[other]} were equally good, "
            f"its expected share of their effective number of nonzero rewards ({both:.2g}) would be "
            f"{rarer:.2g}; at least {FEWEST_RARER_EVENTS} are needed; assign more pulls to {rare}"
        )
    own = events.kinds
    _, kind, other = min((own[best, kind] + own[k, kind], kind, k) for k in others for kind in (0, 1))
    counts = (f"{int(own[i, kind]):,} of {int(own[i].sum()):,}" for i in (best, other))
    rewards = format_count(int(own[best, kind] + own[other, kind]), "reward")
    return (
        f"too few rewards equal to {1 - kind} to name a best arm: {arms[best]} and {arms[other]} together "
        f"have {rewards} equal to {1 - kind} ({' and '.join(counts)}); at least {FEWEST_EVENTS} are needed"
    )


def anytime_suffix(anytime: bool) -> str:
    """Return a text for a confidence level that is valid at repeated inspections, else an empty text."""
    return ", valid at every inspection" if anytime else ""


def groups_text(fit: Fit) -> str:
    """Return a sentence on groups of arms that share no environment, and on pulls to connect the groups."""
    return (
        f"{len(fit.groups)} groups of arms share no environment: {join_groups(fit.groups)}; "
        f"to compare them, collect rewards of {join_names(fit.bridge)} in the same environment"
    )


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
    if fit.cells.dropped:
        lines.append(f"rows skipped because a value was missing: {fit.cells.dropped}")
    if fit.uninformative:
        lines.append(
            f"environments with a single arm, which contribute nothing to comparisons of arms: "
            f"{fit.uninformative}"
        )
    if fit.adaptive and not fit.anytime:
        lines.append(ADAPTIVE)
    return "\n".join(lines)


def control_sentence(fit: Fit, against: ControlComparison) -> str:
    """Return a sentence on how each arm compares with the control arm, the best arm first."""
    rows = {row["arm"]: row for row in against.table}
    order = [arm for group in fit.ranking for arm in group if arm in rows]
    said = [f"{arm} {comparison_text(fit, rows[arm])}" for arm in order[:_ARMS]]
    more = [f"{len(order) - _ARMS:,} more in the table"] if len(order) > _ARMS else []
    return f"Against {against.control}, the control: {'; '.join([*said, *more])}."


def comparison_text(fit: Fit, row: dict[str, Any]) -> str:
    """Return the comparison of an arm with the control arm as text: estimate, interval, lift, conclusion."""
    if row["estimate"] is None:
        return "cannot be compared"
    figures, low, high = contrast_format(fit), row["low"], row["high"]
    beside = [figures.format_interval(low, high, "+")]
    if not fit.lifts and row.get("lift") is not None:
        lift = PERCENT.format_estimate(row["lift"], row.get("lift_low"), row.get("lift_high"), "+")
        beside.append(f"lift {lift}")
    inside = "; ".join(filter(None, beside))
    number = figures.format_estimate(row["estimate"], low, high, "+")
    return f"{number}{f' ({inside})' if inside else ''}, {row['conclusion']}"


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
    interval = f"{100 * fit.confidence:g} % confidence interval: {bounds}"
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
    lead = (
        f"{best['arm']} leads in about {best['environments_led']:.0f} of {format_count(days, 'environment')} "
        f"({100 * fit.confidence:g} % confidence interval: {best['low']:.0f} to {best['high']:.0f})"
    )
    others = sorted(rows.values(), key=lambda row: -float(row["environments_led"]))[:_NAMED]
    rest = join_names(
        (f"{row['arm']} in about {n:.0f}" for row in others if (n := row["environments_led"]) >= 0.5),
        most=_NAMED,
    )
    share = f"in at least {100 * ONE_WINNER_SHARE:.0f} % of environments"
    said = f"{'One' if found.one_winner else 'No'} arm leads {share}"
    to_come = format_probability(best["p_leads_in_new"])
    new = f"Probability that {best['arm']} leads in a new environment: {to_come}."
    return f"{said}: {lead}{', ' + rest if rest else ''}. {new}"


def _candidates_sentence(fit: Fit, found: InteractionSummary) -> str:
    """Return the sentence on which arm is the best in an average environment and in the observed ones."""
    average, these = _candidates_text(found.average), _candidates_text(found.observed)
    if average == these:
        return (
            f"On average over environments like these, future ones included, and over the observed ones "
            f"only, weighted by traffic, {average}."
        )
    return (
        f"On average over environments like these, future ones included, {average}. Over the observed "
        f"environments only, weighted by traffic, {these}."
    )


def _candidates_text(arms: tuple[object, ...]) -> str:
    """Return the best arm, with the other arms that may be the best, as text."""
    first, *others = arms
    return f"{first} is best" if not others else f"{first} leads and {join_names(others)} cannot be excluded"


def segment_lines(found: Segments) -> list[str]:
    """Return a line on whether segments of the rows differ, and a line on the best arm of each segment."""
    lines = [f"By {found.by}: {found.verdict}."]
    lines += [
        f"{row['segment']}: {_segment_text(row, found.fits[row['segment']])}."
        for row in found.table.to_dicts()[:_SEGMENTS]
    ]
    if unlike := [segment for segment, fit in found.fits.items() if fit.lifts != found.pooled.lifts]:
        own, other = ("differences", "ratios") if found.pooled.lifts else ("ratios", "differences")
        lines.append(
            f"In {join_names(unlike)}, arms are compared by {own} instead of {other}; the scale was selected "
            f"from the rewards there."
        )
    lines += [
        f"{segment}: not analyzed, because {why}."
        for segment, why in list(found.left_out.items())[:_SEGMENTS]
    ]
    return lines


def _segment_text(row: dict[str, Any], fit: Fit) -> str:
    """Return the best arm of one segment of the rows, such as a country, and its lead as text."""
    if row["best"] is None:
        return "no best arm, because some arms share no environment"
    figures, low, high = contrast_format(fit), row["low"], row["high"]
    interval = figures.format_interval(low, high, "+")
    estimate = figures.format_estimate(row["estimate"], low, high, "+")
    lead = f"{estimate} compared with {quote_if_needed(row['runner_up'])}"
    lead += f" ({interval})" if interval else ""
    if row["standing"] == "winner":
        return f"{quote_if_needed(row['best'])} is best: {lead}"
    return f"no winner; {quote_if_needed(row['best'])} leads: {lead}; candidates: {row['candidates']}"
