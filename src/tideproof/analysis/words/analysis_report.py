"""Report of the analysis of a log: verdict, table of arms, notes, warnings, answers to usual questions.

The terminal, HTML reports, web pages and JSON all show these contents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.analysis.alarms import ALARM, decisive_row
from tideproof.analysis.arm_comparisons import Standing
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.outlier_exclusion import ExcludedCells
from tideproof.analysis.scale_choice import explain_misfits
from tideproof.analysis.words.decision_text import (
    CANNOT_BE_EXCLUDED,
    IS_BEST,
    environments_text,
    raw_mean_text,
)
from tideproof.analysis.words.fit_text import interaction_sentences, segment_lines, unit_notes
from tideproof.analysis.words.fit_warnings import (
    Caution,
    all_scales_fail,
    decisive_row_warning,
    fit_warnings,
    harm_warning,
    share_notes,
    share_warning,
    warn_of_labels,
)
from tideproof.data.cell_reader import WinsorizingThreshold
from tideproof.data.column_spec import ALL
from tideproof.errors import InputError
from tideproof.stats.diagnostics.additivity_test import Additivity, weighted_additivity
from tideproof.stats.diagnostics.outlying_cell_search import CUT, LARGEST_OUTLYING_SHARE
from tideproof.stats.diagnostics.sample_ratio import SampleRatio
from tideproof.stats.pairs.between_environment_pairs import FEWEST_ENVIRONMENTS
from tideproof.stats.variance.cell_variances import unequal_variances
from tideproof.stats.variance.variance_models import estimate, model_of
from tideproof.table import Table, to_json_values
from tideproof.text import (
    format_count,
    format_p,
    format_probability,
    format_rounded,
    join_labels,
    join_names,
    quote_if_needed,
)

if TYPE_CHECKING:
    from tideproof.analysis.segments import Segments
    from tideproof.analysis.several_metrics import Metrics
    from tideproof.analysis.versus_control import ControlComparison
    from tideproof.stats.looks.look_plan import Looks

_TESTED = (None, "several candidates", "other environments")  # doubts of a decision by tests
_WARNINGS = 3  # largest number of sentences of warnings
_NAMED = 4  # largest number of cells in a sentence
_KNOWN_NOISE = 30  # degrees of freedom with which the noise of an environment is known well
_UNEQUAL = 0.001  # p-value below which the noise differs clearly between environments
_ADDITIVE = 0.05  # p-value below which arms do not differ by the same amount in all environments
_MUCH_LIKELIER = 0.1  # difference of probabilities of being best that needs an explanation
_WORTH_A_NOTE = 0.1  # smaller gains are not worth a note
_MOST_WEIGHTED_CELLS = 5_000  # With more cells, a second fit takes too long for a note.
_IS_BEST, _CANNOT_BE_EXCLUDED = (f"“{said.capitalize()}”" for said in (IS_BEST, CANNOT_BE_EXCLUDED))


@dataclass(frozen=True, slots=True, eq=False)
class ExtraParts:
    """Optional parts of the report of a log's analysis; parts that are None or False are omitted.

    Attributes
    ----------
    against : comparison of each other arm with the control.
    metrics : several metrics, the first of which decides.
    segments : the fits of segments.
    sample_ratio : test of the intended shares of the traffic.
    winsorizing : the winsorizing threshold of the rewards.
    single_rows : whether to look for a single row that decides the lead.
    """

    against: ControlComparison | None = None
    metrics: Metrics | None = None
    segments: Segments | None = None
    sample_ratio: SampleRatio | None = None
    winsorizing: WinsorizingThreshold | None = None
    single_rows: bool = False


@dataclass(frozen=True, slots=True)
class FitReport:
    """Contents of the report of a log's analysis, as texts and tables.

    Attributes
    ----------
    fit : the fit that is reported.
    standing : "winner" (one arm can be the best), "winner_on_these" (only one in these environments),
        "open" (several can), "not_comparable".
    verdict : the sentence that names the best arm, its lead, and the confidence level; a second sentence if
        the arm may not be the best in other environments. It has no full stop at its end.
    arms : table with one row per arm, the best first: adjusted mean, low, high; whether it can be the best
        and p_best, or its group if arms cannot be compared; raw mean, bias, n.
    notes : sentences about the data that need no action.
    warnings : sentences about assumptions that are violated.
    answers : sentences that answer further questions, such as how metrics and segments compare.
    against : comparison of each other arm with the control, if there is one.
    parts : results of the additional parts as plain values, for JSON.
    metrics : the fits of several metrics, if there are several.
    """

    fit: Fit
    standing: Standing
    verdict: str
    arms: Table
    notes: list[str]
    warnings: list[str]
    answers: list[str]
    against: ControlComparison | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    metrics: Metrics | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dictionary of plain values, for JSON."""
        said = {"answers": self.answers, "notes": self.notes, "warnings": self.warnings}
        return self.fit.to_dict() | said | self.parts


def describe_fit(fit: Fit, extra: ExtraParts | None = None) -> FitReport:
    """Return the report of the analysis of a log, with the additional parts that were requested."""
    extra = ExtraParts() if extra is None else extra
    row = decisive_row(fit) if extra.single_rows else None
    if fit.decision.names_winner:
        if extra.sample_ratio is not None and extra.sample_ratio.p < ALARM:
            fit = fit.with_doubt("wrong shares")
        elif row is not None and row.leader != fit.decision.best:
            fit = fit.with_doubt("single row")
    standing = fit.decision.standing
    comparable = standing != "not_comparable"
    misfit = fit.misfit if comparable else None
    excluded = exclusion_cautions(fit.left_out) if fit.left_out is not None and fit.left_out.notable else []
    warnings, advice = _most_important(
        [
            *warn_of_labels(fit),  # first, as they may invalidate everything else
            *([] if extra.sample_ratio is None else share_warning(extra.sample_ratio)),
            *([] if row is None else [decisive_row_warning(row, fit)]),
            *([] if extra.metrics is None else harm_warning(extra.metrics)),
            *excluded,
            *(fit_warnings(fit, misfit) if comparable else []),
        ]
    )
    answers = [
        *(interaction_sentences(fit) if comparable else []),
        *([] if extra.metrics is None or not extra.metrics.verdict else [f"{extra.metrics.verdict}."]),
        *([] if extra.segments is None else segment_lines(extra.segments)),
    ]
    notes = [
        *advice,
        *([] if extra.sample_ratio is None else share_notes(extra.sample_ratio)),
        *([] if extra.winsorizing is None else [winsorizing_note(extra.winsorizing)]),
        *fit_notes(fit, misfit, "" if extra.segments is None else extra.segments.by),
    ]
    parts = {
        "against": None if extra.against is None else extra.against.to_dict(),
        "metrics": None if extra.metrics is None else extra.metrics.to_dict(),
        "segments": None if extra.segments is None else extra.segments.to_dict(),
        "winsorize": None if extra.winsorizing is None else extra.winsorizing._asdict(),
        "sample_ratio": None if extra.sample_ratio is None else to_json_values(extra.sample_ratio),
        "single_row": None if row is None else row._asdict(),
    }
    known = {name: value for name, value in parts.items() if value is not None}
    return FitReport(
        fit,
        standing,
        fit.verdict,
        _arms_table(fit),
        notes,
        warnings,
        answers,
        extra.against,
        known,
        extra.metrics,
    )


def _most_important(warnings: list[Caution]) -> tuple[list[str], list[str]]:
    """Return at most three sentences of warnings, and the other sentences (advice, further warnings)."""
    shown, rest = warnings[:_WARNINGS], warnings[_WARNINGS:]
    advice = [caution.advice for caution in shown if caution.advice]
    return [caution.fact for caution in shown], [*advice, *(caution.text for caution in rest)]


def fit_notes(fit: Fit, misfit: Additivity | None, split_by: str = "") -> list[str]:
    """Return notes on the data of an analysis, such as excluded outliers, and on how arms are compared.

    `split_by` is the column of segments, which split each environment of the log.
    """
    c = fit.cells
    rewards, arms = format_count(int(c.n.sum()), "reward"), format_count(len(c.arms), "arm")
    split = f" (each environment is split by {split_by})" if split_by else ""
    notes = [f"{rewards} of {arms} in {format_count(len(c.environments), 'environment')}{split}."]
    if fit.tide is not None:
        notes = [f"{rewards} of {arms}.", *fit.tide.sentences()]
    elif fit.bins is not None:
        notes = [f"{rewards} of {arms}.", fit.bins.sentence]
    elif len(c.environments) == 1:
        notes.append(
            f"With one environment, {'only covariates are' if c.slope else 'nothing is'} adjusted for."
        )
        if c.environments == [ALL]:
            notes.append(
                "If conditions and the arms' shares of the observations changed over time, give the "
                "environment of each reward: in a log by environment= (--environment), in an experiment by "
                "ask(environment=...)."
            )
    if len(fit.groups) == 1:
        notes += [
            *_scope_note(fit),
            *_scale_note(fit, misfit),
            *_weights_note(fit),
            *_two_arms_note(fit),
            *_disagreement_note(fit),
            *_raw_mean_note(fit),
            *unit_notes(fit),
        ]
    if fit.left_out is not None and not fit.left_out.notable:
        notes += [caution.text for caution in exclusion_cautions(fit.left_out)]
    if fit.anytime:
        notes.append(
            "Comparisons of arms are valid however often the results are inspected; intervals of single "
            "means are valid for one inspection only."
        )
    if fit.looks is not None:
        notes.append(_looks_note(fit.looks, fit.confidence))
    if fit.uninformative:
        single = [row["environment"] for row in fit.shifts if row["arms"] == 1]
        where = format_count(fit.uninformative, "environment")
        adds = "contributes" if fit.uninformative == 1 else "contribute"
        notes.append(
            f"{where} with a single arm {adds} nothing to comparisons of arms: {join_labels(single)}."
        )
    if c.utc:
        notes.append(
            f"{c.utc.capitalize()} are in UTC. Choose another time zone by time_zone='Europe/Berlin' "
            f"(--time-zone Europe/Berlin)."
        )
    if c.dropped:
        notes.append(f"Skipped because a value was missing: {format_count(c.dropped, 'row')}.")
    return [*notes, *fit.notes]


def _looks_note(plan: Looks, confidence: float) -> str:
    """Return the note on planned repeated analyses: the error spent so far, and what stopping early means."""
    spent = plan.error_spent(1.0 - confidence)
    share = f"{100 * spent[-1]:.2g} of {100 * (1 - confidence):.2g} % of error probability are spent"
    last = plan.made[-1] >= plan.looks
    after = "this is the last look" if last else "you may stop at any look"
    return (
        f"{plan.text.capitalize()} ({plan.spending} spending; {share}): comparisons of arms hold at all "
        f"planned looks together, and {after}. If a test is stopped because an arm was named, its estimated "
        "lead is on average too large; the interval still covers. Intervals of single means are valid for "
        "one look only."
    )


def _scope_note(fit: Fit) -> list[str]:
    """Return a note on why comparisons are about the observed environments only."""
    c, compared = fit.cells, int(fit.cells.compares.sum())
    if fit.about == fit.about_requested or len(c.environments) == 1 or len(fit.groups) > 1:
        return []
    if fit.tide is not None or fit.bins is not None:
        why = "it takes a log with environments"
    elif c.factors is not None:
        why = "it takes one column of environments"
    elif compared < FEWEST_ENVIRONMENTS:
        why = f"it takes {FEWEST_ENVIRONMENTS} environments with two arms or more"
    elif fit.variance not in ("auto", "by-unit"):
        why = f"variance={fit.variance!r} does not allow for differences that vary between environments"
    elif fit.anytime:
        why = "it takes more environments if the log is analyzed again and again"
    elif fit.scale == "log":
        why = "choose another scale than logarithms"
    else:
        why = f"each group of arms needs {FEWEST_ENVIRONMENTS} environments with two arms or more"
    return [
        f"Comparisons are about averages over these environments. For a statement about environments like "
        f"these, future ones included, {why}."
    ]


def _scale_note(fit: Fit, misfit: Additivity | None) -> list[str]:
    """Return the note on how arms are compared (such as by ratios) and why, unless a warning says so.

    With a single environment there are no shifts whose scale could be tested.
    """
    if all_scales_fail(fit) or (len(fit.cells.environments) == 1 and fit.choice.tests):
        return []
    return [fit.choice.sentence if misfit is None else explain_misfits(fit.choice)]


def _weights_note(fit: Fit) -> list[str]:
    """Return a note on `variance="by-environment"` if it would shorten the interval of the best arm's lead.

    The model is only named, not used: it weights environments by precision instead of traffic. That is
    another average wherever the arms do not differ by the same amount in all environments.
    """
    if not _weights_apply(fit):
        return []
    try:
        p, shorter = _gain_of_weights(fit)
    except InputError:  # too little data for a test
        return []
    if shorter < _WORTH_A_NOTE:
        return []
    best, other = quote_if_needed(fit.decision.best), quote_if_needed(fit.decision.runner_up)
    return [
        f"The variance of rewards differs between environments ({format_p(p)}). variance='by-environment' "
        f"(--variance by-environment) gives more weight to environments with less noise: the interval for "
        f"the difference between {best} and {other} in these environments would be about "
        f"{100 * shorter:.0f} % shorter. This is valid only if arms differ by the same amount in all "
        f"environments. Decide which variance to use before you compare results: choosing the better of two "
        f"results causes more errors."
    ]


def _weights_apply(fit: Fit) -> bool:
    """Return whether the fit could use weights by environment, and knows the noise of every environment."""
    c = fit.cells
    if fit.variance != "auto" or fit.adaptive or fit.tide is not None or fit.bins is not None:
        return False
    if c.binary or c.factors is not None or c.slope is not None or c.n.size > _MOST_WEIGHTED_CELLS:
        return False
    if fit.scale != "difference" and "difference" not in fit.choice.possible:
        return False
    freedom = c.by_environment(c.n - 1.0)[c.compares]
    return fit.decision.runner_up is not None and bool(np.all(freedom >= _KNOWN_NOISE))


def _gain_of_weights(fit: Fit) -> tuple[float, float]:
    """Return the p-value of equal variances in all environments, and the share by which weights shorten.

    The share is 0 unless variances differ clearly and the weighted fit is compatible with additivity.
    """
    c, decision = fit.cells, fit.decision
    p = unequal_variances(c).p_environment
    pools = model_of("by-environment").pools
    if p >= _UNEQUAL or pools is None or weighted_additivity(c, pools(c), 1).p < _ADDITIVE:
        return p, 0.0
    i, k = c.arms.index(decision.best), c.arms.index(decision.runner_up)
    weighted, plain = (estimate(c, c.solution, name).error_of(i, k)[0] for name in ("by-environment", "auto"))
    return p, 1.0 - weighted / plain


def _two_arms_note(fit: Fit) -> list[str]:
    """Return a note with the one-sided p-value of the best arm if there are only two arms; else no note."""
    doubt, best, other = fit.decision.doubt, fit.decision.best, fit.decision.runner_up
    if fit.repeated or len(fit.cells.arms) != 2 or doubt not in _TESTED:
        return []
    found = fit.lead_contrast
    if (p := found.p) is None:
        return []
    exact = (
        " The p-values and the interval come from exact tests, which condition on the number of rewards "
        "equal to 1 in each environment."
        if found.exact
        else ""
    )
    best, other = quote_if_needed(best), quote_if_needed(other)
    beats = f"{best} beats {other}" if fit.direction == "maximize" else f"{best} is below {other}"
    where = "" if fit.about == "these" else f", {environments_text(fit.sure_about)}"
    return [
        f"With two arms, the test is two-sided ({format_p(p)}{where}). If you decided before the experiment "
        f"to test only whether {beats}, use the one-sided test ({format_p(0.5 * p)}).{exact}"
    ]


def _disagreement_note(fit: Fit) -> list[str]:
    """Return a note on why verdict and probabilities of being best seem to disagree; empty if they agree."""
    decision, chance = fit.decision, fit.p_best
    if decision.doubt not in (None, "several candidates"):  # no probability is shown
        return []
    best, error, named = decision.best, 1.0 - fit.confidence, decision.names_winner
    own = chance[best]
    likely, largest = max(((arm, p or 0.0) for arm, p in chance.items()), key=lambda pair: pair[1])
    if largest > (own or 0.0) + _MUCH_LIKELIER:
        return [
            f"{quote_if_needed(likely)} is more probably the best ({format_probability(largest)}) than "
            f"{quote_if_needed(best)} ({format_probability(own or 0.0)}), which leads by its estimate: the "
            f"estimate of {quote_if_needed(best)} is less precise."
        ]
    if own is None:
        return []
    rate = f"is wrong in at most {100 * error:.4g} % of logs"
    posterior = (
        "The verdict and the probability of being best use different methods. The probability is a posterior "
        "probability for this log."
    )
    unlikely = [arm for arm in decision.candidates if (chance[arm] or 0.0) < error / len(chance)]
    if named and own < fit.confidence:
        return [f"{posterior} {_IS_BEST} is the result of a test that {rate}."]
    if not named and (own >= fit.confidence or unlikely):
        return [
            f"{posterior} {_CANNOT_BE_EXCLUDED} is the result of a test that {rate}. An arm with a small "
            f"probability of being best can therefore still be a candidate."
        ]
    return []


def _raw_mean_note(fit: Fit) -> list[str]:
    """Return a note on which arms would win by means without adjustment for shifts.

    These are the raw mean and the period-weighted mean (an average over environments).
    """
    pick = max if fit.direction == "maximize" else min
    rows = fit.averages.to_dicts()
    same = fit.tide is not None or len(fit.cells.environments) == 1  # period-weighted means add nothing
    names = ("raw_mean",) if same else ("raw_mean", "period_mean")
    raw, *period = (pick(rows, key=lambda row: row[name])["arm"] for name in names)
    return [raw_mean_text(raw, fit.best, *period)]


def winsorizing_note(threshold: WinsorizingThreshold) -> str:
    """Return the note that rewards above a certain value were winsorized (replaced by that value)."""
    share = f"{100 * threshold.share:g} %"
    return f"Rewards above {format_rounded(threshold.at)}, their {share} quantile, were replaced by it."


def exclusion_cautions(found: ExcludedCells) -> list[Caution]:
    """Return which outlying arm-by-environment cells were excluded."""
    looked = f"{format_count(found.looked, 'cell')} (each is one arm in one environment)"
    if found.torn:
        return [
            Caution(
                f"More than {100 * LARGEST_OUTLYING_SHARE:.0f} % of {looked} are more than {CUT:g} standard "
                f"errors from the model.",
                "Outliers cannot be identified among so many, so none was excluded.",
            )
        ]
    if not len(found.table):
        none = f"None of {looked} is more than {CUT:g} standard errors from the model, so none was excluded."
        return [Caution(none)]
    rows = [row for row in found.table if row["environment"] not in found.environments]
    names = [
        f"{quote_if_needed(row['arm'])} in {quote_if_needed(row['environment'])} ({abs(row['z']):.0f} "
        f"standard errors)"
        for row in rows
    ]
    names += [f"all of {quote_if_needed(environment)}" for environment in found.environments]
    count = len(found.table)
    return [
        Caution(
            f"{count:,} of {looked} {'is' if count == 1 else 'are'} more than {CUT:g} standard errors from "
            f"the model and {'was' if count == 1 else 'were'} excluded: {join_names(names, most=_NAMED)}.",
            f"Check {'its' if count == 1 else 'their'} data.",
        )
    ]


def _arms_table(fit: Fit) -> Table:
    """Return the report's table of arms, the best first: means, intervals, and which can be the best."""
    rows = {row["arm"]: row for row in fit.arms}
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
        # if the verdict names no arm for lack of evidence, probabilities are omitted
        # a probability about other environments would contradict the winner in these
        few = fit.decision.void or fit.decision.doubt in (
            "too few events",
            "too few units",
            "other environments",
        )
        columns["p_best"] = [None if few else rows[arm]["p_best"] for arm in order]
    columns["raw_mean"] = [rows[arm]["raw_mean"] for arm in order]
    largest = float(abs(fit.cells.mean).max())
    columns["bias"] = [_remove_rounding(_difference(rows[arm]), largest) for arm in order]
    columns["n"] = [rows[arm]["n"] for arm in order]
    return Table(columns)


def _difference(row: dict[str, Any]) -> float | None:
    """Return the raw mean of an arm minus its adjusted mean."""
    raw, mean = row["raw_mean"], row["mean"]
    return None if raw is None or mean is None else raw - mean


def _remove_rounding(x: float | None, largest: float) -> float | None:
    """Return a difference of two numbers, or 0 if the difference is mere rounding error.

    `largest` is the size of the two numbers.

    >>> [_remove_rounding(x, 3.5) for x in (-4.4e-16, 1e-9, None)], _remove_rounding(1e-9, 1e5)
    ([0.0, 1e-09, None], 0.0)
    """
    return 0.0 if x is not None and abs(x) <= 1e-13 * largest else x
