"""What a pilot log says of a plan."""

import numpy as np
import pytest

import tideproof as tp
from tideproof.errors import InputError
from tideproof.plans.pilot_study import pilot_of

NAMES = ("variant", "day", "sales")


def pilot(binary=False, days=(30, 50, 2, 1)):
    draw = np.random.default_rng(4)
    rows = [("AB"[i % 2], f"day {d}", d) for d, size in enumerate(days) for i in range(size)]
    level = np.array([10.0 * row[2] for row in rows])
    noise = 3.0 * draw.standard_normal(len(rows))
    sales = (draw.random(len(rows)) < 0.3).astype(int) if binary else level + noise
    return {"variant": [r[0] for r in rows], "day": [r[1] for r in rows], "sales": sales}


def test_arms_noise_and_lengths_are_taken_from_it():
    log = pilot(days=(300, 500, 2, 1))
    found = pilot_of(log, *NAMES)
    assert found.arms == 2
    assert found.lengths == tp.worlds.Lengths([300, 500, 2, 1])
    assert found.sigma == pytest.approx(3.0, rel=0.1)
    assert found.rate is None


def test_a_rate_is_the_mean_of_zeros_and_ones():
    log = pilot(binary=True)
    assert pilot_of(log, *NAMES).rate == pytest.approx(np.mean(log["sales"]))


def test_what_is_given_comes_before_what_the_log_says():
    columns = {"arm": "variant", "environment": "day", "reward": "sales"}
    found = tp.plan(log=pilot(), **columns, gap=4.0, error=0.1, replications=200)
    assert found.question.arms == 2
    assert found.question.lengths == tp.worlds.Lengths([30, 50, 2, 1])
    assert found.question.gap == pytest.approx(4.0 / 3.0, rel=0.2)
    given = tp.plan(
        log=pilot(), **columns, gap=4.0, sigma=2.0, arms=3, per_environment=10, error=0.1, replications=200
    )
    assert (given.question.arms, given.question.gap, given.question.lengths) == (3, 2.0, (10, 10))
    rates = tp.plan(log=pilot(binary=True), **columns, lift=0.9, error=0.2, replications=200)
    assert rates.question.rates[0] == pytest.approx(0.3, abs=0.15)


def test_what_it_cannot_say():
    columns = {"arm": "variant", "environment": "day", "reward": "sales"}
    with pytest.raises(InputError, match="not 0 or 1: give rate"):
        tp.plan(log=pilot(), **columns, lift=0.1)
    two = {"variant": ["A", "B"], "day": [1, 1], "sales": [1.5, 2.5]}
    with pytest.raises(InputError, match="sigma cannot be estimated"):
        tp.plan(log=two, **columns, gap=0.1)
