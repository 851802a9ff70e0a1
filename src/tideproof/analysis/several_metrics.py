"""Analysis of several metrics of the same rows: the first metric decides, the others are guardrails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from tideproof.analysis.arm_comparisons import About
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.log_analysis import analyze_log
from tideproof.analysis.log_options import (
    AnalysisOptions,
    ColumnOptions,
    ComparisonOptions,
    LogOptions,
    StatisticsOptions,
    check_metrics,
    check_option_names,
)
from tideproof.analysis.scale_choice import ScaleChoice
from tideproof.analysis.versus_control import against, read_interval
from tideproof.analysis.words.decision_text import guardrails_text, leading_control_text, metric_text
from tideproof.analysis.words.fit_text import contrast_format
from tideproof.stats.looks.look_plan import Looks
from tideproof.stats.variance.variance_models import Variance
from tideproof.table import Table, render_notebook_html


@dataclass(frozen=True, slots=True, eq=False)
class Metrics:
    """Analyses of several metrics of the same rows: one metric that decides, and guardrail metrics.

    Attributes
    ----------
    fits : the fit of each metric; the first metric decides.
    control : the arm with which the others are compared; None to compare each with the best other arm.
    """

    fits: dict[str, Fit]
    control: Any = None

    @property
    def deciding(self) -> Fit:
        """The analysis of the metric that decides which arm is the best."""
        return next(iter(self.fits.values()))

    @property
    def table(self) -> Table:
        """Table that compares every arm with the control, or with the best other arm, in every metric.

        Columns: metric, arm, estimate, low, high, lift, conclusion ("better", "worse", "unclear", "not
        comparable"). The intervals of one metric hold for all arms at once. They are not adjusted for the
        number of metrics, so that harm to a guardrail is not missed.
        """
        rows: list[dict[str, Any]] = []
        for metric, fit in self.fits.items():
            found = _compare_with_best(fit) if self.control is None else against(fit, self.control)
            rows += [{"metric": metric} | row for row in found]
        names = ("metric", "arm", "estimate", "low", "high", "lift", "conclusion")
        return Table({name: [row.get(name) for row in rows] for name in names})

    @property
    def verdict(self) -> str:
        """One sentence on how the best arm of the first metric performs in each guardrail metric."""
        decision, metrics = self.deciding.decision, list(self.fits)
        if decision.best is None or len(metrics) < 2:
            return ""
        arm = decision.best
        if arm == self.control:
            return leading_control_text(arm)
        mine = {row["metric"]: row for row in self.table if row["arm"] == arm}
        said = [_metric_comparison(metric, mine[metric], self.fits[metric]) for metric in metrics[1:]]
        return guardrails_text(arm, self.control, said)

    @property
    def harmed(self) -> list[str]:
        """The guardrail metrics in which the best arm of the first metric is worse."""
        best = self.deciding.decision.best
        first = next(iter(self.fits))
        return [
            r["metric"]
            for r in self.table
            if r["arm"] == best and r["metric"] != first and r["conclusion"] == "worse"
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the results of all metrics as a dictionary of plain values, for JSON."""
        return {
            "control": self.control,
            "verdict": self.verdict,
            "harmed": self.harmed,
            "table": self.table.to_dicts(),
        }

    def __repr__(self) -> str:
        return "\n".join([*self._said(), repr(self.table)])

    def _repr_html_(self) -> str:
        return render_notebook_html("\n".join(self._said()), self.table)

    def _said(self) -> list[str]:
        """Return the verdict on the best arm and, if there are guardrail metrics, its results in them."""
        return [self.deciding.verdict, *filter(None, [self.verdict])]


def metrics(
    data: Any,
    *,
    rewards: Sequence[str],
    arm: str,
    environment: str | None,
    low: Sequence[str] = (),
    control: Any = None,
    confidence: float = 0.95,
    variance: Variance = "auto",
    scale: ScaleChoice = "auto",
    anytime: bool = False,
    winsorize: float | None = None,
    about: About = "similar",
    looks: Looks | None = None,
    **options: Unpack[LogOptions],
) -> Metrics:
    """Estimate the arm means of a log in each of several metrics (reward columns) of the same rows.

    Use it where one metric decides and others must not get worse: sales, but also clicks and latency.

    Parameters
    ----------
    data, arm, environment, confidence, variance, scale, winsorize, about, looks
        As in `fit`, whose other options are accepted, too. Covariates adjust all metrics; `winsorize` applies
        to the first metric only.
    rewards
        Columns of the metrics, or ratios of two columns; the first metric decides.
    low
        The metrics in which a low number is good.
    control
        The arm with which the others are compared. Without it, each arm is compared with the best of the
        others.

    Examples
    --------
    >>> log = {"variant": "AABB" * 2, "sales": [1.0, 2, 4, 5] * 2, "wait": [1.0, 1.1, 3.0, 3.3] * 2}
    >>> found = metrics(log, rewards=["sales", "wait"], low=["wait"], arm="variant", environment=None)
    >>> found.deciding.best, found.harmed
    ('B', ['wait'])
    """
    check_option_names(metrics, options)
    check_metrics(rewards, low)
    asked = AnalysisOptions(
        columns=ColumnOptions(arm=arm, environment=environment, reward=rewards[0], **options),
        statistics=StatisticsOptions(
            confidence=confidence,
            variance=variance,
            scale=scale,
            anytime=anytime,
            winsorize=winsorize,
            about=about,
            looks=looks,
        ),
        comparisons=ComparisonOptions(guardrails=rewards[1:], low=low),
    )
    found = analyze_log(data, asked)
    return combine_metrics({rewards[0]: found.fit, **found.guardrails}, control)


def combine_metrics(fits: Mapping[str, Fit], control: Any = None) -> Metrics:
    """Combine the analyses of several metrics; raise an error if the control arm is unknown."""
    found = Metrics(dict(fits), control)
    if control is not None:
        against(found.deciding, control)
    return found


def _compare_with_best(fit: Fit) -> list[dict[str, Any]]:
    """Return comparisons of each arm with the best other arm, each judged "better", "worse" or "unclear"."""
    rows = []
    for row in fit.comparisons:
        if row["estimate"] is None:
            rows.append(row | {"conclusion": "not comparable"})
        else:
            rows.append(row | {"conclusion": _best_conclusion(row, fit.direction)})
    return rows


def _best_conclusion(row: dict[str, Any], direction: str) -> str:
    """Return "better", "worse" or "unclear": the result of comparing an arm with the best other arm.

    The interval of such a comparison may end at 0, which counts as a known sign.
    """
    low, high = row["low"], row["high"]
    if low is None or high is None or low < 0.0 < high:
        return "unclear"
    return read_interval(low or high, high or low, direction)


def _metric_comparison(metric: str, row: dict[str, Any], fit: Fit) -> str:
    """Return the comparison of an arm with the control or the best arm, in one metric, as text."""
    bounds = row["low"], row["high"]
    unit = contrast_format(fit)
    return metric_text(metric, row["conclusion"], row["estimate"], bounds, unit, fit.confidence)
