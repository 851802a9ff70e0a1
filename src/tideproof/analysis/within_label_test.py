"""Does the tide move inside the labels? Finer labels, made of time, are tried against them.

If one shift a label describes the log, labels that are cut by the hour explain no more than chance allows:
the F test of nested least squares, whose size is exact for normal noise that is the same for all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from tideproof.data.column_spec import Request
from tideproof.data.dataset import Dataset
from tideproof.data.time_periods import period_of
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import f_tail
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import Solution, solve

ENOUGH = 10  # degrees of freedom that finer labels must leave
ALARM = 0.001  # p below which a label is too coarse
MOST = 20_000_000  # rewards, beyond which nobody is asked whether to look again


class Inside(NamedTuple):
    """A label against a finer one.

    Attributes
    ----------
    finer : the label that would do, the coarsest that no finer one beats; "" if the label itself does.
    F, p : of the label against the next finer one.
    freedom : both degrees of freedom of F.
    """

    finer: str
    F: float
    p: float
    freedom: tuple[int, int]


def look_inside(rows: Dataset, request: Request, cells: Cells, time: str | None) -> Inside | None:
    """Test the labels of a log, read as `cells`, against finer ones by the column of moments.

    None where there are none, or too few rewards.
    """
    first: Inside | None = None
    coarse, finest = solve(cells), ""
    for finer in finer_labels(request.environment, time, rows.columns):
        try:
            fine = solve(rows.group(replace(request, environment=finer)))
        except InputError:  # dates have no hours
            break
        found = nested(coarse, fine, finer)
        if found is None:
            continue
        first = first or found
        if found.p < ALARM:
            coarse, finest = fine, finer
    return first and first._replace(finer=finest)


def finer_labels(environment: str, time: str | None, columns: object) -> list[str]:
    """Return labels that are finer than an environment, the coarsest first.

    >>> finer_labels("week(ts)", None, ["ts"]), finer_labels("shift", "ts", ["shift", "ts"])
    (['day(ts)', 'hour(ts)'], ['shift:day(ts)', 'shift:hour(ts)'])
    """
    period = None if environment in columns else period_of(environment)  # type: ignore[operator]
    if period is not None:
        after = {"week": ("day", "hour"), "day": ("hour",)}.get(period.every, ())
        return [f"{each}({period.column})" for each in after]
    if time is None or environment not in columns:  # type: ignore[operator]
        return []
    return [f"{environment}:day({time})", f"{environment}:hour({time})"]


def nested(coarse: Solution, fine: Solution, finer: str) -> Inside | None:
    """Test coarse labels against finer ones: (RSS_c - RSS_f)/(f_c - f_f) over RSS_f/f_f."""
    more, left = coarse.freedom - fine.freedom, fine.freedom
    if more <= 0 or left < ENOUGH or not fine.rss > 0.0:
        return None
    F = max(coarse.rss - fine.rss, 0.0) / more / (fine.rss / left)
    return Inside(finer, F, f_tail(F, more, left), (more, left))


def warning(found: Inside | None) -> list[str]:
    """Say that the tide moves inside the labels, and which finer label would do."""
    if found is None or found.p >= ALARM:
        return []
    p = "p < 1e-6" if found.p < 1e-6 else f"p = {found.p:.2g}"
    return [
        f"The tide moves inside the environments (F = {found.F:.3g} on {found.freedom[0]:,} and "
        f"{found.freedom[1]:,} degrees of freedom, {p}; a test of size {ALARM:g}). --environment "
        f"'{found.finer}' follows it, and so does --time without an environment."
    ]
