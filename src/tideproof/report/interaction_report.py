"""Arms that differ from day to day, and cells that were left out: what a report says of them."""

from __future__ import annotations

from tideproof.analysis import Fit
from tideproof.analysis.interaction_summary import ONE, Interacting
from tideproof.analysis.number_formats import of_gaps
from tideproof.analysis.outlier_exclusion import ExcludedCells
from tideproof.draw.traffic_shares import draw_shares
from tideproof.stats.diagnostics.outlying_cell_search import CUT, MOST
from tideproof.text import format_count, format_probability, join_names

_NAMED = 4  # arms or cells that have words of their own
DRAWN = 60  # environments in the picture


def interactions(fit: Fit) -> list[str]:
    """Say how much arms differ from environment to environment, and whether there is one winner."""
    found = fit.interaction
    if found is None:
        return []
    if not found.told:
        return [
            "Whether arms differ from environment to environment cannot be told from noise: that takes two "
            "rewards of an arm in one environment, and two arms together in two environments."
        ]
    said = [_size(fit, found)]
    if found.one_winner is not None:
        said += [_winner(fit, found), _two_questions(fit, found)]
    return said


def _size(fit: Fit, found: Interacting) -> str:
    assert found.omega is not None
    assert found.sigma is not None
    figures = of_gaps(fit)
    limits = f"{100 * fit.level:g} %: {figures.format_interval(found.low, found.high)}"
    if found.omega == 0.0:
        return f"Arms do not seem to differ from environment to environment: omega is 0 ({limits})."
    times = found.omega / found.sigma
    what = "Arms differ" if found.low else "It is open whether arms differ"
    join = ": besides" if found.low else "; if so, besides"
    return (
        f"{what} from environment to environment{join} the shift each moves by omega = "
        f"{figures.format_estimate(found.omega, found.low, found.high)} ({limits}), {times:.2g} times the "
        f"standard deviation of a single reward."
    )


def _winner(fit: Fit, found: Interacting) -> str:
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
    said = "One winner" if found.one_winner else "There is not one winner for all of them"
    to_come = format_probability(best["to_come"])
    return f"{said}: {lead}{', ' + rest if rest else ''}; in one to come with probability {to_come}."


def _two_questions(fit: Fit, found: Interacting) -> str:
    average, these = _can(found.average), _can(found.these)
    if average == these:
        return f"In an average environment, and in just these weighed by their traffic, {average}."
    return f"In an average environment {average}. In just these, weighed by their traffic, {these}."


def _can(arms: tuple[object, ...]) -> str:
    first, *others = arms
    return f"{first} is best" if not others else f"{first} leads and {join_names(others)} cannot be excluded"


def left_out(found: ExcludedCells | None) -> list[str]:
    """Say what was left out."""
    if found is None:
        return []
    looked = format_count(found.looked, "cell")
    if found.torn:
        return [
            f"More than {100 * MOST:.0f} % of {looked} are off by more than {CUT:g} standard errors: nobody "
            f"can say which are wrong, and none was left out."
        ]
    if not len(found.table):
        return [f"robust: of {looked} none is off by more than {CUT:g} standard errors; all are used."]
    rows = [row for row in found.table if row["environment"] not in found.environments]
    names = [f"{row['arm']} in {row['environment']} ({abs(row['z']):.0f} standard errors)" for row in rows]
    names += [f"all of {environment}" for environment in found.environments]
    return [
        f"Left out as simply wrong, being off by more than {CUT:g} standard errors: "
        f"{join_names(names, most=_NAMED)}. That is {format_count(len(found.table), 'cell')} of "
        f"{found.looked:,}; find out what happened there."
    ]


def draw_leads(found: Interacting) -> str:
    """Draw the probability of each arm to lead in each environment, the first of them."""
    names = found.arms["arm"]
    K, seen = len(names), [row for row in found.chance if row["chance"] is not None]
    rows = [seen[start : start + K] for start in range(0, min(len(seen), DRAWN * K), K)]
    order = sorted(range(K), key=lambda i: -float(found.arms["days"][i]))
    shares = [[row[i]["chance"] for i in order] for row in rows]
    return draw_shares([str(row[0]["environment"]) for row in rows], [str(names[i]) for i in order], shares)


def leads_words(found: Interacting) -> str:
    """Say how to read the picture."""
    total = found.environments
    few = f" Only the first {DRAWN} of {total:,} are drawn." if total > DRAWN else ""
    return (
        "The probability of each arm to lead in each environment, from what was seen there and what all "
        f"environments say. One colour nearly everywhere: one winner, in {100 * ONE:.0f} % or more.{few}"
    )
