"""The rivals of benchmarks/rivals.py keep the contract of policies, and do what their platforms do."""

import sys
from pathlib import Path

import numpy as np
import pytest

import tideproof as tp
from tideproof.testing import policy_checks

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def _path():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def growthbook(**options):
    from rival_policies.growthbook import POLICY

    return tp.policy(POLICY, **({"enough": 4, "draws": 20} | options))


def thompson(**options):
    from rival_policies.periodic_thompson import POLICY

    return tp.policy(POLICY, **({"enough": 4} | options))


@pytest.mark.parametrize(("rival", "every"), [(growthbook, 0), (thompson, 7)])
def test_contract(rival, every):
    for check in policy_checks(rival(every=every)):
        check()


def played(spec, world, seed=3, budget=120):
    run = tp.replay(world, spec, seed=seed, budget=budget)
    return run, np.array(run.arm), np.array(run.environment), np.array(run.reward)


def periods(day, every, enough):
    """Number the periods: the first has enough visitors, all end with a day or after so many visitors."""
    found, begun, number = [], 0, 0
    for t in range(day.size):
        over = day[t] != day[t - 1] if every == 0 else t - begun >= every
        if t >= enough and over:
            begun, number = t, number + 1
        found.append(number)
    return np.array(found)


def their_means(arms, arm, period, reward):
    """GrowthBook's means and variances, written from its formulas: matrices of periods and arms."""
    periods = np.unique(period)
    means, variances, counts = (np.zeros((periods.size, arms)) for _ in range(3))
    for j, when in enumerate(periods):
        for i in range(arms):
            cell = reward[(period == when) & (arm == i)]
            counts[j, i] = cell.size
            means[j, i] = cell.mean() if cell.size else 0.0
            variances[j, i] = cell.var(ddof=1) / cell.size if cell.size > 1 else 0.0
    weight = counts.sum(axis=1) / counts.sum()
    return weight @ means, weight**2 @ variances, counts


@pytest.mark.parametrize(("every", "zero"), [(0, True), (9, True), (0, False)])
def test_growthbook_selects_by_means_that_are_zero_where_an_arm_is_absent(every, zero):
    world = tp.World([0.0, 0.3, 0.6], 1.0, (3, 12), tp.worlds.Uniform(2.0, 12.0))
    absent = 0
    for seed in range(8):
        run, arm, day, reward = played(growthbook(every=every, zero=zero), world, seed)
        period = periods(day, every, 12)
        assert period[-1] > 5
        means, _, counts = their_means(3, arm, period, reward)
        absent += np.count_nonzero(counts == 0)
        if not zero:  # weighted over the periods that had the arm
            means /= (counts.sum(axis=1) / counts.sum()) @ (counts > 0)
        assert run.selected == np.argmax(means)
    assert absent > 0  # else it would not be tested


def test_growthbook_plays_by_first_and_second_places():
    """In one long last day, its shares are those of draws with NumPy from its posteriors, at least 1 % before."""
    days = 20 * [10]
    world = tp.World(
        [0.0, 0.5, 1.0, -3.0], 1.0, tp.worlds.Lengths([*days, 4_000]), tp.worlds.Uniform(0.0, 1.0)
    )
    _, arm, day, reward = played(growthbook(draws=2_000), world, budget=4_200)
    before = day < 20
    means, variances, _ = their_means(4, arm[before], periods(day[before], 0, 16), reward[before])
    drawn = np.random.default_rng(1).normal(means, np.sqrt(variances), (200_000, 4))
    places = np.argsort(drawn, axis=1)[:, -2:]
    weights = np.maximum(np.bincount(places.ravel(), minlength=4) / places.size, 0.01)
    weights /= weights.sum()
    shares = np.bincount(arm[day == 20], minlength=4) / 4_000
    # 4,000 visitors and 2,000 draws: standard deviations of at most .008 and .011; 5 of both together
    assert np.abs(shares - weights).max() < 0.07
    assert 0.0 < shares[3] < 0.03  # the floor: 40 visitors expected, none with a chance of 1e-17


def test_thompson_plays_the_probability_to_be_best_as_of_the_last_update():
    world = tp.World([0.0, 0.3, 0.1], 1.0, tp.worlds.Lengths([200, 4_000]), tp.worlds.Uniform(0.0, 1.0))
    _, arm, _, reward = played(thompson(), world, budget=4_200)
    told = np.arange(arm.size) <= 200  # the reward that begins a day brings the posterior up to date
    cells = [reward[told & (arm == i)] for i in range(3)]
    means = [cell.mean() for cell in cells]
    spread = [cell.std(ddof=1) / np.sqrt(cell.size) for cell in cells]
    drawn = np.random.default_rng(1).normal(means, spread, (200_000, 3))
    chances = np.bincount(drawn.argmax(axis=1), minlength=3) / 200_000
    shares = np.bincount(arm[~told], minlength=3) / np.count_nonzero(~told)
    assert np.abs(shares - chances).max() < 0.04  # 5 standard deviations of a share of 4,000


def test_the_benchmark_plays():
    import rivals

    world = tp.World(
        [0.1, 0.3], 1.0, (20, 60), tp.worlds.Uniform(-0.5, 0.5), rewards="conversions", tide="multiplies"
    )
    who = rivals.methods(40)
    study = tp.simulate(world, who[:1] + who[3:4], 400, 20, 1)
    assert study.pics("`contrast`")[0] < 0.5
    assert {spec.label.strip() for spec in who} >= {"GrowthBook, daily", "Thompson, hourly"}


def test_the_page_has_a_row_for_each_world_and_a_column_for_each_player():
    import rivals

    page = (BENCHMARKS.parent / "docs" / "rivals.md").read_text()
    for arms in rivals.BEST:
        for daily in rivals.DAILY:
            for tide in rivals.tides(rivals.VISITORS // daily):
                assert f"\n| {arms}, {daily}, {tide} | " in page
    assert " | ".join(spec.label.strip() for spec in rivals.methods(40)) in page
