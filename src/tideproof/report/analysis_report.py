"""Contents of an analysis report: the verdict, the table of arms, notes and warnings.

The terminal, the HTML report and the JSON output all show these contents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tideproof.analysis import Fit
from tideproof.analysis.decision import Standing
from tideproof.analysis.within_label_test import within_label_warning
from tideproof.data.similar_labels import label_warnings
from tideproof.errors import InputError
from tideproof.report.control_report import ControlComparison
from tideproof.report.interaction_report import exclusion_sentences, interaction_sentences
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.diagnostics.outlying_cell_search import find_outlying_cells
from tideproof.stats.scales.log_rewards import equal_variances_p, normality_p
from tideproof.stats.scales.scale_choice import explain_misfits
from tideproof.stats.scales.scale_test import Scale, run_scale_test
from tideproof.stats.solve.environment_influence import can_leave_one_out
from tideproof.table import Table
from tideproof.text import format_count, format_rounded, join_names, quote_if_needed

ALARM = 0.001  # p-values below it cause a warning; it is small because several tests are made
_LARGE = 0.25  # share of one reward in the total of its arm that causes a warning
_MANY = 20  # smallest number of rewards of an arm for that warning


@dataclass(frozen=True, slots=True)
class Analysis:
    """Contents of the report of a fit, as texts and tables.

    Attributes
    ----------
    fit : the fit that is reported.
    standing : "winner" (one arm can be the best), "open" (several can), "not_comparable".
    verdict : one sentence that names the best arm, its lead, and the confidence level.
    arms : table with one row per arm, the best first: adjusted mean, low, high; whether it can be the best
        and p_best, or its group if arms cannot be compared; raw mean, bias, n.
    notes : sentences about the data that need no action.
    warnings : sentences about assumptions that are violated.
    answers : sentences that answer further questions, such as how arms compare with a control.
    against : comparison of each other arm with the control, if there is one.
    """

    fit: Fit
    standing: Standing
    verdict: str
    arms: Table
    notes: list[str]
    warnings: list[str]
    answers: list[str] = field(default_factory=list)
    against: ControlComparison | None = None


def analyse(fit: Fit, against: ControlComparison | None = None) -> Analysis:
    """Return the contents of the report of a fit."""
    standing = fit.decision.standing
    misfit = None if standing == "not_comparable" else _failed_additivity(fit)
    warnings = [
        *warn_of_labels(fit),
        *(exclusion_sentences(fit.left_out) if _has_exclusions(fit) else []),
        *([] if standing == "not_comparable" else _warnings(fit, misfit)),
    ]
    answers = [] if standing == "not_comparable" else interaction_sentences(fit)
    return Analysis(
        fit, standing, fit.verdict, _arms_table(fit), _notes(fit, misfit), warnings, answers, against
    )


def warn_of_labels(fit: Fit) -> list[str]:
    """Return warnings about labels that look alike or like missing values."""
    found = label_warnings("arm", fit.cells.arms)
    return found if fit.tide else [*found, *label_warnings("environment", fit.cells.environments)]


def _has_exclusions(fit: Fit) -> bool:
    """Return whether outlying cells were excluded, or were too many to exclude any."""
    return fit.left_out is not None and (fit.left_out.torn or len(fit.left_out.table) > 0)


def analysis_to_dict(analysis: Analysis) -> dict[str, Any]:
    """Return the analysis as a dictionary of plain values, for JSON."""
    return analysis.fit.to_dict() | {
        "answers": analysis.answers,
        "notes": analysis.notes,
        "warnings": analysis.warnings,
    }


def _arms_table(fit: Fit) -> Table:
    """Return the table of arms, the best first."""
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
        few = (
            fit.decision.doubt == "too few events"
        )  # the verdict names no best arm, so probabilities are omitted
        columns["p_best"] = [None if few else rows[arm]["p_best"] for arm in order]
    columns["raw_mean"] = [rows[arm]["raw_mean"] for arm in order]
    largest = float(abs(fit.cells.mean).max())
    columns["bias"] = [_remove_rounding(bias[arm], largest) for arm in order]
    columns["n"] = [rows[arm]["n"] for arm in order]
    return Table(columns)


def _remove_rounding(x: float | None, largest: float) -> float | None:
    """Return a difference of numbers of size `largest`, with 0 for a pure rounding error.

    >>> [_remove_rounding(x, 3.5) for x in (-4.4e-16, 1e-9, None)], _remove_rounding(1e-9, 1e5)
    ([0.0, 1e-09, None], 0.0)
    """
    return 0.0 if x is not None and abs(x) <= 1e-13 * largest else x


def _notes(fit: Fit, misfit: Additivity | None) -> list[str]:
    """Return the notes about the data."""
    c = fit.cells
    rewards, arms = format_count(int(c.n.sum()), "reward"), format_count(len(c.arms), "arm")
    notes = [f"{rewards} of {arms} in {format_count(len(c.environments), 'environment')}."]
    if fit.tide is not None:
        notes = [f"{rewards} of {arms}.", *fit.tide.sentences()]
    elif fit.bins is not None:
        notes = [f"{rewards} of {arms}.", fit.bins.sentence]
    elif len(c.environments) == 1:
        notes.append(
            "With one environment, no adjustment is made. If conditions and the arms' shares of the traffic "
            "changed over time, give the environments (environment)."
        )
    if len(fit.groups) == 1:
        notes += [
            *_scale_note(fit, misfit),
            *_two_arms_note(fit),
            *_disagreement_note(fit),
            *_raw_mean_note(fit),
        ]
    if not _has_exclusions(fit):
        notes += exclusion_sentences(fit.left_out)
    if fit.anytime:
        notes.append("Comparisons of arms hold at all looks; intervals of single means hold for one look.")
    if fit.uninformative:
        single = [row["environment"] for row in fit.shifts if row["arms"] == 1]
        where = format_count(fit.uninformative, "environment")
        notes.append(f"No information comes from {where} with a single arm: {join_names(single)}.")
    if c.dropped:
        notes.append(f"Skipped because a value was missing: {format_count(c.dropped, 'row')}.")
    return notes


def _scale_note(fit: Fit, misfit: Additivity | None) -> list[str]:
    """Return the note on which scale arms are compared and why, unless that is a warning."""
    if _all_scales_fail(fit):
        return []
    return [fit.choice.sentence if misfit is None else explain_misfits(fit.choice)]


def _all_scales_fail(fit: Fit) -> bool:
    """Return whether all scales that were tried fail their test, so that the least bad is used."""
    return fit.scale in fit.choice.tests and fit.choice.tests[fit.scale].p < ALARM


def _two_arms_note(fit: Fit) -> list[str]:
    """Return the note with the one-sided p-value, for two arms."""
    doubt, best, other = fit.decision.doubt, fit.decision.best, fit.decision.runner_up
    if fit.anytime or len(fit.cells.arms) != 2 or doubt not in (None, "several candidates"):
        return []
    found = fit.contrast(best, other, picked=True)
    if (p := found.p) is None:
        return []
    exact = " As events are few, p and interval are exact, given the events of each environment."
    exact = exact if found.exact else ""
    best, other = quote_if_needed(best), quote_if_needed(other)
    beats = f"{best} beats {other}" if fit.direction == "maximize" else f"{best} is below {other}"
    return [
        f"With two arms the test is two-sided ({format_p(p)}). If the only question beforehand was whether "
        f"{beats}, the one-sided test gives {format_p(0.5 * p)}.{exact}"
    ]


def _disagreement_note(fit: Fit) -> list[str]:
    """Return a note if the verdict and the probability of being best seem to disagree, and why."""
    decision, chance = fit.decision, fit.p_best
    if decision.doubt not in (None, "several candidates") or chance[decision.best] is None:
        return []
    best, error = decision.best, 1.0 - fit.level
    rate = f"wrong in at most {100 * error:.4g} % of logs"
    posterior = "The probability of being best is a posterior probability for this log"
    unlikely = [arm for arm in decision.candidates if (chance[arm] or 0.0) < error / len(chance)]
    if decision.doubt is None and (chance[best] or 0.0) < fit.level:
        return [f"{posterior}; “is best” is the result of a test that is {rate}."]
    if decision.doubt and ((chance[best] or 0.0) >= fit.level or unlikely):
        return [
            f"{posterior}; “cannot be excluded” is the result of a test that is {rate}, and can apply to an "
            f"unlikely arm."
        ]
    gap = fit.contrast(best, decision.runner_up, picked=True)
    if decision.doubt is None and gap.low is not None and gap.high is not None and gap.low < 0.0 < gap.high:
        whose = " and for all pairs at once" if fit.anytime else ""
        return [f"The interval is two-sided{whose}; “is best” is a one-sided test of all arms, {rate}."]
    return []


def _raw_mean_note(fit: Fit) -> list[str]:
    """Return the note on which arm the raw mean and the period-weighted mean would have selected."""
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
    """Return the warnings about assumptions of the fit that are violated."""
    found = within_label_warning(fit.inside)
    checks = (
        _scale_warning,
        partial(_additivity_warning, test=misfit),
        _variance_warning,
        _influence_warning,
        _traffic_warning,
    )
    for check in checks if fit.tide is None else (_variance_warning,):
        if check is _variance_warning and found:  # the advice of that warning helps here, too
            continue
        try:
            found += check(fit)
        except InputError:  # too little data for this test
            continue
    return found


def _scale_warning(fit: Fit) -> list[str]:
    """Return a warning if the scale fails its test; an automatically chosen scale was tested before."""
    if fit.choice.tests:
        return [fit.choice.sentence] if _all_scales_fail(fit) else []
    if fit.variance == "clustered" or fit.interaction is not None:  # these models allow for different effects
        return []
    unlike = _log_warning(fit)
    scale: Scale = "ratio" if fit.scale == "log" else fit.scale
    test = run_scale_test(fit.cells, scale, "ratio" if scale == "difference" else "difference")
    if test.p >= ALARM:
        return unlike
    what = {"difference": "Differences", "ratio": "Ratios", "odds": "Odds ratios"}[scale]
    return [
        *unlike,
        f"{what} between arms depend on the shift of the environment ({format_p(test.p)}); scale='auto' "
        f"(--scale auto) searches for a scale on which they do not.",
    ]


def _log_warning(fit: Fit) -> list[str]:
    """Return a warning if ratios of means cannot be estimated from logarithms."""
    logs = fit.cells.logs
    if fit.scale != "log" or logs is None or normality_p(logs) >= ALARM:
        return []
    if (p := equal_variances_p(logs, logs.arm, logs.K)) >= ALARM:
        return []
    return [
        f"The logarithms of rewards are not normal, and their variance differs between arms ({format_p(p)}), "
        f"so that they do not determine ratios of means. Use scale='ratio' (--scale ratio)."
    ]


def _failed_additivity(fit: Fit) -> Additivity | None:
    """Return the test of additivity if it fails, unless the model allows for different shifts."""
    if fit.interaction is not None or fit.tide is not None:
        return None
    try:
        test = fit.additivity(worst=1)
    except InputError:  # too little data
        return None
    return test if test.p < ALARM else None


def _additivity_warning(fit: Fit, test: Additivity | None) -> list[str]:
    """Return the warning that shifts differ between arms, with the cell furthest from the model."""
    if test is None:
        return []
    what = "Factors" if fit.lifts else "Shifts"
    said = f"{what} are not the same for all arms (test of additivity, {format_p(test.p)})."
    if large := large_reward_sentence(fit.cells):
        return [f"{said} {large}"]
    cell = test.worst.to_dicts()[0]
    return [
        f"{said} Furthest from the model: arm {cell['arm']} in environment {cell['environment']}, "
        f"{abs(cell['z']):.1f} standard errors{_additivity_advice(fit)}."
    ]


def large_reward_sentence(c: Cells) -> str:
    """Return a sentence that names a reward that is more than a quarter of the total reward of its arm.

    Such a reward makes other cells look outlying. Its own cell does not, because the reward makes the noise
    of that cell as large as itself.
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
        f"the total reward of {arm}: check it first."
    )


def _additivity_advice(fit: Fit) -> str:
    """Return advice on the option that allows for shifts that differ between arms."""
    said, c = "", fit.cells
    if c.factors is not None or c.slope is not None:
        return said
    if fit.variance not in ("clustered", "by-unit"):
        how = "compares differences and allows" if fit.lifts else "allows"
        said += f"; variance='interaction' (--variance interaction) {how} for this and shows which arm leads"
    if fit.left_out is None and np.any(~find_outlying_cells(c).cells):
        said += "; if that cell is an error, robust='cells' (--robust cells) excludes it"
    return said


def _variance_warning(fit: Fit) -> list[str]:
    """Return a warning if arms or environments have different variances and the model assumes equal ones."""
    if fit.variance not in ("common", "interaction"):
        return []
    test = fit.spread()
    found = {what: p for what, p in (("arm", test.p_arm), ("environment", test.p_environment)) if p < ALARM}
    if not found:
        return []
    if fit.tide is not None:
        unlike = join_names(f"{'times' if what == 'environment' else 'arms'}" for what in found)
        return [f"The variance of rewards differs between {unlike}, but intervals assume that it does not."]
    model = f"by-{next(iter(found))}" if len(found) == 1 else "robust"
    if fit.interaction is not None:
        model = f"interaction+by-{next(iter(found))}"
    whose = join_names((f"{what}s ({format_p(p)})" for what, p in found.items()), "and between")
    return [f"The variance of rewards differs between {whose}; try variance='{model}' (--variance {model})."]


def _influence_warning(fit: Fit) -> list[str]:
    """Return a warning if another arm would be the best without a single environment."""
    if fit.decision.standing != "winner" or not can_leave_one_out(
        fit.cells
    ):  # without a winner there is nothing to lose
        return []
    table, today = fit.influence(), (None, fit.best)
    both = zip(table["environment"], table["best"], strict=True)
    others = [(environment, best) for environment, best in both if best not in today]
    if not others:
        return []
    if len(others) == 1:
        return [f"Without {others[0][0]} alone, {others[0][1]} would lead."]
    names = join_names((environment for environment, _ in others), "or")
    return [f"The winner depends on single environments: without any one of {names}, another arm would lead."]


def _traffic_warning(fit: Fit) -> list[str]:
    """Return a warning if the arms' shares of the traffic changed between environments."""
    test = fit.sample_ratio()
    if test.drift_p >= ALARM or fit.adaptive:
        return []
    return [
        f"The arms' shares of the traffic changed between environments ({format_p(test.drift_p)}). Adjusted "
        f"means allow for that, raw means do not. If the shares were meant to be fixed, find out why; if a "
        f"policy changed them by rewards, use adaptive=True (--adaptive), so that intervals allow for it."
    ]


def format_p(p: float) -> str:
    """Return a p-value as text.

    >>> format_p(0.0123), format_p(1e-9)
    ('p = 0.012', 'p < 1e-6')
    """
    return "p < 1e-6" if p < 1e-6 else f"p = {p:.2g}"
