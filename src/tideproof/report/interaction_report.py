"""Texts and charts on interactions between arms and environments, and text on excluded cells."""

from __future__ import annotations

from tideproof.analysis import Fit
from tideproof.analysis.interaction_summary import ONE_WINNER_SHARE, InteractionSummary
from tideproof.analysis.number_formats import contrast_format
from tideproof.analysis.outlier_exclusion import ExcludedCells
from tideproof.draw.traffic_shares import draw_shares
from tideproof.stats.diagnostics.outlying_cell_search import CUT, LARGEST_OUTLYING_SHARE
from tideproof.text import format_count, format_probability, join_names

_NAMED = 4  # largest number of arms or cells in a sentence
DRAWN = 60  # largest number of environments in the chart


def interaction_sentences(fit: Fit) -> list[str]:
    """Return sentences on how much arms differ between environments, and whether one arm leads everywhere."""
    found = fit.interaction
    if found is None:
        return []
    if not found.told:
        return [
            "Interactions of arms and environments cannot be separated from noise. That needs an arm with "
            "two rewards in one environment, and two arms in two environments."
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
        f"{what} from environment to environment: beyond the common shift, each has a standard deviation "
        f"of omega = {figures.format_estimate(found.omega, found.low, found.high)} ({limits}), {times:.2g} "
        f"times that of a single reward."
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


def exclusion_sentences(found: ExcludedCells | None) -> list[str]:
    """Return the sentence on which outlying cells were excluded."""
    if found is None:
        return []
    looked = format_count(found.looked, "cell")
    if found.torn:
        return [
            f"More than {100 * LARGEST_OUTLYING_SHARE:.0f} % of {looked} are more than {CUT:g} standard "
            f"errors from the model: the wrong ones cannot be identified, so none was excluded."
        ]
    if not len(found.table):
        return [
            f"robust: none of {looked} is more than {CUT:g} standard errors from the model; all are used."
        ]
    rows = [row for row in found.table if row["environment"] not in found.environments]
    names = [f"{row['arm']} in {row['environment']} ({abs(row['z']):.0f} standard errors)" for row in rows]
    names += [f"all of {environment}" for environment in found.environments]
    return [
        f"Excluded, because they are more than {CUT:g} standard errors from the model: "
        f"{join_names(names, most=_NAMED)}. These are {format_count(len(found.table), 'cell')} of "
        f"{found.looked:,}; find out what happened there."
    ]


def draw_leads(found: InteractionSummary) -> str:
    """Draw the probability of each arm of leading in each of the first environments."""
    names = found.arms["arm"]
    K, seen = len(names), [row for row in found.chance if row["chance"] is not None]
    rows = [seen[start : start + K] for start in range(0, min(len(seen), DRAWN * K), K)]
    order = sorted(range(K), key=lambda i: -float(found.arms["days"][i]))
    shares = [[row[i]["chance"] for i in order] for row in rows]
    return draw_shares([str(row[0]["environment"]) for row in rows], [str(names[i]) for i in order], shares)


def leads_explanation(found: InteractionSummary) -> str:
    """Return the explanation of the chart of leading arms."""
    total = found.environments
    few = f" Only the first {DRAWN} of {total:,} are drawn." if total > DRAWN else ""
    return (
        "The probability of each arm of leading in each environment, estimated from that environment and all "
        f"others. One colour in {100 * ONE_WINNER_SHARE:.0f} % of environments or more means one winner.{few}"
    )
