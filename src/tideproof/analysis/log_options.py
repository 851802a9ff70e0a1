"""Options of the analysis of a log (columns, statistics, comparisons), and checks of their combinations.

`tp.fit`, `tp.segments`, `tp.metrics`, `tideproof analyze`, the upload page and `plan --from` fill in these
records, so that all of them refuse the same combinations with the same sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import signature
from typing import Any, TypedDict

from tideproof.analysis.arm_comparisons import About
from tideproof.analysis.outlier_exclusion import Robust, check_robust
from tideproof.analysis.scale_choice import ScaleChoice
from tideproof.checks import Direction, Prior, require_prior
from tideproof.data import Decimal, Missing
from tideproof.errors import InputError, UnknownName
from tideproof.stats.looks.look_plan import Looks, check_looks
from tideproof.stats.variance.variance_models import ABOUT_SIMILAR, Variance
from tideproof.text import join_names

_OTHER_NAMES = {"level": "confidence", "cap": "winsorize"}  # option names that users may expect


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnOptions:
    """Options on the columns of a log and on how to read them; the function `fit` describes each option.

    Attributes
    ----------
    environment : a column or an expression; None: all rows share one environment; "": not chosen.
    guess : whether to guess arm, environment and reward, where they are not given, from the names and types
        of the columns of a file or database.
    """

    arm: str | None = None
    environment: str | None = ""
    reward: str | None = None
    time: str | None = None
    n: str | None = None
    sample_variance: str | None = None
    sd: str | None = None
    successes: str | None = None
    wide: Sequence[str] | None = None
    table: str | None = None
    missing: Missing = "refuse"
    time_zone: str | None = None
    decimal: Decimal | None = None
    covariates: str | Sequence[str] = ()
    unit: str | None = None
    guess: bool = False

    @property
    def covariate_columns(self) -> tuple[str, ...]:
        """Names of the columns of the log that hold covariates."""
        return (self.covariates,) if isinstance(self.covariates, str) else tuple(self.covariates)

    @property
    def hidden_tide(self) -> bool:
        """Whether the log has times instead of environments, so that shifts are estimated over time."""
        return self.time is not None and not self.environment


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsOptions:
    """Options of the statistical analysis, such as the confidence level, described in the function `fit`."""

    direction: Direction = "maximize"
    confidence: float = 0.95
    variance: Variance = "auto"
    scale: ScaleChoice = "auto"
    prior: Prior = "exchangeable"
    anytime: bool = False
    adaptive: bool = False
    robust: Robust | None = None
    winsorize: float | None = None
    about: About = "similar"
    looks: Looks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOptions:
    """Options of further comparisons: control arm, segments, guardrail metrics and shares of the traffic.

    Attributes
    ----------
    control : the arm with which all others are compared; a text also names an arm that is a number.
    by : column that defines segments, each of which is analyzed separately.
    guardrails : further rewards, which must not get worse.
    low : the rewards for which lower values are better.
    expected : intended shares of the arms, by arm, or in the order of the arms.
    shorter_environments : whether to test if the shift changes within environments although no `time` column
        is given.
    """

    control: Any = None
    by: str | None = None
    guardrails: Sequence[str] = ()
    low: Sequence[str] = ()
    expected: Mapping[Any, float] | Sequence[float] | None = None
    shorter_environments: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisOptions:
    """All options of the analysis of a log, grouped by purpose.

    `spell` returns the name under which users know an option: as in Python or as on the command line.
    """

    columns: ColumnOptions = field(default_factory=ColumnOptions)
    statistics: StatisticsOptions = field(default_factory=StatisticsOptions)
    comparisons: ComparisonOptions = field(default_factory=ComparisonOptions)
    spell: Callable[[str], str] = str

    @property
    def variance(self) -> Variance:
        """Name of the variance model of rewards: "by-unit" if a column holds the unit, such as the user."""
        variance = self.statistics.variance
        if not self.columns.unit or variance == "paired":
            return variance
        if variance not in ("auto", "common", "by-unit"):
            raise InputError(
                f"unit= (--unit) requires variance='by-unit' or 'paired': leave out variance={variance!r}"
            )
        return "by-unit"

    @property
    def about(self) -> About:
        """Which environments comparisons of all rows are about.

        Segments split each environment, so the parts do not tell how much arms differ between environments.
        """
        split = self.comparisons.by is not None and self.variance not in ABOUT_SIMILAR
        return "these" if split else self.statistics.about

    def check(self) -> None:
        """Raise an error, before the log is read, if the options of the analysis cannot be combined."""
        columns, statistics, comparisons = self.columns, self.statistics, self.comparisons
        if columns.environment == "" and columns.time is None and not columns.guess:
            raise InputError(
                "choose environment='day' (rows of a day share a shift), time='ts' (the tide is estimated "
                "over time), or environment=None (no adjustment)"
            )
        rewards = [*([] if columns.reward is None else [columns.reward]), *comparisons.guardrails]
        if comparisons.guardrails or comparisons.low:
            check_metrics(rewards, comparisons.low)
        if statistics.robust is not None:
            check_robust(statistics.robust)
        if comparisons.by is not None:
            check_segments(statistics.adaptive, statistics.anytime)
            if statistics.robust is not None:
                robust, by = self.spell("robust"), self.spell("by")
                raise InputError(f"{robust} cannot be combined with {by}: analyze the segments one by one")
        require_prior(statistics.prior)
        if statistics.looks is not None:
            check_looks(statistics.looks, statistics.anytime, statistics.adaptive)
        if columns.hidden_tide:
            self._check_hidden_tide()
        _ = self.variance

    def _check_hidden_tide(self) -> None:
        """Raise an error for options that the analysis of a log without environments does not support."""
        columns, statistics, comparisons = self.columns, self.statistics, self.comparisons
        asked = {
            "n": columns.n,
            "sample_variance": columns.sample_variance,
            "sd": columns.sd,
            "successes": columns.successes,
            "wide": columns.wide,
            "time_zone": columns.time_zone,
            "covariates": columns.covariates,
            "unit": columns.unit,
            "winsorize": statistics.winsorize,
            "by": comparisons.by,
            "robust": statistics.robust,
            "anytime": statistics.anytime,
            "looks": statistics.looks,
        }
        given = [self.spell(name) for name, value in asked.items() if value]
        given += ["several rewards"] if comparisons.guardrails else []
        given += [self.spell("environment=None")] if columns.environment is None else []
        if statistics.scale not in ("auto", "difference"):
            given.append(f"scale={statistics.scale!r}")
        if statistics.variance not in ("auto", "common"):
            given.append(f"variance={statistics.variance!r}")
        if given:
            time, environment = self.spell("time"), self.spell("environment")
            raise InputError(
                f"an analysis with a hidden tide ({time} without {environment}) uses only arm, time and "
                f"reward: leave out {join_names(given)}, or name a column of environments"
            )


class LogOptions(TypedDict, total=False):
    """Options for reading a log, which the functions `fit`, `segments` and `metrics` share.

    `fit` describes each option.
    """

    n: str | None
    sample_variance: str | None
    sd: str | None
    successes: str | None
    wide: Sequence[str] | None
    table: str | None
    missing: Missing
    time_zone: str | None
    decimal: Decimal | None
    covariates: str | Sequence[str]
    unit: str | None


def check_option_names(function: Callable[..., Any], options: Mapping[str, object]) -> None:
    """Raise an error if keyword options of `function` have unknown names; it suggests the right name.

    `options` are those that are not parameters of the function. The names of column options are known.
    """
    known = [name for name in signature(function).parameters if name not in ("data", "options")]
    known += [each.name for each in fields(ColumnOptions) if each.name not in ("reward", *known)]
    for name in options:
        if name in _OTHER_NAMES:
            raise UnknownName(f"{function.__name__}() has no option {name!r}; use {_OTHER_NAMES[name]}=")
        if name not in known:
            raise UnknownName.with_suggestion("option", name, known, f"of {function.__name__}()")


def check_segments(adaptive: bool, anytime: bool) -> None:
    """Raise an error if the options do not allow separate analyses of segments, such as countries."""
    if adaptive and not anytime:
        raise InputError(
            "with adaptive=True (--adaptive), segments require anytime=True (--anytime): other intervals are "
            "valid only for all rows together"
        )


def check_metrics(rewards: Sequence[str], low: Sequence[str]) -> None:
    """Raise an error if the names of metrics (reward columns) are missing, repeated or contradictory.

    They contradict if `low`, the metrics to minimize, contains others.
    """
    if isinstance(rewards, str) or not rewards or len(set(rewards)) < len(rewards):
        raise InputError(
            f"rewards must be a list of different columns, of which the first decides, such as "
            f"['sales', 'clicks'], not {rewards!r}"
        )
    for name in low:
        if name not in rewards:
            raise UnknownName.with_suggestion("metric", name, rewards)
