"""Limits of a live run that stops when it is sure: those of the lab's proof, true at all looks at once."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

import tideproof as tp
from simulations import ALARM
from tideproof.kernels.proof import contrast_limits
from tideproof.lab.engines.cpu import empty_trace, run_loop
from tideproof.live.always import ERROR, always_apart

WORLD = tp.World([0.0, 0.5, 0.2, 0.1], lengths=(2, 12), shifts=tp.Uniform(0.0, 20.0))
MEANS = {"A": 0.0, "B": 0.3, "C": 0.6}


@pytest.mark.parametrize(("sign", "direction"), [(1.0, "maximize"), (-1.0, "minimize")])
def test_limits_are_those_of_the_proof_in_the_lab(sign, direction):
    budget = 150
    spec = tp.policy("contrast", confidence=0.9999999, rule="proven")
    trace = empty_trace(budget, 4)
    _, memory = run_loop(spec.program().replicate, spec, WORLD, [budget], 5, 0, 1, trace)
    run = tp.Experiment(list("0123"), budget=budget + 1, confidence=0.9999999, direction=direction, seed=5)
    for step in range(budget):
        run.tell(run.ask(environment=int(trace.environment[step])), sign * float(trace.reward[step]))
    assert run.history()["arm"] == [str(arm) for arm in trace.arm]
    limits, lab = always_apart(run._numbers), memory.view
    for i, k in combinations(range(4), 2):
        theirs = contrast_limits(lab.state.proof, lab.data.fit, i, k, ERROR)
        assert limits(i, k) == pytest.approx(theirs, rel=1e-6)
    found = run.recommend()
    assert found.anytime
    assert (found.low, found.high) == limits(int(found.arm), int(found.runner_up))
    assert found.low < found.margin < found.high
    gap = run.fit().contrast(found.arm, found.runner_up)
    assert found.high - found.low > 1.5 * (gap.high - gap.low)  # for one look at the end


def test_what_is_said_at_each_moment():
    run = tp.Experiment(["A", "B"], budget=60, confidence=0.95)
    for step in range(3):
        run.tell(run.ask(environment=0), float(step % 2))
    found = run.recommend()  # nothing to predict from yet
    assert (found.low, found.high, found.anytime) == (None, None, True)
    assert "interval" not in str(found)
    assert "best with probability" in str(found)
    random = np.random.default_rng(0)
    while not run.done:
        run.tell(run.ask(environment=run.remaining // 10), random.standard_normal())
    assert not run.recommend().sure  # the cap, not a stop
    assert "(95 % interval at all looks -" in str(run.recommend())
    assert run.recommend().to_dict()["anytime"]
    plain = tp.Experiment(["A", "B"], budget=60)
    for step in range(20):
        plain.tell(plain.ask(environment=step // 5), random.standard_normal())
    assert not plain.recommend().anytime
    assert "at all looks" not in str(plain.recommend())


def test_a_new_arm_begins_the_limits_anew():
    run = tp.Experiment(["A", "B"], confidence=0.9999, seed=1)
    random = np.random.default_rng(1)
    for step in range(40):
        run.tell(run.ask(environment=step // 8), random.standard_normal())
    assert run.recommend().low is not None
    run.retire_arm("B") if len(run.arms) > 2 else run.add_arm("C")
    for step in range(40, 46):
        run.tell(run.ask(environment=step // 8), random.standard_normal())
    assert always_apart(run._numbers)(0, 9) == (-math.inf, math.inf)
    low, high = always_apart(run._numbers)(0, 1)
    assert low < high


def misses(run):
    """Tell whether limits of any pair miss the truth."""
    limits = always_apart(run._numbers)
    for (i, a), (k, b) in combinations(enumerate(run.arms), 2):
        low, high = limits(i, k)
        if not low <= MEANS[a] - MEANS[b] <= high:
            return True
    return False


def test_all_pairs_at_all_looks_of_runs_that_stop():
    """25 runs of three arms: 95 % of runs have no miss, false alarm `ALARM`; some of them stop."""
    runs, wrong, stopped = 25, 0, 0
    for seed in range(runs):
        run = tp.Experiment(list(MEANS), budget=120, confidence=0.95, seed=seed)
        random, missed = np.random.default_rng(seed), False
        for step in range(120):
            if run.done:
                break
            pull = run.ask(environment=step // 6)
            run.tell(pull, MEANS[pull.arm] + step // 6 % 4 + random.standard_normal())
            missed |= step % 8 == 7 and misses(run)
        wrong += missed or misses(run)
        stopped += run.recommend().sure
    assert wrong <= binom.isf(ALARM, runs, 0.05)
    assert stopped >= 3


def daily_conversions(seed):
    """Yield an experiment after each of ten days, two equal rates."""
    run, random = (
        tp.Experiment(list("AB"), confidence=0.95, rewards="conversions"),
        np.random.default_rng(seed),
    )
    for day in range(10):
        for arm in "AB":
            bought = int(random.binomial(400, 0.05 + 0.02 * (day % 3)))
            run.tell_summary(arm=arm, environment=day, n=400, successes=bought)
        yield run


def test_all_pairs_at_all_looks_of_conversions():
    """25 runs: 95 % of them have no miss at any look, false alarm `ALARM`."""
    runs, wrong = 25, 0
    for seed in range(runs):
        seen = [run.recommend() for run in daily_conversions(seed)]
        assert all(found.anytime for found in seen)
        limited = [found for found in seen if found.low is not None]
        assert all(found.low < found.margin < found.high for found in limited)
        wrong += any(not found.low <= 0.0 <= found.high for found in limited)
    assert wrong <= binom.isf(ALARM, runs, 0.05)


def test_limits_of_conversions_are_those_of_the_fit_at_any_time():
    (*_, run) = daily_conversions(0)
    found = run.recommend()
    ever, once = (run.fit(anytime=anytime).contrast(found.arm, found.runner_up) for anytime in (True, False))
    assert (found.low, found.high) == (ever.low, ever.high)
    assert found.high - found.low > 1.2 * (once.high - once.low)
