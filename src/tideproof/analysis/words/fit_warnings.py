"""Warnings about the analysis of a log: sentences on violated assumptions, each with what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tideproof.analysis.alarms import ALARM, SingleRow
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.within_label_test import WithinLabelTest
from tideproof.analysis.words.decision_text import harm_text
from tideproof.analysis.words.fit_text import can_winsorize, contrast_format
from tideproof.data.number_text import ABSENT
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import Additivity, two_factor_fit
from tideproof.stats.diagnostics.outlying_cell_search import find_outlying_cells
from tideproof.stats.diagnostics.sample_ratio import SampleRatio
from tideproof.stats.diagnostics.share_drift import share_drift
from tideproof.stats.scales.reward_logarithms import equal_variances_p, normality_p
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES
from tideproof.stats.scales.scale_test import run_scale_test
from tideproof.stats.solve.adjusted_means import can_leave_one_out
from tideproof.text import format_count, format_p, format_rounded, join_labels, join_names, quote_if_needed

if TYPE_CHECKING:
    from tideproof.analysis.several_metrics import Metrics

_LARGE = 0.25  # share of one reward in the total of its arm that causes a warning
_MANY = 20  # smallest number of rewards of an arm for that warning
_NUMBERS = {2: "two", 3: "three", 4: "four"}
_MOST_ALIKE = 5  # sentences about labels that look alike
_WINSORIZING_ADVICE = "The option winsorize=0.999 (--winsorize 99.9%) limits the influence of single rows."
_TWO_FACTOR_ADVICE = {
    "pairs": "Give every pair of levels a shift of its own: name the environment 'a:b' instead of 'a + b'.",
    "products": "Effects grow with the level of the rewards, as if they multiplied: consider a column of the "
    "logarithms of the rewards.",
}


class Caution(NamedTuple):
    """Warning about the analysis of a log: the violated assumption in one sentence, and advice."""

    fact: str
    advice: str = ""

    @property
    def text(self) -> str:
        """The whole text of a warning: the fact, then the advice."""
        return f"{self.fact} {self.advice}".rstrip()


def warn_of_labels(fit: Fit) -> list[Caution]:
    """Return warnings about labels of arms and environments that look alike or like missing values."""
    found = label_warnings("arm", fit.cells.arms)
    if fit.tide is None:
        found += label_warnings("environment", fit.cells.environments)
    return [Caution(text) for text in found]


def label_warnings(what: str, labels: Sequence[Any]) -> list[str]:
    """Return warnings about labels (of arms or of environments) that look alike or like missing values.

    >>> label_warnings("arm", ["B", "B ", "C"])
    ["Arms 'B' and 'B ' differ only in spaces or capitals; they are counted as two."]
    >>> label_warnings("arm", ["A", "NULL"])
    ["Arm 'NULL' looks like a missing value; it is counted as an arm."]
    >>> label_warnings("arm", ["01", "1"])
    ["Arms '01' and '1' are the same number; they are counted as two."]
    >>> label_warnings("environment", ["mon", "tue", 3])
    []
    """
    if not any(isinstance(label, str) for label in labels):
        return []  # only text can be misspelled
    said = {"differ only in spaces or capitals": _without_spaces, "are the same number": _whole_number}
    found = [
        f"{what.capitalize()}s {join_names(map(repr, group))} {how}; they are counted as "
        f"{_NUMBERS.get(len(group), len(group))}."
        for how, simplified in said.items()
        for group in _groups_alike(labels, simplified)
    ]
    absent = [label for label in labels if isinstance(label, str) and label.strip().lower() in ABSENT]
    article = "an" if what[0] in "aeiou" else "a"
    return found[:_MOST_ALIKE] + [
        f"{what.capitalize()} {label!r} looks like a missing value; it is counted as {article} {what}."
        for label in absent
    ]


def _groups_alike(labels: Sequence[Any], simplified: Callable[[str], str | None]) -> list[list[Any]]:
    """Group labels that become equal when simplified, such as by ignoring case or blanks."""
    alike: dict[str, list[Any]] = {}
    for label in labels:
        if (text := simplified(str(label))) is not None:
            alike.setdefault(text, []).append(label)
    return [group for group in alike.values() if len(group) > 1]


def _without_spaces(text: str) -> str:
    """Return a text without capitals and unnecessary spaces."""
    return " ".join(text.split()).casefold()


def _whole_number(text: str) -> str | None:
    """Return the digits of a whole number without leading zeros; None for other text.

    >>> _whole_number("01"), _whole_number("1.0"), _whole_number("0"), _whole_number("v1")
    ('1', '1', '0', None)
    """
    found = re.fullmatch(r"0*([0-9]+?)(\.0*)?", text)
    return None if found is None else found[1]


def fit_warnings(fit: Fit, misfit: Additivity | None) -> list[Caution]:
    """Return the warnings about violated assumptions of the analysis of a log."""
    found = within_label_warning(fit.inside)
    checks: list[Callable[[Fit], list[Caution]]] = [
        _scale_warning,
        partial(_additivity_warning, test=misfit),
        _variance_warning,
        _influence_warning,
        _traffic_warning,
    ]
    if fit.cells.factors is not None:
        checks.insert(2, _two_factor_warning)
    for check in checks if fit.tide is None else [_variance_warning]:
        if check is _variance_warning and found:  # the advice of that warning helps here, too
            continue
        try:
            found += check(fit)
        except InputError:  # too little data for this test
            continue
    return found


def _scale_warning(fit: Fit) -> list[Caution]:
    """Return a warning if the data reject the requested scale on which arms are compared."""
    if fit.choice.tests:
        return [Caution(fit.choice.sentence)] if all_scales_fail(fit) else []
    if fit.variance in ("clustered", "paired") or fit.interaction is not None:  # effects may differ
        return []
    unlike = _log_warning(fit)
    scale, what = SCALE_PROPERTIES[fit.scale].tested_as, SCALE_PROPERTIES[fit.scale].plural.capitalize()
    test = run_scale_test(fit.cells, scale, "ratio" if scale == "difference" else "difference")
    if test.p >= ALARM:
        return unlike
    return [
        *unlike,
        Caution(
            f"{what} between arms depend on the shift of the environment ({format_p(test.p)}).",
            _scale_advice(fit),
        ),
    ]


def _scale_advice(fit: Fit) -> str:
    """Return advice to search for another scale, such as ratios; empty if that is impossible or in use."""
    c, asked = fit.cells, {"variance": fit.variance != "auto", "scale": fit.choice.requested}
    used = [name for name, other in asked.items() if other]
    if c.units is not None or c.factors is not None or c.slope is not None or not used:
        return ""
    python = " with ".join(f"{name}='auto'" for name in used)
    terminal = " ".join(f"--{name} auto" for name in used)
    return f"The option {python} ({terminal}) searches for a scale on which they do not."


def all_scales_fail(fit: Fit) -> bool:
    """Return whether the data reject all scales for comparing arms (such as ratios) that were tried."""
    return fit.scale in fit.choice.tests and fit.choice.tests[fit.scale].p < ALARM


def _log_warning(fit: Fit) -> list[Caution]:
    """Return a warning if ratios of means cannot be estimated from the logarithms of rewards."""
    logs = fit.cells.logs
    if fit.scale != "log" or logs is None or normality_p(logs) >= ALARM:
        return []
    if (p := equal_variances_p(logs, logs.arm, logs.K)) >= ALARM:
        return []
    return [
        Caution(
            f"The logarithms of rewards are not normal, and their variance differs between arms "
            f"({format_p(p)}), so ratios of means cannot be computed from the logarithms.",
            "Use scale='ratio' (--scale ratio).",
        )
    ]


def _additivity_warning(fit: Fit, test: Additivity | None) -> list[Caution]:
    """Return the warning that shifts differ between arms, with the arm and environment that deviate most."""
    if test is None:
        return []
    said = (
        f"{SCALE_PROPERTIES[fit.scale].plural.capitalize()} between arms vary from environment to "
        f"environment more than noise explains (test of additivity, {format_p(test.p)})"
    )
    if large := large_reward_sentence(fit.cells):
        return [Caution(f"{said}.", large)]
    cell = test.worst.to_dicts()[0]
    return [
        Caution(
            f"{said}: the largest deviation is arm {quote_if_needed(cell['arm'])} in environment "
            f"{quote_if_needed(cell['environment'])} ({abs(cell['z']):.1f} standard errors).",
            _additivity_advice(fit),
        )
    ]


def large_reward_sentence(c: Cells) -> str:
    """Return a sentence on a reward that is over a quarter of the total reward of its arm, if there is one.

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
    arm = quote_if_needed(c.arms[c.arm[cell]])
    where = quote_if_needed(c.environments[c.environment[cell]])
    return (
        f"One reward, {format_rounded(c.high[cell])} of {arm} in {where}, is {100 * share[cell]:.0f} % of "
        f"the total reward of {arm}: check it first."
    )


def _additivity_advice(fit: Fit) -> str:
    """Return advice on options for data in which shifts differ between arms."""
    said, c = [], fit.cells
    if c.factors is not None or c.slope is not None:
        return ""
    if fit.variance not in ("clustered", "by-unit") and not fit.repeated and fit.about_requested == "similar":
        python, terminal = "variance='interaction'", "--variance interaction"
        if fit.choice.requested and fit.lifts:
            python, terminal = f"{python} with scale='difference'", f"{terminal} --scale difference"
        instead = f"differences instead of {SCALE_PROPERTIES[fit.scale].plural}"
        how = f"compares arms by {instead}, " if fit.lifts else ""
        said.append(
            f"Use {python} ({terminal}): it {how}allows differences to vary between environments, and shows "
            f"in how many of them each arm leads."
        )
    if fit.left_out is None and np.any(~find_outlying_cells(c).cells):
        said.append("If these rewards are an error, robust='cells' (--robust cells) excludes them.")
    return " ".join(said)


def _two_factor_warning(fit: Fit) -> list[Caution]:
    """Return a warning if the effects of two environment factors, such as site and year, do not add up."""
    test = two_factor_fit(fit.cells, fit.cells.solution)
    if test.p >= ALARM:
        return []
    figures = f"F = {test.F:.3g} on {test.df1:.3g} and {test.df2:.3g} degrees of freedom"
    return [
        Caution(
            f"The effects of the two columns of environments do not add up ({figures}, {format_p(test.p)}).",
            _TWO_FACTOR_ADVICE[test.against],
        )
    ]


def _variance_warning(fit: Fit) -> list[Caution]:
    """Return a warning if arms or environments have different variances and the model assumes equal ones."""
    if fit.variance not in ("common", "interaction"):
        return []
    test = fit.spread()
    found = {what: p for what, p in (("arm", test.p_arm), ("environment", test.p_environment)) if p < ALARM}
    if not found:
        return []
    if fit.tide is not None:
        how = join_names(
            "changes over time" if what == "environment" else "differs between arms" for what in found
        )
        return [Caution(f"The variance of rewards {how}, but the intervals assume that it is constant.")]
    model = f"by-{next(iter(found))}" if len(found) == 1 else "sandwich"
    if fit.interaction is not None:
        model = f"interaction+by-{next(iter(found))}"
    whose = join_names((f"{what}s ({format_p(p)})" for what, p in found.items()), "and between")
    return [
        Caution(
            f"The variance of rewards differs between {whose}.",
            f"Try variance='{model}' (--variance {model}).",
        )
    ]


def _influence_warning(fit: Fit) -> list[Caution]:
    """Return a warning if another arm would be the best after leaving out one of the environments."""
    if not fit.decision.names_winner or not can_leave_one_out(
        fit.cells
    ):  # without a winner there is nothing to lose
        return []
    table, today = fit.influence(), (None, fit.best)
    both = zip(table["environment"], table["best"], strict=True)
    others = [(environment, best) for environment, best in both if best not in today]
    if not others:
        return []
    if len(others) == 1:
        environment, best = map(quote_if_needed, others[0])
        return [Caution(f"Without environment {environment}, {best} would lead.")]
    names = join_labels((environment for environment, _ in others), "or")
    return [
        Caution(
            f"The winner depends on single environments: without any one of {names}, another arm would lead."
        )
    ]


def _traffic_warning(fit: Fit) -> list[Caution]:
    """Return a warning if the arms' shares of the traffic changed between environments."""
    if fit.adaptive or fit.variance == "paired" or (p := share_drift(fit.cells).p) >= ALARM:
        return []
    return [
        Caution(
            f"The arms' shares of the observations differ between environments ({format_p(p)}).",
            "Adjusted means account for different shares; raw means do not. If arms were assigned in fixed "
            "shares, find out why these changed; if by an adaptive policy (a bandit), use adaptive=True "
            "(--adaptive).",
        )
    ]


def within_label_warning(found: WithinLabelTest | None) -> list[Caution]:
    """Return the warning that all arms shift inside environments, and which shorter environments to use."""
    if found is None or found.p >= ALARM:
        return []
    df1, df2 = found.degrees_of_freedom
    return [
        Caution(
            f"The shift changes within environments (F = {found.F:.3g} on {df1:,} and {df2:,} degrees of "
            f"freedom, {format_p(found.p)}; significance level {ALARM:g}).",
            f"Use shorter environments (--environment '{found.finer}'), or --time without an environment.",
        )
    ]


def decisive_row_warning(row: SingleRow, fit: Fit) -> Caution:
    """Return the warning that a single row decides the lead of the best arm, with advice."""
    best, second = quote_if_needed(fit.decision.best), quote_if_needed(fit.decision.runner_up)
    arm, where, figures = quote_if_needed(row.arm), quote_if_needed(row.environment), contrast_format(fit)
    said = (
        f"One of {row.rows:,} rows decides: without the reward {format_rounded(row.reward)} of arm {arm} "
        f"in environment {where}, "
    )
    if row.leader != fit.decision.best:
        said += f"{quote_if_needed(row.leader)} would lead"
    elif fit.direction == "maximize":
        left, lead = (figures.format_rough(x, "+") for x in (row.without, row.with_it))
        said += f"the lead of {best} over {second} is {left} instead of {lead}"
    else:
        left, lead = (figures.format_rough(-x) for x in (row.without, row.with_it))
        said += f"{best} is {left} below {second} instead of {lead}"
    # it would not lower the most influential reward, if that is not the largest one
    largest = fit.cells.high is not None and row.reward >= fit.cells.high.max()
    return Caution(f"{said}.", _WINSORIZING_ADVICE if largest and can_winsorize(fit) else "")


def harm_warning(found: Metrics) -> list[Caution]:
    """Return a warning if the best arm is worse in a guardrail metric."""
    if not found.harmed:
        return []
    return [Caution(harm_text(found.deciding.best, found.control, found.harmed))]


def share_warning(ratio: SampleRatio) -> list[Caution]:
    """Return a warning if arms did not get their intended shares of all rows, or of all units."""
    if ratio.p >= ALARM:
        return []
    got = [
        f"{quote_if_needed(row['arm'])} {row['n']:,.0f} instead of {_expected_count(row['expected'])}"
        for row in ratio.arms
    ]
    what = "traffic" if ratio.counted == "rows" else "units, each counted once"
    return [
        Caution(
            f"Arms did not receive their intended shares of the {what} ({format_p(ratio.p)}): "
            f"{join_names(got)}; find out why."
        )
    ]


def share_notes(ratio: SampleRatio) -> list[str]:
    """Return notes on arms that the test of intended shares takes as left out of environments on purpose."""
    return [
        f"Arm {quote_if_needed(row['arm'])} is absent from {format_count(row['left_out'], 'environment')}, "
        f"which chance does not explain. The test of intended shares assumes that it was left out there on "
        f"purpose."
        for row in ratio.arms
        if row["left_out"]
    ]


def _expected_count(x: float) -> str:
    """Return an expected count as text, with a decimal if it is small."""
    return f"{x:,.0f}" if x >= 10.0 else f"{x:.1f}"
