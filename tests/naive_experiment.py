"""A naive implementation of an experiment: lists of pulls and summaries with dense fits."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pytest

import oracles
from experiments import contents, replay, saved_state
from tideproof.core.kernel_state_arrays import allocate
from tideproof.experiment.state.environment_rows import EnvironmentArrays
from tideproof.kernels.fit import hidden_tide
from tideproof.kernels.fit.fixed_effects import degrees_of_freedom
from tideproof.kernels.fit.hidden_tide import HiddenTide
from tideproof.kernels.fit.policy_data import Slot
from tideproof.kernels.fit.unequal_noise import RATIOS


@dataclass
class Naive:
    """Experiment kept as plain lists, without any running sums.

    `pulls` are [arm, label, status, reward], `summaries` are (arm, label, n, mean, variance), `warm` are
    (arm, label, reward) from before; `units` have the number of their pull.
    """

    arms: list
    budget: int | None
    sign: float
    tide: str = "labels"
    pulls: list = field(default_factory=list)
    summaries: list = field(default_factory=list)
    retired: set = field(default_factory=set)
    paused: bool = False
    warm: list = field(default_factory=list)
    units: dict = field(default_factory=dict)
    of_units: set = field(default_factory=set)

    def those(self, *states):
        return [i for i, pull in enumerate(self.pulls) if pull[2] in states]

    @property
    def remaining(self):
        if self.budget is None:
            return None
        return max(0, self.budget - len(self.pulls) + len(self.those("cancelled", "expired")))

    @property
    def active(self):
        return [arm for arm in self.arms if arm not in self.retired]

    def summarise(self, arm, label, n, mean, variance):
        out = [i for i in self.those("pending") if self.pulls[i][:2] == [arm, label]]
        for i in out[:n]:
            self.pulls[i][2] = "summarised"
        self.summaries.append((arm, label, n, mean, variance))

    def rewards(self, out=False):
        """Return arm, label and reward of all recorded rewards and, if wanted, of pending pulls."""
        found = [(arm, label, reward) for arm, label, _, reward in self.pulls if reward is not None]
        found += self.warm
        for arm, label, n, mean, variance in self.summaries:
            found += [(arm, label, reward) for reward in spread(n, mean, variance)]
        if out:
            found += [(arm, label, 0.0) for arm, label, status, _ in self.pulls if status == "pending"]
        return found

    def fitted(self, arms, out=False):
        """Return the dense fit over these arms, and which of them can be compared."""
        rows = [row for row in self.rewards(out) if row[0] in arms]
        labels = list(dict.fromkeys(label for _, label, _ in rows))
        arm = np.array([arms.index(a) for a, _, _ in rows], int)
        environment = np.array([labels.index(e) for _, e, _ in rows], int)
        reward = np.array([r for *_, r in rows])
        found = oracles.dense(arm, environment, reward, len(arms), len(labels))
        sets = oracles.groups(arm, environment, len(arms))
        return found, [pair for s in sets for pair in combinations(sorted(s), 2)], len(sets)


def spread(n, mean, variance):
    """Return n rewards that have this mean and this sample variance."""
    if n == 1:
        return [mean]
    steps = np.arange(n) - (n - 1) / 2
    return (mean + steps * np.sqrt(variance / steps.var(ddof=1))).tolist()


def gap(found, i, k):
    """Return estimate and variance / sigma^2 of arm i less arm k."""
    c = np.zeros(len(found.beta))
    c[i], c[k] = 1.0, -1.0
    return found.combination(c)


def check_numbers(run, naive):
    """Compare the fit, the recommendation and the design with pending pulls with the dense ones."""
    if not naive.rewards():
        assert run.recommend().arm is None
        return
    if naive.tide in ("hidden", "both"):
        check_followed(run, naive)
        return
    if run.policy.policy.tide != "labels":
        check_uneven(run)
        return
    dense, pairs, _ = naive.fitted(naive.arms)
    fit = run.fit(variance="common")
    for i, k in pairs:
        estimate, variance = gap(dense, i, k)
        found = fit.contrast(naive.arms[i], naive.arms[k])
        assert found.estimate == pytest.approx(estimate, abs=1e-8)
        if dense.freedom and not fit.exact:
            assert found.se == pytest.approx(dense.sigma * np.sqrt(variance), rel=1e-6, abs=1e-9)
    _check_recommendation(run, naive)
    if "fit" in run.policy.reads:
        numbers = saved_state(run).policy_state
        numbers.look_ahead()
        design, pairs, _ = naive.fitted(naive.active, out=True)
        P = numbers.memory_with_pending.view.data.fit.P
        for i, k in pairs:
            variance = gap(design, i, k)[1]
            assert P[i, i] + P[k, k] - 2 * P[i, k] == pytest.approx(variance, rel=1e-9)


def check_followed(run, naive):
    """Compare the numbers of the filter with kernels that are called in the order of asking."""
    arms = naive.active
    fit, slot = allocate(HiddenTide, len(arms)).view, allocate(Slot, len(arms)).view
    observe = hidden_tide.observe_labelled if naive.tide == "both" else hidden_tide.observe
    before = None
    for arm, label, _, reward in naive.pulls:
        if reward is None or arm not in arms:
            continue
        if naive.tide == "both" and label != before:
            slot.size[0] = 0.0
        observe(fit, slot, arms.index(arm), 1, naive.sign * reward, 0.0)
        slot.size[0], before = 1.0, label
    found, told = run.recommend(), int(fit.told[0])
    assert found.recorded == told
    if told:
        now = run.fit()
        np.testing.assert_allclose(now.now, naive.sign * fit.mu, rtol=1e-9, atol=1e-9)
        scale = fit.rss[0] / max(degrees_of_freedom(fit), 1)
        np.testing.assert_allclose(now.covariance, scale * fit.P, rtol=1e-7, atol=1e-9)


def _check_recommendation(run, naive):
    found, arms = run.recommend(), naive.active
    told = [row for row in naive.rewards() if row[0] in arms]
    assert found.recorded == len(told)
    if not told:
        return
    dense, _, groups = naive.fitted(arms)
    assert len(found.groups) == groups
    if groups > 1:
        assert found.arm is None
        return
    gaps = [naive.sign * gap(dense, arms.index(found.arm), k)[0] for k in range(len(arms))]
    assert found.margin == pytest.approx(min(g for a, g in zip(arms, gaps, strict=True) if a != found.arm))


def check_replay(run):
    """Compare an experiment with a replay of its events, bit by bit, and return the replay."""
    return check_same(run, replay(run))


def check_same(run, again):
    """Compare everything in two experiments, bit by bit, and return the second."""
    mine, its = contents(run), contents(again)
    pairs = zip(NUMBERS, mine["numbers"], its["numbers"], strict=False)
    assert [name for name, a, b in pairs if a != b] == []
    assert mine == its
    return again


# What the numbers of an experiment consist of, in the order of `saved_numbers`.
NUMBERS = (
    "memory.floats", "memory.ints", "ahead.floats", "ahead.ints", *EnvironmentArrays._fields, "proof",
)  # fmt: skip


def check_uneven(run):
    """Compare the fits of `interaction=`, pending pulls included, with dense generalised least squares.

    With `noise="by-arm"` and `robust="cells"`, which depend on the order, nothing but how much was told.
    """
    numbers = saved_state(run).policy_state
    numbers.look_ahead()
    arms = [run.arms[arm] for arm in numbers.active]
    rows = [row for row in run.history() if row["arm"] in arms]
    told = [(row["arm"], row["environment"]) for row in rows for _ in range(row["n"])]
    rewards = [x for row in rows if row["n"] for x in spread(row["n"], row["reward"], row["variance"] or 0.0)]
    out = [(pull.arm, pull.environment) for pull in run.pending_pulls() if pull.arm in arms]
    fit = numbers.memory.view.data.fit
    assert int(fit.told[0]) == len(told)
    if run.policy.policy.tide not in ("auto:", "interaction:"):
        return
    for f, rho in enumerate(RATIOS):
        for memory, cells in ((numbers.memory, told), (numbers.memory_with_pending, told + out)):
            fits = memory.view.data.fit.fits
            y = np.array([*rewards, *[0.0] * (len(cells) - len(rewards))])
            for (i, k), estimate, variance in _weighed(cells, y, arms, rho):
                P = fits.P[f]
                assert P[i, i] + P[k, k] - 2.0 * P[i, k] == pytest.approx(variance, rel=1e-7)
                if cells is told:
                    gap = numbers.rewards.sign * (fits.mu[f, i] - fits.mu[f, k])
                    assert gap == pytest.approx(estimate, rel=1e-6, abs=1e-7)


def _weighed(cells, y, arms, rho):
    """Yield all pairs of arms that can be compared, with estimate and variance by generalised least squares."""
    if not cells:
        return
    labels = list(dict.fromkeys(label for _, label in cells))
    arm = np.array([arms.index(a) for a, _ in cells])
    place = np.array([labels.index(label) for _, label in cells])
    cell = arm * len(labels) + place
    W = np.linalg.inv(np.eye(len(cells)) + rho * (cell[:, None] == cell))
    X = np.hstack([arm[:, None] == np.arange(len(arms)), place[:, None] == np.arange(len(labels))]) * 1.0
    inverse = np.linalg.pinv(X.T @ W @ X)
    beta = inverse @ X.T @ W @ y
    for group in oracles.groups(arm, place, len(arms)):
        for i, k in combinations(sorted(group), 2):
            c = np.zeros(X.shape[1])
            c[i], c[k] = 1.0, -1.0
            yield (i, k), c @ beta, c @ inverse @ c
