"""`fit`: from a log, wherever it is, to a `Fit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tideproof.analysis.fit_result import Fit
from tideproof.analysis.log_options import LogOptions, noise_of, open_log
from tideproof.analysis.outlier_exclusion import Robust, checked_robust
from tideproof.analysis.scale_selection import ScaleChoice, logs_wanted
from tideproof.analysis.unlabelled_log import check_hidden, most_rows, unlabelled, unusable
from tideproof.analysis.within_label_test import look_inside
from tideproof.checks import Direction
from tideproof.data import Decimal, Missing
from tideproof.data.cell_reader import read
from tideproof.data.time_ordered_rows import Timed
from tideproof.errors import InputError
from tideproof.stats.best.p_best import Prior
from tideproof.stats.variance.variance_models import Variance


def fit(
    data: Any,
    *,
    arm: str | None = None,
    environment: str | None = "",
    reward: str | None = None,
    time: str | None = None,
    direction: Direction = "maximize",
    level: float = 0.95,
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
    cap: float | None = None,
    adaptive: bool = False,
    robust: Robust | None = None,
) -> Fit:
    """Estimate the arms of a log, the shift of each environment taken out.

    Use it when you have all the data: which variant, on which day, earned how much.

    Parameters
    ----------
    data
        One row an observation: a mapping of columns or a `Table`; any frame that narwhals knows (pandas,
        polars, pyarrow, PySpark, ...), eager or lazy; a DuckDB relation; the path of a CSV, TSV, Parquet
        or JSON lines file, compressed or not, or a glob of them; an Excel file; a DuckDB or SQLite file;
        the URL of a PostgreSQL database; "-" for what comes through a pipe. Rows are grouped where they
        are.
    arm, environment, reward
        The names of its columns. The environment may be `hour(ts)`, `day(ts)` or `week(ts)` of a
        timestamp column `ts` (or of seconds or milliseconds since 1970), or pairs such as `rep:block`.
        Two that add up are written `cow + period`. None: all rows are of one environment. Rewards may be
        truth values, also as yes and no, and quotients: `revenue / sessions`, sum over sum.
    time
        The column of moments (times, or numbers that only have an order) of a log without environments: its
        tide is followed as a curve with jumps, and taken out; `Fit.tide` says what it did. Rows are put in
        order; those of one moment share one tide. Where single rewards cannot show a tide (0/1, mostly 0,
        skewed), rows are put into bins of time instead, as if these were labels: `Fit.bins`. With an
        environment, labels are used as they are, and `Fit.inside` says whether the tide moves inside them.
    direction
        Whether a high reward is good ("maximize") or bad ("minimize").
    level
        Coverage of the intervals.
    variance
        What is known of the noise. "auto": of 0/1 rewards all that their means say, of others what the cells
        show, limits corrected for skewness. Or, on the scale of differences, Student-t limits for noise that
        is the same for all ("common"), "by-arm", "by-environment", anything ("robust"), or with shifts that
        are not even the same for all arms ("clustered"); `unit` brings its own. "interaction": arms differ
        from environment to environment, by how much is estimated, and `Fit.interaction` says who leads where;
        "interaction+by-arm" and "interaction+by-environment" where noise is unequal, too, "own-interaction"
        and "own-interaction+by-arm" if some arms differ more than others.
    scale
        In what arms are compared: "difference" (the tide adds to all rewards), "ratio" (it multiplies them;
        estimates are lifts), "odds" (0/1 rewards whose odds it multiplies), "log" (it multiplies rewards
        above 0, and so does noise: the same lifts, from logarithms), or "auto": what the data say, in
        `Fit.choice`.
    prior
        What `Fit.p_best` takes for granted: "exchangeable", that the means of arms come from one normal
        distribution, whose spread the data tell; or "flat", that any gap was as likely as any other.
    anytime
        Whether you look at this log again and again while it grows. What is said of who is best, and all
        limits of one arm against another, then hold at all looks at once, with probability `level`: stop
        when you like. Without it they hold for one look.
    n, sample_variance, sd
        For rows that are aggregated already: the columns of their count and of their variance (divisor
        n - 1) or standard deviation; `reward` then holds means.
    successes
        For aggregated rows of 0s and 1s: the column of how many of the n were 1, in place of `reward`.
    wide
        For a table with a column for each arm: those columns, in place of `arm` and `reward`. Each row
        has one reward of each; an empty one is none.
    table
        In a database: a table's name, or a query that begins with `select` or `with`. In an Excel file:
        a sheet's name.
    missing
        "refuse" rows that lack a value, or "drop" and count them.
    time_zone
        Whose hours, days and weeks are meant, such as "Europe/Berlin"; UTC unless it is given. Times
        without a zone are then in UTC; without it they are taken as they are.
    decimal
        What stands before the decimals of rewards that are text, "." or ","; usually found out.
    covariates
        Columns of numbers that were known before the arm was drawn, such as what somebody spent before:
        what they explain is taken out of the rewards (CUPED), and intervals get shorter.
    unit
        The column of who a reward came from, where one gives several, in one environment or many: the
        standard errors then allow for it.
    cap
        Rewards above the quantile of this share of them all, such as 0.999, count as that quantile.
    adaptive
        Whether a policy chose arms by the rewards before: limits of differences then allow for it, and noise
        by arm takes arms with too few rewards to tell together.
    robust
        "cells": an arm in an environment that is simply wrong (a logging bug, an outage), or a whole
        environment, is found by how far it lies from what the others say, and left out; `Fit.left_out` names
        it.

    Examples
    --------
    B looks worse on average, because it ran on the bad day. Side by side it wins:

    >>> log = {
    ...     "variant": ["A", "A", "A", "B", "A", "B", "B", "B"],
    ...     "day": ["sun", "sun", "sun", "sun", "rain", "rain", "rain", "rain"],
    ...     "sales": [9.1, 9.0, 8.8, 10.1, 2.0, 2.9, 3.2, 3.1],
    ... }
    >>> fit(log, arm="variant", environment="day", reward="sales")
    B is best (95 %): +1.10 over A, the runner-up (+0.81 to +1.39; lift +20 %); best with probability ...
    arm  n  raw_mean   mean       se    low   high   p_best
    A    4     7.225  5.475  0.07444  5.284  5.666  < 0.001
    B    4     4.825  6.575  0.07444  6.384  6.766  > 0.999
    8 rewards in 2 environments; sigma 0.138 on 5 degrees of freedom
    """
    options: LogOptions = {
        "n": n,
        "sample_variance": sample_variance,
        "sd": sd,
        "successes": successes,
        "wide": wide,
        "table": table,
        "missing": missing,
        "time_zone": time_zone,
        "decimal": decimal,
        "covariates": covariates,
        "unit": unit,
        "cap": cap,
    }
    if environment == "" and time is None:
        raise InputError(
            "say which rows belong together (environment='day'), or when they were (time='ts'), or that "
            "nothing is to be adjusted (environment=None)"
        )
    noise = noise_of(variance, options)
    checked_robust(robust)
    if time is not None and not environment:
        check_hidden(
            scale=scale, variance=noise, anytime=anytime, others=unusable(options) | {"robust": robust}
        )
        with open_log(data, arm, time, reward, **options) as (rows, request, _):
            return hidden_fit(
                rows.timed(request, most_rows()),
                direction=direction,
                level=level,
                prior=prior,
                adaptive=adaptive,
                variance=noise,
                scale=scale,
            )
    inside = None
    with open_log(data, arm, environment, reward, logs=logs_wanted(scale, noise), **options) as log:
        found = read(*log)
        if time is not None:
            rows, request, _ = log
            inside = look_inside(rows, request, found.cells, time)
    return Fit(
        found.cells,
        direction=direction,
        adaptive=adaptive,
        level=level,
        variance=noise,
        scale=scale,
        prior=prior,
        anytime=anytime,
        inside=inside,
        robust=robust,
    )


def hidden_fit(
    rows: Timed,
    *,
    direction: Direction = "maximize",
    level: float = 0.95,
    prior: Prior = "exchangeable",
    adaptive: bool = False,
    variance: Variance = "auto",
    scale: ScaleChoice = "auto",
) -> Fit:
    """Fit rows in the order of time whose tide nobody labelled."""
    cells, tide, bins = unlabelled(rows, logs_wanted(scale, variance))
    return Fit(
        cells,
        direction=direction,
        adaptive=adaptive,
        level=level,
        variance=variance,
        scale=scale,
        prior=prior,
        tide=tide,
        bins=bins,
    )
