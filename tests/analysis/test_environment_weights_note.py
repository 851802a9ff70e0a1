"""The note that weights by environment would make an interval shorter, and that it is absent elsewhere."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import tideproof as tp
from tideproof.analysis import Fit
from tideproof.analysis.words import analysis_report
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.stats.cells import Cells


def weights_notes(fit):
    return [said for said in describe_fit(fit).notes if "by-environment) gives more weight" in said]


# Trials of two toothpastes: n, mean and sd of A, then of B (R package HSAUR; Everitt, Hothorn 2006).
TRIALS = [
    (134, 5.96, 4.24, 113, 4.72, 4.72),
    (175, 4.74, 4.64, 151, 5.07, 5.38),
    (137, 2.04, 2.59, 140, 2.51, 3.22),
    (184, 2.70, 2.32, 179, 3.20, 2.46),
    (174, 6.09, 4.86, 169, 5.81, 5.14),
    (754, 4.72, 5.33, 736, 4.76, 5.29),
    (209, 10.10, 8.10, 209, 10.90, 7.90),
    (1151, 2.82, 3.05, 1122, 3.01, 3.32),
    (679, 3.88, 4.85, 673, 4.37, 5.37),
]
TABLE = {
    "trial": [trial for trial in range(1, 10) for _ in "AB"],
    "arm": ["A", "B"] * 9,
    "n": [row[k] for row in TRIALS for k in (0, 3)],
    "mean": [row[k] for row in TRIALS for k in (1, 4)],
    "sd": [row[k] for row in TRIALS for k in (2, 5)],
}


def toothpaste(**options):
    return tp.fit(
        TABLE, arm="arm", environment="trial", reward="mean", n="n", sd="sd", direction="minimize", **options
    )


def made(sd, gap=0.0, n=40, squares=1.0):
    """Return 8 environments of arms A and B whose sample means are equal to the expected ones."""
    sd, gap = np.broadcast_to(sd, 8).astype(float), np.broadcast_to(gap, 8).astype(float)
    environment, arm = np.repeat(np.arange(8), 2), np.tile([0, 1], 8)
    size = np.full(16, float(n))
    wobble = 1.0 + 0.02 * np.cos(np.arange(16))  # without any, the test of equal variances is impossible
    mean = environment + arm * gap[environment]
    squared = squares * (size - 1.0) * sd[environment] ** 2 * wobble
    return Cells(["A", "B"], list(range(8)), arm, environment, size, mean, squared)


UNEQUAL = np.array([1.0, 6.0, 1.0, 6.0, 2.0, 3.0, 1.0, 6.0])


@pytest.mark.parametrize("options", [{}, {"about": "these"}, {"scale": "difference"}])
def test_known_standard_deviations_of_trials_give_a_note(options):
    (said,) = weights_notes(toothpaste(**options))
    assert "variance='by-environment' (--variance by-environment)" in said
    n_a, _, sd_a, n_b, _, sd_b = np.array(TRIALS, float).T
    both = n_a * n_b / (n_a + n_b)
    variance = ((n_a - 1) * sd_a**2 + (n_b - 1) * sd_b**2) / (n_a + n_b - 2)
    weighted, plain = 1 / math.sqrt(np.sum(both / variance)), math.sqrt(np.sum(both * variance)) / both.sum()
    percent = int(re.search(r"about (\d+) % shorter", said)[1])
    assert percent == pytest.approx(100 * (1 - weighted / plain), abs=1.5)
    assert percent == 16


def test_the_advice_of_the_note_works():
    plain, weighted = toothpaste(about="these"), toothpaste(variance="by-environment")
    assert plain.contrast("A", "B").p == pytest.approx(0.055, abs=0.001)
    assert weighted.contrast("A", "B").p == pytest.approx(0.0135, abs=0.0005)
    assert weights_notes(weighted) == []


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (made(2.0), {}),
        (made(UNEQUAL, n=15), {}),
        (made(UNEQUAL, gap=np.arange(8.0)), {}),
        (made(UNEQUAL), {"variance": "common"}),
        (made(UNEQUAL), {"variance": "interaction"}),
        (made(UNEQUAL), {"scale": "ratio"}),
        (made(UNEQUAL), {"adaptive": True}),
        (made(UNEQUAL, squares=0.0), {}),
        (made([1.0, 1.25] * 4, n=4000), {}),
    ],
    ids=["equal", "few", "not additive", "common", "interaction", "ratio", "adaptive", "exact", "small gain"],
)
def test_no_note_without_a_reason(cells, options):
    assert weights_notes(Fit(made(UNEQUAL, gap=0.1, n=16), scale="difference"))
    assert weights_notes(Fit(cells, **({"scale": "difference"} | options))) == []


def test_no_note_on_rates_large_logs_and_arms_that_cannot_be_compared(monkeypatch):
    rates = made(1.0, n=100)
    mean = np.repeat([0.5, 0.01, 0.5, 0.01, 0.5, 0.01, 0.5, 0.01], 2)
    assert weights_notes(Fit(replace(rates, mean=mean, squares=100 * mean * (1 - mean)))) == []
    apart = made(UNEQUAL).select(np.array([0, 3]))
    assert weights_notes(Fit(apart, scale="difference")) == []
    monkeypatch.setattr(analysis_report, "_MOST_WEIGHTED_CELLS", 15)
    assert weights_notes(Fit(made(UNEQUAL), scale="difference")) == []
