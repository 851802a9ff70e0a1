"""Test whether all arms shift inside environments, by splitting each of them, such as a day into hours.

If one shift per environment describes the log, environments that are split by day or hour explain no more
than chance allows. This is the F test of nested least-squares models; its size is exact for normal noise
with a common variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import Dataset
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import f_tail
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import Solution

ENOUGH = 10  # degrees of freedom that shorter environments must leave
ALARM = 0.001  # p-values below it mean that the environments are too long
MOST = 20_000_000  # largest number of rewards for which the test is made without being requested


class WithinLabelTest(NamedTuple):
    """Result of an F test of shorter environments, such as hours, against the given ones, such as days.

    Attributes
    ----------
    finer : the environments to use instead: the longest ones that no shorter ones improve significantly. ""
        if the given environments suffice.
    F, p : statistic and p-value of the test against the next shorter environments.
    degrees_of_freedom : of the numerator and the denominator of F.
    """

    finer: str
    F: float
    p: float
    degrees_of_freedom: tuple[int, int]


def compare_with_shorter(
    rows: Dataset, request: ColumnSpec, cells: Cells, shorter: Sequence[str]
) -> WithinLabelTest | None:
    """Test whether shorter environments, such as hours instead of days, fit a log better.

    Return None if there are too few rewards.
    """
    first: WithinLabelTest | None = None
    coarse, finest = cells.solution, ""
    for finer in shorter:
        try:
            fine = rows.group(replace(request, environment=finer)).solution
        except InputError:  # a column of dates has no hours
            break
        found = nested_f_test(coarse, fine, finer)
        if found is None:
            continue
        first = first or found
        if found.p < ALARM:
            coarse, finest = fine, finer
    return first and first._replace(finer=finest)


def nested_f_test(coarse: Solution, fine: Solution, finer: str) -> WithinLabelTest | None:
    """Return the F test of whether shorter environments fit a log better; None if there are too few rewards.

    With residual sums of squares RSS and degrees of freedom f of the coarse and the fine environments,
    F = [(RSS_coarse - RSS_fine) / (f_coarse - f_fine)] / (RSS_fine / f_fine).
    """
    more, left = coarse.freedom - fine.freedom, fine.freedom
    if more <= 0 or left < ENOUGH or not fine.rss > 0.0:
        return None
    F = max(coarse.rss - fine.rss, 0.0) / more / (fine.rss / left)
    return WithinLabelTest(finer, F, f_tail(F, more, left), (more, left))
