"""Sentences on comparisons with a control, on interactions of arms and environments, and on segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideproof.analysis.fit_result import Fit
from tideproof.analysis.interaction_summary import InteractionSummary
from tideproof.analysis.words.fit_text import contrast_format
from tideproof.text import PERCENT, format_count, format_probability, join_names, quote_if_needed

if TYPE_CHECKING:
    from tideproof.analysis.segments import Segments
    from tideproof.analysis.versus_control import ControlComparison

_ARMS = 6  # largest number of arms in the sentence on a control
_NAMED = 4  # largest number of other arms in the sentence on interactions
_SEGMENTS = 40  # largest number of segments with a line of their own


def control_sentence(fit: Fit, against: ControlComparison) -> str:
    """Return a sentence on how each arm compares with the control, the best first."""
    rows = {row["arm"]: row for row in against.table}
    order = [arm for group in fit.ranking for arm in group if arm in rows]
    said = [f"{arm} {comparison_text(fit, rows[arm])}" for arm in order[:_ARMS]]
    more = [f"{len(order) - _ARMS:,} more in the table"] if len(order) > _ARMS else []
    return f"Against {against.control}, the control: {'; '.join([*said, *more])}."


def comparison_text(fit: Fit, row: dict[str, Any]) -> str:
    """Return the comparison of one arm with the control as text: estimate, interval, lift and reading."""
    if row["estimate"] is None:
        return "cannot be compared"
    figures, low, high = contrast_format(fit), row["low"], row["high"]
    beside = [figures.format_interval(low, high, "+")]
    if not fit.lifts and row.get("lift") is not None:
        lift = PERCENT.format_estimate(row["lift"], row.get("lift_low"), row.get("lift_high"), "+")
        beside.append(f"lift {lift}")
    inside = "; ".join(filter(None, beside))
    number = figures.format_estimate(row["estimate"], low, high, "+")
    return f"{number}{f' ({inside})' if inside else ''}, {row['reading']}"


def interaction_sentences(fit: Fit) -> list[str]:
    """Return sentences on how much arms differ between environments, and whether one arm leads everywhere."""
    found = fit.interaction
    if found is None:
        return []
    if not found.told:
        return [
            "Interactions of arms and environments cannot be separated from noise. To separate them, a "
            "log needs an arm with two rewards in one environment, and two arms in two environments."
        ]
    said = [_size_sentence(fit, found)]
    if found.one_winner is not None:
        said += [_winner_sentence(fit, found), _candidates_sentence(fit, found)]
    return said


def _size_sentence(fit: Fit, found: InteractionSummary) -> str:
    """Return the sentence with the estimate of omega, the standard deviation of interactions."""
    assert found.omega is not None
    assert found.sigma is not None
    figures = contrast_format(fit)
    limits = f"{100 * fit.level:g} % interval: {figures.format_interval(found.low, found.high)}"
    if found.omega == 0.0:
        return f"Arms do not seem to differ from environment to environment: omega is 0 ({limits})."
    times = found.omega / found.sigma
    what = "Arms differ" if found.low else "Arms may or may not differ"
    return (
        f"{what} from environment to environment: beyond the common shift, the effects of environments on "
        f"single arms have a standard deviation of omega = "
        f"{figures.format_estimate(found.omega, found.low, found.high)} ({limits}), {times:.2g} times that "
        f"of a single reward."
    )


def _winner_sentence(fit: Fit, found: InteractionSummary) -> str:
    """Return the sentence on how many environments the best arms lead in."""
    rows = {row["arm"]: row for row in found.arms}
    best, days = rows.pop(fit.best), found.environments
    lead = (
        f"{best['arm']} leads in about {best['days']:.0f} of {format_count(days, 'environment')} "
        f"({best['days_low']:.0f} to {best['days_high']:.0f})"
    )
    others = sorted(rows.values(), key=lambda row: -float(row["days"]))[:_NAMED]
    rest = join_names(
        (f"{row['arm']} in {row['days']:.0f}" for row in others if row["days"] >= 0.5), most=_NAMED
    )
    said = "There is one winner" if found.one_winner else "No arm wins nearly everywhere"
    to_come = format_probability(best["to_come"])
    return f"{said}: {lead}{', ' + rest if rest else ''}; in a new one with probability {to_come}."


def _candidates_sentence(fit: Fit, found: InteractionSummary) -> str:
    """Return the sentence on the best arm in an average environment and in the observed ones."""
    average, these = _candidates_text(found.average), _candidates_text(found.these)
    if average == these:
        return f"In an average environment, and in the observed ones weighted by traffic, {average}."
    return f"In an average environment, {average}. In the observed ones, weighted by traffic, {these}."


def _candidates_text(arms: tuple[object, ...]) -> str:
    """Return the best arm, with the other candidates, as text."""
    first, *others = arms
    return f"{first} is best" if not others else f"{first} leads and {join_names(others)} cannot be excluded"


def segment_lines(found: Segments) -> list[str]:
    """Return one line for each segment on its best arm, after a line on whether segments differ."""
    lines = [f"By {found.by}: {found.verdict}."]
    lines += [
        f"{row['segment']}: {_segment_text(row, found.fits[row['segment']])}."
        for row in found.table.to_dicts()[:_SEGMENTS]
    ]
    if unlike := [segment for segment, fit in found.fits.items() if fit.lifts != found.pooled.lifts]:
        own, other = ("differences", "ratios") if found.pooled.lifts else ("ratios", "differences")
        lines.append(f"Compared by {own}, because {other} do not fit their rewards: {join_names(unlike)}.")
    lines += [f"{segment}: left out, {why}." for segment, why in list(found.left_out.items())[:_SEGMENTS]]
    return lines


def _segment_text(row: dict[str, Any], fit: Fit) -> str:
    """Return the best arm of a segment and its lead as text."""
    if row["best"] is None:
        return "no best arm, because some arms share no environment"
    figures, low, high = contrast_format(fit), row["low"], row["high"]
    interval = figures.format_interval(low, high, "+")
    estimate = figures.format_estimate(row["estimate"], low, high, "+")
    lead = f"{estimate} against {quote_if_needed(row['runner_up'])}"
    lead += f" ({interval})" if interval else ""
    if row["standing"] == "winner":
        return f"{quote_if_needed(row['best'])} is best, {lead}"
    return f"open, {quote_if_needed(row['best'])} leads, {lead}; candidates {row['candidates']}"
