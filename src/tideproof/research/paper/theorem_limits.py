"""Compute exact variances of estimates as environments are added, to check a paper's Theorem 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.research.paper.dummy_regression import covariance, dummies
from tideproof.research.paper.growing_designs import (
    ENVIRONMENTS,
    exact_variances,
    fixed_designs,
    is_connected,
    more_designs,
)
from tideproof.table import Table

VARIANCE_OF_SHIFTS = 20.0**2 / 12.0  # of the paper's shifts, which are uniform between 0 and 20


def theorem_quantities(seed: int, replications: int) -> Table:
    """Compute the variances of estimates, and their bounds, that a paper's Theorem 1 makes claims about.

    They are computed on all designs, as environments are added. The noise has the standard deviation 1.
    """
    rows: list[tuple[Any, ...]] = []
    for name, design in (fixed_designs(seed) | more_designs()).items():
        for J in ENVIRONMENTS:
            counts = design.until(J)
            if len(counts) == J > 2 and is_connected(counts):
                found = exact_variances(counts, design.pair) | proof_terms(counts, design.pair)
                rows += [(name, J, quantity, value) for quantity, value in found.items()]
    columns = ("design", "environments", "quantity", "value")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def proof_terms(counts: Floats, pair: tuple[int, int]) -> dict[str, float]:
    """Compute for a pair of arms the variances, weights and bounds that appear in a paper's proof.

    `counts` are the pulls by environment and arm. The proof assumes bounds v* and w*. Here they are the
    smallest and the largest variance or covariance of shift estimators.
    """
    K = counts.shape[1]
    a, b = pair
    every = covariance(counts)
    means, shifts = every[:K, :K], every[K:, K:]
    pulls, sizes = counts.sum(axis=0), counts.sum(axis=1)[1:]
    weights = counts[1:] / pulls  # weight of each shift in each raw mean
    apart = np.abs(weights[:, a] - weights[:, b]).sum()
    in_mean = weights[:, a].sum() ** 2
    printed = (shifts**2 @ sizes) / shifts.diagonal()
    spread = means.diagonal()
    differences = spread[:, None] + spread - 2.0 * means
    whole = np.abs(counts[:, a] / pulls[a] - counts[:, b] / pulls[b])
    found = {
        "largest Var(difference)": differences.max(),
        "Corr(mu_1, mu_2)": means[a, b] / np.sqrt(means[a, a] * means[b, b]),
        "Var(mu_1), shifts centred": _centred(counts, every)[a],
        "smallest Var(s_j) or Cov(s_j, s_m)": shifts.min(),
        "largest Var(s_j) or Cov(s_j, s_m)": shifts.max(),
        "largest Cov(raw mean, s_j)": np.abs(_with_raw_means(counts, every)).max(),
        "weight of the shifts in a mean, squared": in_mean,
        "lower bound of the proof": shifts.min() * in_mean + 1.0 / pulls[a],
        "sum of |n_1j/N_1 - n_2j/N_2|": apart,
        "upper bound of the proof": 1.0 / pulls[a] + 1.0 / pulls[b] + shifts.max() * apart**2,
        "smallest printed Var(s_j) over OLS": printed.min(),
        "largest printed Var(s_j) over OLS": printed.max(),
        "shift term of raw means, root mean square": np.sqrt(VARIANCE_OF_SHIFTS * (whole**2).sum()),
        "fewest pulls of an arm": pulls.min(),
        "environments over pulls": len(counts) / pulls.sum(),
        "smallest share of an arm": pulls.min() / pulls.sum(),
    }
    return {quantity: float(value) for quantity, value in found.items()}


def _with_raw_means(counts: Floats, every: Floats) -> Floats:
    """Return the covariances between the raw means of the arms and the estimated shifts.

    The result is an array (K, J - 1).
    """
    K = counts.shape[1]
    X, n = dummies(counts)
    raw = (X[:, :K] * n[:, None] / counts.sum(axis=0)).T  # raw means as weights of cell means
    estimates = every @ (X.T * n)  # estimators as weights of cell means, whose variance is 1/n
    return np.asarray((raw / n) @ estimates[K:].T)


def _centred(counts: Floats, every: Floats) -> Floats:
    """Return the variances of estimated means if the average shift over all pulls is defined as zero."""
    K = counts.shape[1]
    to_centre = np.hstack([np.eye(K), np.tile(counts.sum(axis=1)[1:] / counts.sum(), (K, 1))])
    return np.asarray(((to_centre @ every) * to_centre).sum(axis=1))
