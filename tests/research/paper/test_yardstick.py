"""The best fixed plan, against closed forms, another integral, brute force, an optimiser and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.special import ndtr

import tideproof as tp
from tideproof.errors import InputError
from tideproof.lab.share_intervals import binomial
from tideproof.research.paper.oracle_yardstick import FRACTION, best_plan, plan_pics, yardstick
from tideproof.research.paper.panels import contrast_panel_name, panels


def selected_instead(means, pulls):
    """Return PICS as the sum over the wrong arms of the probability that each is selected."""
    means, spread = np.array(means, float), 1 / np.sqrt(np.array(pulls, float))
    total = 0.0
    for i in np.flatnonzero(means < means.max()):
        rest = np.arange(len(means)) != i
        total += integrate.quad(
            lambda z, i=i, rest=rest: (
                np.exp(-0.5 * z * z)
                / np.sqrt(2 * np.pi)
                * ndtr((means[i] + z * spread[i] - means[rest]) / spread[rest]).prod()
            ),
            -12,
            12,
            points=(0, 2, 4, 6),
            epsabs=1e-16,
            epsrel=1e-9,
            limit=200,
        )[0]
    return total


@pytest.mark.parametrize("pulls", [(1, 1), (16, 16), (3, 90), (90, 3), (0.4, 700.5), (200, 300), (400, 400)])
def test_two_arms_have_a_closed_form(pulls):
    exact = stats.norm.cdf(-0.5 / np.sqrt(1 / pulls[0] + 1 / pulls[1]))
    assert plan_pics([0.0, 0.5], pulls) == pytest.approx(exact, rel=1e-9)
    assert plan_pics([0.5, 0.0], pulls) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("means", "pulls"),
    [
        ((0.0, 0.0, 0.5), (7, 7, 12)),
        ((0.3, 1.0, 0.0, 0.9), (5, 1, 30, 64)),
        ((0.0, 0.5, 1.0, 1.5, 2.0), (6, 11, 25, 128, 130)),
        ((0.0, 0.5, 1.0, 1.5, 2.0), (3.2, 5.4, 11.2, 39.2, 41.0)),
        (tuple(tp.slippage(10).means), (10, 12) * 5),
    ],
)
def test_pics_is_the_sum_over_who_is_selected_instead(means, pulls):
    assert plan_pics(means, pulls) == pytest.approx(selected_instead(means, pulls), rel=1e-8)


def test_many_plans_at_once_are_the_plans_one_by_one():
    plans = np.random.default_rng(1).integers(1, 60, (4, 3, 5))
    means = (0.1, 0.0, 0.7, 0.2, 0.4)
    together = plan_pics(means, plans)
    assert together.shape == (4, 3)
    assert together == pytest.approx(
        np.array([[plan_pics(means, plan) for plan in some] for some in plans]), rel=1e-12
    )
    order = [3, 0, 4, 2, 1]
    moved = plan_pics([means[i] for i in order], plans[..., order])
    assert together == pytest.approx(moved, rel=1e-12)


@pytest.mark.parametrize(
    ("means", "pulls"), [((0.0, 0.0, 0.5), 20), ((0.0, 0.4, 1.0), 17), ((0.9, 0.8, 0.0), 16), ((2, 0, 3), 6)]
)
def test_no_whole_plan_of_three_arms_is_better(means, pulls):
    plans = [(a, b, pulls - a - b) for a in range(1, pulls - 1) for b in range(1, pulls - a)]
    every = {plan: selected_instead(means, plan) for plan in plans}
    found = best_plan(means, pulls)
    assert found.pics == pytest.approx(min(every.values()), rel=1e-7)
    assert every[tuple(found.pulls.astype(int))] == pytest.approx(found.pics, rel=1e-7)


@pytest.mark.parametrize("configuration", [tp.mdm, tp.slippage])
@pytest.mark.parametrize(("arms", "pulls"), [(2, 61), (5, 100), (10, 100), (10, 300)])
def test_an_optimiser_that_starts_elsewhere_finds_no_better_plan(configuration, arms, pulls):
    means = configuration(arms).means

    def score(logs):
        return np.log(plan_pics(means, pulls * np.exp(logs) / np.exp(logs).sum()))

    start = np.random.default_rng(2).normal(size=arms)
    lowest = np.exp(optimize.minimize(score, start, method="L-BFGS-B").fun)
    fine, whole = best_plan(means, pulls, FRACTION), best_plan(means, pulls)
    assert fine.pics == pytest.approx(lowest, rel=1e-5)
    assert lowest * (1 - 1e-7) < fine.pics <= whole.pics < 1.04 * fine.pics
    assert fine.pulls.sum() == whole.pulls.sum() == pulls
    assert whole.pulls.min() >= 1
    assert (whole.pulls == whole.pulls.round()).all()
    if configuration is tp.slippage:  # the rivals are alike
        assert np.ptp(whole.pulls[:-1]) <= 1
        assert np.ptp(fine.pulls[:-1]) <= 16 * FRACTION  # PICS is flat around its minimum


def test_a_plan_errs_as_often_as_played():
    # one test of 400,000 runs at 1 - 1e-6: a false alarm in a million
    means, runs, rng = tp.mdm(5).means, 400_000, np.random.default_rng(5)
    plan = best_plan(means, 60)
    drawn = [
        rng.normal(mean, size=(runs, int(n))).mean(axis=1) for mean, n in zip(means, plan.pulls, strict=True)
    ]
    wrong = np.count_nonzero(np.argmax(drawn, axis=0) != 4)
    low, high = (end[0] for end in binomial(np.array([wrong]), runs, 1 - 1e-6))
    assert low < plan.pics < high < 0.06  # equal shares, 12 pulls an arm: .112


def test_the_table_has_every_budget_of_contrast():
    table = yardstick(1, 1)
    for means in ("mdm", "sc"):
        for arms in (5, 10):
            rows = [row for row in table if (row["configuration"], row["arms"]) == (means, arms)]
            assert (
                tuple(row["budget"] for row in rows)
                == panels()[contrast_panel_name(f"{means}-{arms}-general")].budgets
            )
            assert (np.diff([row["pics"] for row in rows]) < 0).all()
    (row,) = [r for r in table if (r["configuration"], r["arms"], r["budget"]) == ("sc", 5, 200)]
    assert row["pics"] == best_plan(tp.slippage(5).means, 200, FRACTION).pics


def test_every_arm_needs_a_pull():
    with pytest.raises(InputError, match="pulls must be a whole number of at least 3, not 2"):
        best_plan([0.0, 0.5, 1.0], 2)
    assert best_plan([0.0, 0.5, 1.0], 3).pulls.tolist() == [1, 1, 1]
