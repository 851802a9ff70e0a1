"""The function `fit`, which reads a log from any source and estimates the mean of each arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tideproof.analysis.arm_comparisons import About
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.log_analysis import analyze_log
from tideproof.analysis.log_options import AnalysisOptions, ColumnOptions, StatisticsOptions
from tideproof.analysis.outlier_exclusion import Robust
from tideproof.analysis.scale_choice import ScaleChoice
from tideproof.checks import Direction, Prior
from tideproof.data import Decimal, Missing
from tideproof.stats.looks.look_plan import Looks
from tideproof.stats.variance.variance_models import Variance


def fit(
    data: Any,
    *,
    arm: str | None = None,
    environment: str | None = "",
    reward: str | None = None,
    time: str | None = None,
    direction: Direction = "maximize",
    confidence: float = 0.95,
    variance: Variance = "auto",
    scale: ScaleChoice = "auto",
    prior: Prior = "exchangeable",
    anytime: bool = False,
    n: str | None = None,
    sample_variance: str | None = None,
    sd: str | None = None,
    successes: str | None = None,
    wide: Sequence[str] | None = None,
    table: str | None = None,
    missing: Missing = "refuse",
    time_zone: str | None = None,
    decimal: Decimal | None = None,
    covariates: str | Sequence[str] = (),
    unit: str | None = None,
    winsorize: float | None = None,
    adaptive: bool = False,
    robust: Robust | None = None,
    about: About = "similar",
    looks: Looks | None = None,
) -> Fit:
    """Estimate the mean reward of each arm from a log, with the shifts of the environments removed.

    Use it when you have all the data: which variant, on which day, earned how much.

    Parameters
    ----------
    data
        A table with one row for each reward: a mapping of columns or a `Table`; any data frame that narwhals
        supports (pandas, polars, pyarrow, PySpark, ...), eager or lazy; a DuckDB relation; the path of a CSV,
        TSV, Parquet or JSON lines file, compressed or not, or a glob pattern; an Excel file; a DuckDB or
        SQLite file; the URL of a PostgreSQL database; "-" for standard input. A database or data frame engine
        groups the rows itself.
    arm, environment, reward
        Names of the columns. The environment may be `hour(ts)`, `day(ts)` or `week(ts)` of a timestamp column
        `ts` (or of seconds or milliseconds since 1970); `day(ts, dayfirst)` and `day(ts, monthfirst)` say how
        to read dates such as 1/2/2024. Environments and arms may be combinations of columns such as
        `rep:block`. Two factors with additive effects are written `cow + period`. None: all rows share one
        environment. Rewards may be numbers, truth values (also as yes and no), or a ratio of two columns:
        `revenue / sessions`, the sum of one over the sum of the other.
    time
        Column of times, or of numbers that only define an order, for a log without environments. The tide is
        then estimated as a curve over time with jumps, and removed; `Fit.tide` describes it. Rows need not be
        sorted; rows with the same time share one shift. Where single rewards cannot show a tide (0/1, mostly
        0, skewed), rows are grouped into time bins, which serve as environments: `Fit.bins`. With
        `environment`, the given environments are used, and `Fit.inside` tests whether the tide moves inside
        them.
    direction
        Whether a high reward is good ("maximize") or bad ("minimize").
    confidence
        Confidence level of the intervals.
    variance
        Model of the noise. "auto": for 0/1 rewards, the variance that follows from their means; for others,
        the variance inside cells, with intervals corrected for skewness. The other models are for the scale
        of differences and use Student-t intervals: the same variance for all rewards ("common"), one variance
        for each arm ("by-arm") or environment ("by-environment"), any variances ("sandwich"), or shifts that
        differ between arms ("clustered"). `unit` sets its own model. "interaction": arms differ from
        environment to environment by an amount that is estimated, and `Fit.interaction` says which arm leads
        where; "interaction+by-arm" and "interaction+by-environment" add unequal variances; "own-interaction"
        and "own-interaction+by-arm" estimate that amount for each arm.
    scale
        How arms are compared: "difference" (the shift adds to all rewards), "ratio" (the shift multiplies
        them; estimates are lifts), "odds" (the shift multiplies the odds of 0/1 rewards), "log" (shift and
        noise multiply rewards above 0; lifts are estimated from logarithms), or "auto": the one of the first
        three that fits the data, see `Fit.choice`.
    prior
        Prior distribution behind `Fit.p_best`: "exchangeable", the means of arms come from one normal
        distribution, whose standard deviation is estimated; or "flat", all differences are equally likely.
        Under "exchangeable" there is no probability unless an arm is clearly the best. Under "flat" there
        always is, but it is too high where arms nearly tie.
    anytime
        Whether you look at this log repeatedly while it grows. The candidates and all confidence intervals of
        contrasts then hold at all looks together with probability `confidence`, so you may stop at any time.
        Without it and without `looks` they hold for one look.
    n, sample_variance, sd
        For aggregated rows: the columns of the number of rewards and of their variance (divisor n - 1) or
        standard deviation; `reward` then holds means. The number may be a sum of columns, such as `won +
        lost`.
    successes
        For aggregated rows of 0/1 rewards: the column of how many of the n rewards were 1, in place of
        `reward`.
    wide
        For a table with one column for each arm: the names of those columns, in place of `arm` and `reward`.
        Each row holds one reward of each arm; empty values are skipped.
    table
        In a database, the name of a table, or a query that begins with `select` or `with`. In an Excel file,
        the name of a sheet.
    missing
        "refuse" raises an error if a row lacks a value; "drop" skips such rows and counts them.
    time_zone
        Time zone that defines hours, days and weeks, such as "Europe/Berlin". With it, times without a zone
        are read as UTC. Without it, zoned times are converted to UTC, and other times are used unchanged.
    decimal
        Decimal separator of rewards that are text, "." or ","; detected by default.
    covariates
        Columns of numbers that were known before the arm was assigned, such as earlier spending. Their effect
        is removed from the rewards (CUPED), which makes intervals shorter.
    unit
        Column of the user or unit ID, where a unit gives several rewards. Tests and intervals allow for
        rewards of a unit that depend on each other. Without it, aggregated rows are units if several have the
        same arm and environment.
    winsorize
        Winsorizing quantile, such as 0.999: rewards above this quantile of all rewards are replaced by it.
    adaptive
        Whether a policy chose arms by earlier rewards. Intervals of contrasts then allow for it, and the
        model "by-arm" pools the arms that have too few rewards for a variance of their own.
    robust
        "cells": detect cells (arm and environment) and whole environments that are much further from the
        model than noise explains, such as after a logging error, and exclude them. `Fit.left_out` lists them.
    about
        Which environments the winner, the candidates and contrasts are about. "similar": the average over
        environments like those in the log, future ones included, where differences between arms may vary from
        environment to environment. That needs `variance="auto"` with at least 4 environments, "clustered" or
        a model with interactions; otherwise, statements are about the observed environments. If a winner is
        only certain in these, `Fit.decision.standing` is "winner_on_these". "these": the observed
        environments only.
    looks
        Planned looks, such as `tp.Looks(14, look=5)`: this is the fifth of 14. The candidates and all
        confidence intervals of contrasts then hold at all planned looks together, and you may stop at any of
        them. They are shorter than with `anytime`.

    Examples
    --------
    B looks worse on average, because it ran on the bad day. Side by side it wins:

    >>> log = {
    ...     "variant": ["A", "A", "A", "B", "A", "B", "B", "B"],
    ...     "day": ["sun", "sun", "sun", "sun", "rain", "rain", "rain", "rain"],
    ...     "sales": [9.1, 9.0, 8.8, 10.1, 2.0, 2.9, 3.2, 3.1],
    ... }
    >>> fit(log, arm="variant", environment="day", reward="sales")
    B is best on average over these 2 environments (95 % confidence): +1.10 over A, the runner-up (95 % ...
    arm  n  raw_mean   mean       se    low   high   p_best
    A    4     7.225  5.475  0.07444  5.284  5.666  < 0.001
    B    4     4.825  6.575  0.07444  6.384  6.766  > 0.999
    8 rewards in 2 environments; standard deviation of the noise: 0.138 (5 degrees of freedom)
    """
    options = AnalysisOptions(
        columns=ColumnOptions(
            arm=arm,
            environment=environment,
            reward=reward,
            time=time,
            n=n,
            sample_variance=sample_variance,
            sd=sd,
            successes=successes,
            wide=wide,
            table=table,
            missing=missing,
            time_zone=time_zone,
            decimal=decimal,
            covariates=covariates,
            unit=unit,
        ),
        statistics=StatisticsOptions(
            direction=direction,
            confidence=confidence,
            variance=variance,
            scale=scale,
            prior=prior,
            anytime=anytime,
            adaptive=adaptive,
            robust=robust,
            winsorize=winsorize,
            about=about,
            looks=looks,
        ),
    )
    return analyze_log(data, options).fit
