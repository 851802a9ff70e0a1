"""The search for a budget, where the true error is known."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from tideproof.plans.budget_search import ErrorCount, find_least_budget, fit_curve, search_budget


def player(true, seed):
    draw = np.random.default_rng(seed)
    return lambda budget, runs: int(draw.binomial(runs, true(budget)))


LAWS = {
    "two arms": lambda n: float(norm.sf(0.15 * math.sqrt(n))),
    "exponential": lambda n: min(0.9, 1.5 * math.exp(-n / 80.0)),
    "slow": lambda n: 0.8 / (1.0 + n / 15.0),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("error", [0.005, 0.05, 0.2])
def test_the_budget_keeps_the_error_and_is_not_much_more_than_needed(law, error):
    """Twenty searches each; one in forty may exceed the error, by a little."""
    true = LAWS[law]
    needed = next(n for n in range(1, 10**5) if true(n) <= error)
    found = []
    for seed in range(20):
        counts = search_budget(player(true, seed), [0.35 * needed, 0.7 * needed, needed], error, 4, 10_000)
        found.append(find_least_budget(counts[-8:], error, 4))
    over = np.array([true(n) / error for n in found])
    assert np.count_nonzero(over > 1.0) <= 5  # of 20 with one in forty each: a false alarm in ten million
    assert over.max() < 1.0 + 4.0 / math.sqrt(error * 10_000)
    assert np.median(found) < needed * (1.1 if law != "slow" else 1.35)


def test_a_bad_start_is_left_behind():
    true = LAWS["exponential"]
    needed = next(n for n in range(1, 10**5) if true(n) <= 0.02)
    counts = search_budget(player(true, 1), [0.05 * needed, 0.07 * needed, 0.1 * needed], 0.02, 4, 10_000)
    assert find_least_budget(counts[-8:], 0.02, 4) == pytest.approx(needed, rel=0.15)


def test_no_budget_is_below_the_floor():
    counts = search_budget(lambda budget, runs: 0, [1.0, 2.0, 3.0], 0.05, 10, 2_000)
    assert min(count.budget for count in counts) == 10
    assert find_least_budget(counts, 0.05, 10) == 10


def test_the_curve_goes_through_what_it_can():
    shares = {100: 0.2, 200: 0.05, 300: 0.012}
    counts = [ErrorCount(n, 10**6, round(share * 10**6)) for n, share in shares.items()]
    assert fit_curve(counts).share(np.array([*shares], float)) == pytest.approx([*shares.values()], rel=1e-3)
