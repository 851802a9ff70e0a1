"""Anytime intervals of a live run: equal to those of simulations, and valid at all looks together."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, norm, t

import tideproof as tp
from experiments import saved_numbers, saved_state
from simulations import ALARM
from tideproof.experiment.stopping.anytime_intervals import ERROR, anytime_bounds
from tideproof.kernels.fit.e_process import CHECKPOINTS, contrast_bounds
from tideproof.lab.engines.cpu_engine import empty_trace, run_loop

WORLD = tp.World([0.0, 0.5, 0.2, 0.1], lengths=(2, 12), shifts=tp.worlds.Uniform(0.0, 20.0))
MEANS = {"A": 0.0, "B": 0.3, "C": 0.6}


@pytest.mark.parametrize(("sign", "direction"), [(1.0, "maximize"), (-1.0, "minimize")])
def test_bounds_are_those_of_the_proof_in_simulations(sign, direction):
    budget = 150
    spec = tp.policy("contrast", confidence=0.9999999, rule="proven")
    trace = empty_trace(budget, 4)
    _, memory = run_loop(spec.program().replicate, spec, WORLD, [budget], 5, 0, 1, trace)
    run = tp.Experiment(list("0123"), budget=budget + 1, confidence=0.9999999, direction=direction, seed=5)
    for step in range(budget):
        run.tell(run.ask(environment=int(trace.environment[step])), sign * float(trace.reward[step]))
    assert run.history()["arm"] == [str(arm) for arm in trace.arm]
    limits, lab = interval_bounds(run), memory.view
    for i, k in combinations(range(4), 2):
        theirs = contrast_bounds(lab.state.proof, lab.data.fit, i, k, ERROR)
        assert limits(i, k) == pytest.approx(theirs, rel=1e-6)
    found = run.recommend()
    assert found.anytime
    assert (found.low, found.high) == limits(int(found.arm), int(found.runner_up))
    assert found.low < found.margin < found.high
    gap = run.fit().contrast(found.arm, found.runner_up)
    assert found.high - found.low > 1.5 * (gap.high - gap.low)  # for one look at the end


def test_the_recommendation_says_whether_its_interval_holds_at_all_looks():
    run = tp.Experiment(["A", "B"], budget=60, confidence=0.95)
    for step in range(3):
        run.tell(run.ask(environment=0), float(step % 2))
    found = run.recommend()  # nothing to predict from yet
    assert (found.low, found.high, found.anytime) == (None, None, True)
    assert "interval" not in str(found)
    assert "best with probability" not in str(found)
    assert "best with probability" in str(run.recommend(prior="flat"))
    random = np.random.default_rng(0)
    while not run.done:
        run.tell(run.ask(environment=run.remaining // 10), random.standard_normal())
    assert not run.recommend().sure  # the cap, not a stop
    assert "(95 % confidence interval, valid at every inspection: -" in str(run.recommend())
    assert run.recommend().to_dict()["anytime"]
    plain = tp.Experiment(["A", "B"], budget=60)
    for step in range(20):
        plain.tell(plain.ask(environment=step // 5), random.standard_normal())
    assert not plain.recommend().anytime
    assert "at all inspections" not in str(plain.recommend())


def play(run, random, steps, means, each=8):
    """Ask and tell one by one, and yield the number of each step."""
    for step in steps:
        pull = run.ask(environment=step // each)
        run.tell(pull, means[pull.arm] + step // each % 4 + random.standard_normal())
        yield step


def interval_bounds(run):
    """Return the function from two arms to the bounds of their difference that hold at all looks."""
    return anytime_bounds(saved_state(run).policy_state)


def look_apart(run):
    """Return whether the estimates of two arms differ by more than half a standard deviation of the noise."""
    estimates = saved_state(run).policy_state.fit.mu
    return max(estimates) - min(estimates) > 0.5


def width(run, i, k):
    low, high = interval_bounds(run)(i, k)
    return high - low


def test_a_new_arm_does_not_change_the_bounds_of_the_others():
    run, random = tp.Experiment(["A", "B"], confidence=0.9999, seed=1), np.random.default_rng(1)
    list(play(run, random, range(64), MEANS))
    known = width(run, 0, 1)
    run.add_arm("C")
    assert width(run, 0, 1) == known  # nothing was told since
    assert interval_bounds(run)(0, 2) == interval_bounds(run)(0, 9) == (-math.inf, math.inf)
    for step in play(run, random, range(64, 80), MEANS):
        assert width(run, 0, 1) < 1.3 * known, step
    assert width(run, 0, 2) < math.inf


def test_bounds_begin_anew_if_all_arms_are_new():
    run, random = tp.Experiment(["A", "B"], confidence=0.9999, seed=1), np.random.default_rng(1)
    list(play(run, random, range(64), MEANS))
    run.add_arm("C")
    run.add_arm("D")
    run.retire_arm("A")
    assert width(run, 0, 1) < math.inf
    run.retire_arm("B")
    assert width(run, 0, 1) == width(run, 2, 3) == math.inf
    list(play(run, random, range(64, 104), MEANS | {"D": 0.0}))
    assert width(run, 2, 3) < math.inf


def test_a_loaded_experiment_has_the_same_bounds(tmp_path):
    run, random = tp.Experiment(["A", "B"], confidence=0.9999, seed=2), np.random.default_rng(2)
    list(play(run, random, range(40), MEANS))
    run.add_arm("C")
    run.tell_summary(arm="C", environment=99, n=5, mean=1.0, variance=1.0)  # met nobody there
    assert saved_state(run).policy_state.checkpoints.arms == (0, 1)
    run.tell_summary(arm="C", environment=0, n=5, mean=1.0, variance=1.0)
    assert saved_state(run).policy_state.checkpoints.arms == (0, 1, 2)
    list(play(run, random, range(40, 60), MEANS))
    run.save(tmp_path / "run.json")
    again = tp.Experiment.load(tmp_path / "run.json")
    assert saved_numbers(again) == saved_numbers(run)
    for i, k in combinations(range(3), 2):
        assert interval_bounds(again)(i, k) == interval_bounds(run)(i, k)


class Dense:
    """Every reward as a deviation e from the mean of its environment so far, normal around g'mu, variance 1/w.

    Densities are multiplied one by one; those of the rewards that link an arm are left out.
    """

    def __init__(self, arms):
        self.arms, self.places, self.seen = arms, {}, []
        self.rows, self.densities, self.counted, self.moments = [], [], [], []

    def tell(self, arm, label, reward, moments):
        counts, mean = self.places.get(label, (np.zeros(self.arms), 0.0))
        size = counts.sum()
        if size:
            row = np.eye(self.arms)[arm] - counts / size, reward - mean, size / (size + 1.0)
            linked = self._linked()
            links = bool(counts[arm] == 0 and self.moments and not linked[arm])
            self.densities.append(0.0 if links or not self.moments else self._density(row, linked.sum()))
            self.rows.append(row)
            self.counted.append(not links)
        counts = counts + np.eye(self.arms)[arm]
        self.places[label] = counts, mean + (reward - mean) / (size + 1.0)
        if moments > len(self.moments):
            self.moments.append(len(self.rows))

    def _linked(self):
        return np.any([g != 0.0 for g, _, _ in self.rows] or [np.zeros(self.arms, bool)], axis=0)

    def _density(self, row, arms):
        g, e, w = row
        G, y, v = map(np.array, zip(*self.rows, strict=True))
        spread = np.linalg.pinv(G.T @ (v[:, None] * G))
        mu, nu = spread @ G.T @ (v * y), len(y) - arms + 1
        s2 = np.sum(v * (y - G @ mu) ** 2) / nu
        return t.logpdf(e, nu, g @ mu, math.sqrt(s2 * (1.0 / w + g @ spread @ g)))

    def log_evidence(self, i, k, gap):
        ratios = [0.0] * (CHECKPOINTS - len(self.moments))
        for first in self.moments:
            counted = np.array(self.counted[first:])
            G, y, v = (np.array(x)[counted] for x in zip(*self.rows[first:], strict=True))
            y, root = y - gap * G[:, i], np.sqrt(v)  # mu_i is gap + mu_k
            G = np.delete(np.where(np.arange(self.arms) == k, G + G[:, [i]], G), i, axis=1)
            mu = np.linalg.lstsq(root[:, None] * G, root * y, rcond=None)[0]
            scale = math.sqrt(np.mean(v * (y - G @ mu) ** 2))
            ratios.append(sum(self.densities[first:]) - norm.logpdf(y, G @ mu, scale / root).sum())
        return np.logaddexp.reduce(ratios) - math.log(CHECKPOINTS)


def test_bounds_after_an_arm_joined_agree_with_a_product_of_densities():
    run, random, dense = (
        tp.Experiment(["A", "B"], confidence=0.9999, seed=3),
        np.random.default_rng(3),
        Dense(3),
    )
    for step in play(run, random, range(90), MEANS, each=5):
        record = run.history()
        label, reward = record["environment"][-1], record["reward"][-1]
        moments = saved_state(run).policy_state.checkpoints.proof.view.moments[0]
        dense.tell(run.arms.index(record["arm"][-1]), label, reward, moments)
        if step == 31:
            run.add_arm("C")
    assert len(dense.moments) > 4
    assert dense.counted.count(False) == 1
    for i, k in combinations(range(3), 2):
        for end in interval_bounds(run)(i, k):
            assert dense.log_evidence(i, k, end) == pytest.approx(-math.log(ERROR), abs=1e-6)


def misses(run, means=MEANS):
    """Return whether the interval of any pair of arms misses the true difference."""
    limits = interval_bounds(run)
    for (i, a), (k, b) in combinations(enumerate(run.arms), 2):
        low, high = limits(i, k)
        if not low <= means[a] - means[b] <= high:
            return True
    return False


def test_bounds_cover_all_pairs_at_all_looks_of_runs_that_stop():
    """Of 25 runs of three arms, 95 % must have no miss (false alarm `ALARM`); some runs stop."""
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


def test_bounds_cover_all_pairs_at_all_looks_if_arms_are_added():
    """Of 40 runs, 95 % must have no miss (false alarm `ALARM`); two arms are added when the others look different."""
    runs, wrong, means = 40, 0, {"A": 0.0, "B": 0.0, "C": 0.3, "D": 0.0}
    for seed in range(runs):
        run, missed = tp.Experiment(["A", "B"], confidence=0.9999, rule="proven", seed=seed), False
        for step in play(run, np.random.default_rng(seed), range(100), means, each=4):
            if step % 8 == 7 and step > 20 and len(run.arms) < 4 and (look_apart(run) or step > 60):
                run.add_arm("C" if len(run.arms) == 2 else "D")
            missed |= step % 5 == 4 and misses(run, means)
        wrong += missed
        assert len(run.arms) == 4
        assert set(saved_state(run).policy_state.checkpoints.arms) == {0, 1, 2, 3}
    assert wrong <= binom.isf(ALARM, runs, 0.05)


def daily_conversions(seed):
    """Yield an experiment with two equal conversion rates after each of ten days."""
    run, random = (
        tp.Experiment(list("AB"), confidence=0.95, rewards="conversions"),
        np.random.default_rng(seed),
    )
    for day in range(10):
        for arm in "AB":
            bought = int(random.binomial(400, 0.05 + 0.02 * (day % 3)))
            run.tell_summary(arm=arm, environment=day, n=400, successes=bought)
        yield run


def test_bounds_cover_the_difference_of_conversions_at_all_looks():
    """Of 25 runs, 95 % must have no miss at any look (false alarm `ALARM`)."""
    runs, wrong = 25, 0
    for seed in range(runs):
        seen = [run.recommend() for run in daily_conversions(seed)]
        assert all(found.anytime for found in seen)
        limited = [found for found in seen if found.low is not None]
        assert all(found.low < found.margin < found.high for found in limited)
        wrong += any(not found.low <= 0.0 <= found.high for found in limited)
    assert wrong <= binom.isf(ALARM, runs, 0.05)


def test_bounds_of_conversions_are_those_of_the_anytime_fit():
    (*_, run) = daily_conversions(0)
    found = run.recommend()
    ever, once = (run.fit(anytime=anytime).contrast(found.arm, found.runner_up) for anytime in (True, False))
    assert (found.low, found.high) == (ever.low, ever.high)
    assert found.high - found.low > 1.2 * (once.high - once.low)
