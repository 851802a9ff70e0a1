"""Reference tests for two arms: Mantel-Haenszel for rewards of 0 or 1, Welch for all other rewards."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.random_logs import draw
from tideproof.stats.best.student_inference import chi2_tail, f_tail
from tideproof.stats.cells import Cells


class PairedTests(NamedTuple):
    """Results of tideproof and of a reference test on the same logs of two arms.

    Attributes
    ----------
    ours, theirs : (logs,) two-sided p-values, negative where the first arm looks better.
    named : (logs,) the named winner: 1 for the second arm, -1 for the first, 0 for none.
    """

    ours: Floats
    theirs: Floats
    named: Ints


def run_paired_tests(setting: Setting, first: int, last: int) -> PairedTests:
    """Apply tideproof and the reference test to some simulated logs of one kind, with two arms.

    The logs have the numbers `first` to `last` - 1.
    """
    test = mantel_haenszel if setting.rewards == "conversions" else welch
    rows = []
    for number in range(first, last):
        cells = draw(setting, number).cells
        fit = Fit(cells, about="these")
        decision = fit.decision
        named = 0 if not decision.names_winner else 1 if decision.best == 1 else -1
        found = fit.contrast(1, 0)
        p = 1.0 if found.p is None else found.p
        rows.append((math.copysign(p, found.estimate), test(cells), named))
    return PairedTests(*(np.array(column) for column in zip(*rows, strict=True)))


def mantel_haenszel(cells: Cells) -> float:
    """Return the p-value of the Mantel-Haenszel test, negative if the first of two arms looks better.

    It is negative if the first of two arms looks better.

    References
    ----------
    Mantel, Haenszel (1959), Statistical aspects of the analysis of data from retrospective studies of
    disease.
    """
    n, events = np.zeros((2, 2, cells.J))
    n[cells.arm, cells.environment] = cells.n
    events[cells.arm, cells.environment] = cells.n * cells.mean
    N, T = n.sum(axis=0), events.sum(axis=0)
    both = np.flatnonzero((n > 0.0).all(axis=0))
    n, events, N, T = n[:, both], events[:, both], N[both], T[both]
    above = float(np.sum(events[1] - n[1] * T / N))
    variance = float(np.sum(n[0] * n[1] * T * (N - T) / (N**2 * (N - 1.0))))
    return math.copysign(chi2_tail(above**2 / variance, 1), above) if variance else 1.0


def welch(cells: Cells) -> float:
    """Return the p-value of Welch's t-test, negative if the first of two arms looks better.

    The test ignores environments.

    References
    ----------
    Welch (1947), The generalization of "Student's" problem when several different population variances
    are involved.
    """
    n = cells.counts
    mean = cells.by_arm(cells.n * cells.mean) / n
    squares = cells.by_arm(cells.squares + cells.n * (cells.mean - mean[cells.arm]) ** 2)
    noise = squares / (n - 1.0) / n
    if not noise.sum() > 0.0:
        return 1.0
    t = (mean[1] - mean[0]) / math.sqrt(noise.sum())
    degrees_of_freedom = float(noise.sum() ** 2 / np.sum(noise**2 / (n - 1.0)))
    return math.copysign(f_tail(t * t, 1, degrees_of_freedom), t)
