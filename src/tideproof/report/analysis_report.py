"""What an analysis has to say, in words: the verdict, the table of arms, and what to be wary of.

Data only: the terminal, the HTML report and the JSON all show this.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tideproof.analysis import Fit
from tideproof.analysis.decision import Standing
from tideproof.analysis.within_label_test import warning
from tideproof.data.similar_labels import remarks
from tideproof.errors import InputError
from tideproof.report.control_report import Against
from tideproof.report.interaction_report import interactions, left_out
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.diagnostics.outlying_cell_search import keep
from tideproof.stats.scales.log_rewards import alike, normality
from tideproof.stats.scales.scale_choice import of_misfits
from tideproof.stats.scales.scale_test import Scale, wrong_scale
from tideproof.stats.solve.environment_influence import can_leave_out
from tideproof.table import Table
from tideproof.text import format_count, format_rounded, join_names, quote_if_needed

ALARM = 0.001  # p-values below it are worth a warning: several tests are made
_LARGE = 0.25  # of all that an arm had, in one reward
_MANY = 20  # rewards of an arm, of which none makes that much by chance


@dataclass(frozen=True, slots=True)
class Analysis:
    """A fit in words and tables.

    Attributes
    ----------
    fit : what it is about.
    standing : "winner" (one arm can be the best), "open" (several can), "not_comparable".
    verdict : one sentence.
    arms : one row an arm, the best first: adjusted mean, low, high; whether it can be the best and p_best,
        or its group if they cannot be compared; raw mean, bias, n.
    notes : sentences about the data, none of them alarming.
    warnings : sentences about assumptions that fail.
    answers : sentences that answer what else was asked, such as how arms compare with a control.
    against : each other arm compared with the control, if there is one.
    """

    fit: Fit
    standing: Standing
    verdict: str
    arms: Table
    notes: list[str]
    warnings: list[str]
    answers: list[str] = field(default_factory=list)
    against: Against | None = None


def analyse(fit: Fit, against: Against | None = None) -> Analysis:
    """Put a fit into words."""
    standing = fit.decision.standing
    misfit = None if standing == "not_comparable" else _misfit(fit)
    warnings = [
        *of_labels(fit),
        *(left_out(fit.left_out) if _anything_left_out(fit) else []),
        *([] if standing == "not_comparable" else _warnings(fit, misfit)),
    ]
    answers = [] if standing == "not_comparable" else interactions(fit)
    return Analysis(fit, standing, fit.verdict, _arms(fit), _notes(fit, misfit), warnings, answers, against)


def of_labels(fit: Fit) -> list[str]:
    """Warn of labels that may be meant to be one, or none."""
    found = remarks("arm", fit.cells.arms)
    return found if fit.tide else [*found, *remarks("environment", fit.cells.environments)]


def _anything_left_out(fit: Fit) -> bool:
    return fit.left_out is not None and (fit.left_out.torn or len(fit.left_out.table) > 0)


def as_dict(analysis: Analysis) -> dict[str, Any]:
    """Return the analysis as plain values, for JSON."""
    return analysis.fit.to_dict() | {
        "answers": analysis.answers,
        "notes": analysis.notes,
        "warnings": analysis.warnings,
    }


def _arms(fit: Fit) -> Table:
    rows = {row["arm"]: row for row in fit.arms}
    bias = dict(zip(fit.averages["arm"], fit.averages["raw_bias"], strict=True))
    group = {arm: g for g, arms in enumerate(fit.ranking) for arm in arms}
    order = list(group)
    columns: dict[str, list[Any]] = {"arm": order}
    for name in ("mean", "low", "high"):
        columns[name] = [rows[arm][name] for arm in order]
    if len(fit.groups) > 1:
        columns["group"] = [group[arm] + 1 for arm in order]
    else:
        may = set(fit.candidates)
        columns["can be best"] = ["yes" if arm in may else "no" for arm in order]
        few = fit.decision.doubt == "too few events"  # a chance would say what the verdict refuses to
        columns["p_best"] = [None if few else rows[arm]["p_best"] for arm in order]
    columns["raw_mean"] = [rows[arm]["raw_mean"] for arm in order]
    largest = float(abs(fit.cells.mean).max())
    columns["bias"] = [_rounded_off(bias[arm], largest) for arm in order]
    columns["n"] = [rows[arm]["n"] for arm in order]
    return Table(columns)


def _rounded_off(x: float | None, largest: float) -> float | None:
    """Return 0 for what rounding left of a difference of such numbers.

    >>> _rounded_off(-4.4e-16, 3.5), _rounded_off(1e-9, 3.5), _rounded_off(1e-9, 1e5), _rounded_off(None, 3.5)
    (0.0, 1e-09, 0.0, None)
    """
    return 0.0 if x is not None and abs(x) <= 1e-13 * largest else x


def _notes(fit: Fit, misfit: Additivity | None) -> list[str]:
    c = fit.cells
    rewards, arms = format_count(int(c.n.sum()), "reward"), format_count(len(c.arms), "arm")
    notes = [f"{rewards} of {arms} in {format_count(len(c.environments), 'environment')}."]
    if fit.tide is not None:
        notes = [f"{rewards} of {arms}.", *fit.tide.sentences()]
    elif fit.bins is not None:
        notes = [f"{rewards} of {arms}.", fit.bins.sentence]
    elif len(c.environments) == 1:
        notes.append(
            "With one environment nothing is adjusted: if conditions changed while the shares of the arms "
            "did, say which rows belong together (environment)."
        )
    if len(fit.groups) == 1:
        notes += [*_scale_note(fit, misfit), *_two_arms(fit), *_seeming(fit), *_naive(fit)]
    if not _anything_left_out(fit):
        notes += left_out(fit.left_out)
    if fit.anytime:
        notes.append("What is said of arms against each other holds at all looks; limits of means, for one.")
    if fit.uninformative:
        single = [row["environment"] for row in fit.shifts if row["arms"] == 1]
        where = format_count(fit.uninformative, "environment")
        notes.append(f"Nothing is learned from {where} with a single arm: {join_names(single)}.")
    if c.dropped:
        notes.append(f"Left out because a value was missing: {format_count(c.dropped, 'row')}.")
    return notes


def _scale_note(fit: Fit, misfit: Additivity | None) -> list[str]:
    """Say on which scale arms are compared, and why; unless that is a warning."""
    if _wrong_scales(fit):
        return []
    return [fit.choice.sentence if misfit is None else of_misfits(fit.choice)]


def _wrong_scales(fit: Fit) -> bool:
    """Tell whether the scale is the least bad of those that were tried."""
    return fit.scale in fit.choice.tests and fit.choice.tests[fit.scale].p < ALARM


def _two_arms(fit: Fit) -> list[str]:
    """Name the one-sided reading of two arms: the verdict counts both sides."""
    doubt, best, other = fit.decision.doubt, fit.decision.best, fit.decision.runner_up
    if fit.anytime or len(fit.cells.arms) != 2 or doubt not in (None, "several candidates"):
        return []
    found = fit.contrast(best, other, picked=True)
    if (p := found.p) is None:
        return []
    exact = " Few events: p and limits are exact, given how many each environment had." if found.exact else ""
    best, other = quote_if_needed(best), quote_if_needed(other)
    beats = f"{best} beats {other}" if fit.direction == "maximize" else f"{best} is below {other}"
    return [
        f"Of two arms both sides count ({p_value(p)}). One-sided, had you asked beforehand whether {beats} "
        f"and nothing else, {p_value(0.5 * p)}.{exact}"
    ]


def _seeming(fit: Fit) -> list[str]:
    """Say why a probability and "cannot be excluded", or an interval and "is best", seem to disagree."""
    decision, chance = fit.decision, fit.p_best
    if decision.doubt not in (None, "several candidates") or chance[decision.best] is None:
        return []
    best, error = decision.best, 1.0 - fit.level
    rate = f"errors below {100 * error:.4g} % of logs, whatever the truth is"
    weighs = "A probability of being best weighs what this log says"
    unlikely = [arm for arm in decision.candidates if (chance[arm] or 0.0) < error / len(chance)]
    if decision.doubt is None and (chance[best] or 0.0) < fit.level:
        return [f"{weighs}; “is best” counts the errors of such statements and keeps {rate}."]
    if decision.doubt and ((chance[best] or 0.0) >= fit.level or unlikely):
        return [f"{weighs}; “cannot be excluded” keeps {rate}, and can be said of an unlikely arm."]
    gap = fit.contrast(best, decision.runner_up, picked=True)
    if decision.doubt is None and gap.low is not None and gap.high is not None and gap.low < 0.0 < gap.high:
        whose = " and for all pairs at once" if fit.anytime else ""
        return [f"The interval is two-sided{whose}; “is best” is about all arms, one-sided: {rate}."]
    return []


def _naive(fit: Fit) -> list[str]:
    """Say what averages that do not know of shifts would have picked."""
    pick = max if fit.direction == "maximize" else min
    rows = fit.averages.to_dicts()
    if fit.tide is not None:
        raw = pick(rows, key=lambda row: row["raw_mean"])["arm"]
        return [
            f"The raw mean "
            f"{'picks the same arm' if raw == fit.best else f'would have picked {quote_if_needed(raw)}'}."
        ]
    raw, period = (pick(rows, key=lambda row: row[name])["arm"] for name in ("raw_mean", "period_mean"))
    if raw == fit.best == period:
        return ["The raw and the period-weighted mean pick the same arm."]
    if raw == period:
        return [f"The raw mean and the period-weighted mean would both have picked {quote_if_needed(raw)}."]
    return [
        f"The raw mean would have picked {quote_if_needed(raw)}, the period-weighted mean "
        f"{quote_if_needed(period)}."
    ]


def _warnings(fit: Fit, misfit: Additivity | None) -> list[str]:
    found = warning(fit.inside)
    checks = (_scale, partial(_additivity, test=misfit), _spread, _influence, _drift)
    for check in checks if fit.tide is None else (_spread,):
        if check is _spread and found:  # what was advised against shifts that differ allows for this, too
            continue
        try:
            found += check(fit)
        except InputError:  # too little data for this one: nothing to warn of
            continue
    return found


def _scale(fit: Fit) -> list[str]:
    """Test the scale that was asked for; one that was chosen was tested before."""
    if fit.choice.tests:
        return [fit.choice.sentence] if _wrong_scales(fit) else []
    if fit.variance == "clustered" or fit.interaction is not None:  # allows for it
        return []
    unlike = _unlike_logs(fit)
    scale: Scale = "ratio" if fit.scale == "log" else fit.scale
    test = wrong_scale(fit.cells, scale, "ratio" if scale == "difference" else "difference")
    if test.p >= ALARM:
        return unlike
    what = {"difference": "Differences", "ratio": "Ratios", "odds": "Odds ratios"}[scale]
    return [
        *unlike,
        f"{what} of arms are not the same at every level of the environments ({p_value(test.p)}); "
        f"scale='auto' (--scale auto) looks for a scale on which they are.",
    ]


def _unlike_logs(fit: Fit) -> list[str]:
    """Say where ratios of means do not follow from logarithms."""
    logs = fit.cells.logs
    if fit.scale != "log" or logs is None or normality(logs) >= ALARM:
        return []
    if (p := alike(logs, logs.arm, logs.K)) >= ALARM:
        return []
    return [
        f"The logarithms of rewards are not normal and do not vary alike in all arms ({p_value(p)}): ratios "
        f"of means do not follow from them; scale='ratio' (--scale ratio) compares means."
    ]


def _misfit(fit: Fit) -> Additivity | None:
    """Return the test of additivity where it fails, and nothing else says how much."""
    if fit.interaction is not None or fit.tide is not None:
        return None
    try:
        test = fit.additivity(worst=1)
    except InputError:  # too little data
        return None
    return test if test.p < ALARM else None


def _additivity(fit: Fit, test: Additivity | None) -> list[str]:
    if test is None:
        return []
    what = "Factors" if fit.lifts else "Shifts"
    said = f"{what} are not the same for all arms (test of additivity, {p_value(test.p)})."
    if large := _one_reward(fit.cells):
        return [f"{said} {large}"]
    cell = test.worst.to_dicts()[0]
    return [
        f"{said} Furthest off: arm {cell['arm']} in environment {cell['environment']}, "
        f"{abs(cell['z']):.1f} standard errors{_allowing(fit)}."
    ]


def _one_reward(c: Cells) -> str:
    """Name a reward that makes more than a quarter of all that its arm had: other cells only seem off then.

    The noise of its own cell is as large as it is, so that it is never the one that is furthest off.
    """
    if c.low is None or c.high is None or c.binary or c.low.min() < 0.0:
        return ""
    total = np.where(c.counts >= _MANY, c.by_arm(c.n * c.mean), np.inf)[c.arm]
    share = c.high / np.maximum(total, 1e-300)
    cell = int(np.argmax(share))
    if not share[cell] > _LARGE:
        return ""
    arm, where = c.arms[c.arm[cell]], c.environments[c.environment[cell]]
    return (
        f"One reward, {format_rounded(c.high[cell])} of {arm} in {where}, is {100 * share[cell]:.0f} % of "
        f"all that {arm} had: look at it first."
    )


def _allowing(fit: Fit) -> str:
    """Say what allows for shifts that differ, where that can be had."""
    said, c = "", fit.cells
    if c.factors is not None or c.slope is not None:
        return said
    if fit.variance not in ("clustered", "by-unit"):
        how = "compares differences, allows" if fit.lifts else "allows"
        said += f"; variance='interaction' (--variance interaction) {how} for it and says who leads where"
    if fit.left_out is None and np.any(~keep(c).cells):
        said += "; if it is simply wrong, robust='cells' (--robust cells) leaves it out"
    return said


def _spread(fit: Fit) -> list[str]:
    if fit.variance not in ("common", "interaction"):
        return []
    test = fit.spread()
    found = {what: p for what, p in (("arm", test.p_arm), ("environment", test.p_environment)) if p < ALARM}
    if not found:
        return []
    if fit.tide is not None:
        unlike = join_names(f"{'times' if what == 'environment' else 'arms'}" for what in found)
        return [f"Rewards of different {unlike} do not vary alike, which limits take for granted."]
    model = f"by-{next(iter(found))}" if len(found) == 1 else "robust"
    if fit.interaction is not None:
        model = f"interaction+by-{next(iter(found))}"
    whose = join_names((f"{what}s ({p_value(p)})" for what, p in found.items()), "and of different")
    return [f"Rewards of different {whose} do not vary alike; try variance='{model}' (--variance {model})."]


def _influence(fit: Fit) -> list[str]:
    if fit.decision.standing != "winner" or not can_leave_out(fit.cells):  # an open race is open anyway
        return []
    table, today = fit.influence(), (None, fit.best)
    both = zip(table["environment"], table["best"], strict=True)
    others = [(environment, best) for environment, best in both if best not in today]
    if not others:
        return []
    if len(others) == 1:
        return [f"Without {others[0][0]} alone, {others[0][1]} would lead."]
    names = join_names((environment for environment, _ in others), "or")
    return [f"The winner hangs on single environments: without any one of {names} another arm would lead."]


def _drift(fit: Fit) -> list[str]:
    test = fit.sample_ratio()
    if test.drift_p >= ALARM or fit.adaptive:
        return []
    return [
        f"The arms' shares of the traffic changed between environments ({p_value(test.drift_p)}). Adjusted "
        f"means allow for that, raw means do not; if shares were meant to be fixed, find out why; "
        f"if they followed the rewards, say so (--adaptive, adaptive=True), for limits must allow for it."
    ]


def p_value(p: float) -> str:
    """Return a p-value as people write it.

    >>> p_value(0.0123), p_value(1e-9)
    ('p = 0.012', 'p < 1e-6')
    """
    return "p < 1e-6" if p < 1e-6 else f"p = {p:.2g}"
