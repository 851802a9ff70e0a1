"""The hidden tide's filter: one path against dense solves after every observation, then all of them together."""

import numpy as np
import pytest
from scipy import stats

from oracles import dense
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.fit.fixed_effects import connected, degrees_of_freedom, sigma2
from tideproof.kernels.fit.hidden_tide import HiddenTide, observe, observe_labelled, place, pull_here
from tideproof.kernels.fit.policy_data import Slot
from tideproof.kernels.fit.tide_paths import (
    AGES,
    EACH,
    KINDS,
    MINIMUM_CHANCE,
    SLOPE,
    Paths,
    apply_slope,
    compute_likelihood,
    predict_jump,
    start_arm_level,
    start_paths,
    update_after_jump,
    update_age,
    update_path,
)

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
ARMS = 4


class Path:
    """One path, driven by hand: jumps are told."""

    def __init__(self, arms=ARMS):
        self.paths = allocate(Paths, arms).view
        self.seen, self.freedom = set(), 0
        start_paths(self.paths)

    def tell(self, arm, reward, drift=0.0, jump=0.0, n=1, squares=0.0):
        if arm in self.seen:
            chance, size = (1.0, jump) if jump > 0.0 else (0.0, 1.0)
            compute_likelihood(self.paths, 0, arm, n, reward, self.freedom, drift, chance, size)
            update_path(self.paths, 0, arm, self.freedom, drift)
            self.freedom += 1
        else:
            start_arm_level(self.paths, 0, arm, n, reward, drift + jump)
            self.seen.add(arm)
        self.paths.rss[0] += squares
        self.freedom += n - 1


def walk(steps):
    """Return the covariance of a random walk with these variances of its steps."""
    tide = np.cumsum(steps)
    return np.minimum.outer(tide, tide)


def generalised(arm, reward, tide, arms):
    """Return contrasts of all seen arms to the first, their covariance and the residual sum of squares.

    Of y = mu_arm + tide + noise, the tide with this covariance.
    """
    seen = np.unique(arm)
    X = (arm[:, None] == seen).astype(float)
    weight = np.linalg.inv(np.eye(arm.size) + tide)
    covariance = np.linalg.inv(X.T @ weight @ X)
    beta = covariance @ X.T @ weight @ reward
    gap = reward - X @ beta
    D = np.eye(seen.size)[1:] - np.eye(seen.size)[0]
    return seen, D @ beta, D @ covariance @ D.T, gap @ weight @ gap


@pytest.mark.parametrize(("drift", "jump"), [(0.0, 0.0), (0.05, 0.0), (0.0, 30.0), (0.4, 66.0)])
def test_told_jumps_are_generalised_least_squares_after_every_reward(drift, jump):
    random = np.random.default_rng(4)
    path, size = Path(), 60
    arm, reward = random.integers(ARMS, size=size), 7.0 * random.normal(size=size)
    steps = np.full(size, drift) + jump * (random.random(size) < 0.3)
    steps[0] = 0.0
    for t in range(size):
        path.tell(arm[t], reward[t], drift if t else 0.0, steps[t] - drift if t else 0.0)
        seen, contrasts, covariance, rss = generalised(
            arm[: t + 1], reward[: t + 1], walk(steps[: t + 1]), ARMS
        )
        level, C = path.paths.level[0][seen], path.paths.C[0][np.ix_(seen, seen)]
        D = np.eye(seen.size)[1:] - np.eye(seen.size)[0]
        np.testing.assert_allclose(D @ level, contrasts, **CLOSE)
        np.testing.assert_allclose(D @ C @ D.T, covariance, **CLOSE)
        np.testing.assert_allclose(path.paths.rss[0], rss, **CLOSE)


@pytest.mark.parametrize(("first", "bend", "jump"), [(0.07, 0.01, 0.0), (3.0, 0.2, 40.0)])
def test_a_slope_is_generalised_least_squares_after_every_reward(first, bend, jump):
    """The tide moves by the slope before it, which is a random walk."""
    random = np.random.default_rng(14)
    path, size = Path(), 60
    path.paths.steep[0] = first
    arm, reward = random.integers(ARMS, size=size), 7.0 * random.normal(size=size)
    steps = jump * (random.random(size) < 0.3)
    steps[0] = 0.0
    rises = np.tri(size, k=-1)  # the tide of a pull is the sum of all slopes before it
    tide = rises @ walk(np.append(first, np.full(size - 1, bend))) @ rises.T + walk(steps)
    for t in range(size):
        if t:
            apply_slope(path.paths, 0, bend)
        path.tell(arm[t], reward[t], 0.0, steps[t])
        now = slice(t + 1)
        seen, contrasts, covariance, rss = generalised(arm[now], reward[now], tide[now, now], ARMS)
        level, C = path.paths.level[0][seen], path.paths.C[0][np.ix_(seen, seen)]
        D = np.eye(seen.size)[1:] - np.eye(seen.size)[0]
        np.testing.assert_allclose(D @ level, contrasts, **CLOSE)
        np.testing.assert_allclose(D @ C @ D.T, covariance, **CLOSE)
        np.testing.assert_allclose(path.paths.rss[0], rss, **CLOSE)


def test_a_slope_begins_anew_after_a_jump_of_which_nothing_is_known():
    path, kind = Path(2), 4 * EACH  # the first path of tides with a slope
    paths = path.paths
    for arm in (0, 1):
        start_arm_level(paths, kind, arm, 1, float(arm), 0.0)
    for t in range(20):
        apply_slope(paths, kind, 0.01)
        compute_likelihood(paths, kind, t % 2, 1, 3.0 * t, t, 0.0, 0.0, 1.0)
        update_path(paths, kind, t % 2, t, 0.0)
    assert paths.slope[kind] > 1.0
    gap = paths.level[kind, 1] - paths.level[kind, 0]
    update_after_jump(paths, kind, 0, 1, 1000.0)
    assert paths.level[kind].tolist() == pytest.approx([1000.0, 1000.0 + gap])
    assert (paths.slope[kind], paths.steep[kind]) == (0.0, SLOPE[4])
    assert not paths.tilt[kind].any()


def test_it_learns_how_long_the_tide_stays():
    """Jumps come before every third pull: chances go to 0, 0 and 1 by age, and far beyond it to those of all."""
    path, kind = Path(), EACH  # the first path of frequent jumps
    for t in range(300):
        path.paths.chance[kind] = float(t % 3 == 2)
        path.paths.jumps[kind] += path.paths.chance[kind]
        update_age(path.paths, kind)
    found = []
    for age in range(AGES + 3):
        path.paths.age[kind] = age
        found.append(predict_jump(path.paths, kind, 300)[1])
    of_all = 103.0 / 306.0
    np.testing.assert_allclose(found[:2], 2.0 * of_all / 102.0)
    assert found[2] == pytest.approx((100.0 + 2.0 * of_all) / 102.0)
    assert found[3:] == pytest.approx([of_all] * (AGES))
    path.paths.lasted[kind, 0] = 1e9
    path.paths.age[kind] = 0
    assert predict_jump(path.paths, kind, 300)[1] == MINIMUM_CHANCE


def test_jumps_of_which_nothing_is_known_are_fixed_effects():
    random = np.random.default_rng(5)
    path = Path()
    arm, environment, reward = [], [], []
    for j in range(12):
        shift = 1000.0 * random.normal()
        for m in range(random.integers(1, 7)):
            a = (
                random.choice(arm) if m == 0 and arm else random.integers(ARMS)
            )  # begins with an arm seen before
            y = a + shift + random.normal()
            if m == 0 and arm:
                update_after_jump(path.paths, 0, a, 1, y)
            else:
                path.tell(a, y)
            arm, environment, reward = [*arm, a], [*environment, j], [*reward, y]
            solution = dense(np.array(arm), np.array(environment), np.array(reward), ARMS, j + 1)
            seen, C = sorted(set(arm)), path.paths.C[0]
            for i in seen:
                c = np.eye(solution.beta.size)[i] - np.eye(solution.beta.size)[seen[0]]
                estimate, variance = solution.combination(c)
                gap = path.paths.level[0, i] - path.paths.level[0, seen[0]]
                np.testing.assert_allclose(gap, estimate, rtol=1e-9, atol=1e-8)  # shifts of 1000
                V = C[i, i] + C[seen[0], seen[0]] - 2.0 * C[i, seen[0]]
                np.testing.assert_allclose(V, variance, **CLOSE)


@pytest.mark.parametrize(
    ("age", "chance", "counted", "later"),
    [(0.0, 0.25, 0, 1.0), (3.0, 0.75, 3, 0.0), (3.0, 0.5, 3, 4.0), (AGES + 4.0, 0.0, AGES - 1, AGES + 5.0)],
)
def test_an_age_is_counted_once_and_begins_anew_with_a_likely_jump(age, chance, counted, later):
    paths = allocate(Paths, ARMS).view
    paths.age[2], paths.chance[2] = age, chance
    update_age(paths, 2)
    assert paths.age.tolist() == [0.0, 0.0, later, *([0.0] * (len(paths.age) - 3))]
    assert paths.lasted[2].tolist() == [float(a == counted) for a in range(AGES)]
    assert paths.ended[2].tolist() == [chance * (a == counted) for a in range(AGES)]
    assert paths.lasted.sum() == 1.0
    assert paths.ended.sum() == chance


def test_both_possibilities_are_made_one_by_mean_and_covariance():
    random = np.random.default_rng(6)
    calm, jumped, both = Path(), Path(), Path()
    for path in (calm, jumped, both):
        for arm, reward in zip([0, 1, 2, 3, 0, 1], [1.0, 4.0, 2.0, 8.0, 1.5, 3.0], strict=True):
            path.tell(arm, reward, drift=0.1)
    y, drift, size = 6.0 + random.random(), 0.1, 25.0
    for path, chance in ((calm, 0.0), (jumped, 1.0), (both, 0.4)):
        compute_likelihood(path.paths, 0, 2, 1, y, path.freedom, drift, chance, size)
        update_path(path.paths, 0, 2, path.freedom, drift)
    first, second, one = (path.paths for path in (calm, jumped, both))
    p = one.chance[0]
    gap = first.level[0] - second.level[0]
    np.testing.assert_allclose(one.level[0], (1.0 - p) * first.level[0] + p * second.level[0], **CLOSE)
    noise = one.rss[0] / (both.freedom + 1)
    expected = (1.0 - p) * first.C[0] + p * second.C[0] + p * (1.0 - p) * np.outer(gap, gap) / noise
    np.testing.assert_allclose(one.C[0], expected, **CLOSE)
    assert 0.1 < p < 0.9


def test_densities_are_those_of_student_with_the_noise_integrated_out():
    path = Path()
    for arm, reward in zip([0, 1, 0, 1, 0], [1.0, 4.0, 2.0, 3.0, 0.5], strict=True):
        path.tell(arm, reward)
    paths, nu, chance, size, y = path.paths, path.freedom, 0.3, 20.0, 9.0
    level, C, s = paths.level[0, 1], paths.C[0, 1, 1], np.sqrt(paths.rss[0] / nu)
    compute_likelihood(paths, 0, 1, 1, y, nu, 0.2, chance, size)
    calm, jumped = (stats.t.pdf(y, nu, level, s * np.sqrt(C + 1.2 + more)) for more in (0.0, size))
    np.testing.assert_allclose(paths.chance[0], chance * jumped / ((1 - chance) * calm + chance * jumped))
    found = paths.density[0] * np.exp(paths.evidence[0])
    compute_likelihood(paths, 0, 1, 1, y + 2.0, nu, 0.2, 0.0, size)
    other = paths.density[0] * np.exp(paths.evidence[0])
    expected = ((1 - chance) * calm + chance * jumped) / stats.t.pdf(y + 2.0, nu, level, s * np.sqrt(C + 1.2))
    np.testing.assert_allclose(found / other, expected)


def test_rewards_that_come_as_their_mean_are_as_good_as_one_by_one():
    one, many = Path(), Path()
    for arm, rewards in ((0, [1.0, 2.0, 4.0]), (1, [3.0, 3.5]), (0, [0.0, 2.0]), (1, [5.0])):
        for reward in rewards:
            many.tell(arm, reward)
        mean = float(np.mean(rewards))
        one.tell(arm, mean, n=len(rewards), squares=float(np.square(np.array(rewards) - mean).sum()))
    np.testing.assert_allclose(one.paths.level[0], many.paths.level[0], **CLOSE)
    np.testing.assert_allclose(one.paths.C[0], many.paths.C[0], **CLOSE)
    np.testing.assert_allclose(one.paths.rss[0], many.paths.rss[0], **CLOSE)
    assert one.freedom == many.freedom


def hidden(arm, reward, arms=ARMS):
    fit, slot = allocate(HiddenTide, arms).view, allocate(Slot, arms).view
    for a, y in zip(arm, reward, strict=True):
        observe(fit, slot, a, 1, float(y), 0.0)
    return fit


def log(seed=1, size=120, arms=ARMS, shift=15.0):
    """Return arms pulled, rewards, and where the tide jumped."""
    random = np.random.default_rng(seed)
    jumps = random.random(size) < 0.05
    tide = np.cumsum(np.where(jumps, shift * random.choice([-1.0, 1.0], size), 0.0))
    arm = np.concatenate([random.permutation(arms) for _ in range(-(-size // arms))])[:size]
    return arm, 0.5 * arm + tide + random.normal(size=size), jumps


def test_it_finds_jumps_and_noise():
    arm, reward, jumps = log(size=400)
    fit = hidden(arm, reward)
    best = int(np.argmax(fit.paths.weight))
    assert abs(fit.paths.jumps[best] - jumps.sum()) < 3.0
    nu = degrees_of_freedom(fit)
    assert nu == 400 - ARMS
    assert connected(fit)
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], nu) / nu  # a false alarm in a million, were every jump known
    assert low < sigma2(fit) < high
    labels = np.cumsum(jumps)
    solution = dense(arm, labels, reward, ARMS, int(labels.max()) + 1)
    gaps = fit.mu[1:] - fit.mu[0], solution.beta[1:ARMS] - solution.beta[0]
    np.testing.assert_allclose(*gaps, atol=0.1)  # the standard error is 0.14
    still = np.array([reward[arm == i].mean() for i in range(ARMS)])
    assert np.abs(still[1:] - still[0] - gaps[1]).max() > 0.25  # what would come of no tide


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_neither_unit_nor_origin_matter(scale):
    arm, reward, _ = log()
    fit, other = hidden(arm, reward), hidden(arm, scale * reward + 1000.0 * scale)
    np.testing.assert_allclose(
        (other.mu[1:] - other.mu[0]) / scale, fit.mu[1:] - fit.mu[0], rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(other.P, fit.P, rtol=1e-6)
    np.testing.assert_allclose(other.rss / scale**2, fit.rss, rtol=1e-6)


def test_names_of_arms_do_not_matter():
    arm, reward, _ = log()
    order = np.array([2, 0, 3, 1])
    fit, other = hidden(arm, reward), hidden(order[arm], reward)
    np.testing.assert_allclose(other.mu[order], fit.mu, **CLOSE)
    np.testing.assert_allclose(other.P[np.ix_(order, order)], fit.P, **CLOSE)


@pytest.mark.parametrize("reward", [0.0, 7.25])
def test_rewards_that_are_all_equal(reward):
    fit = hidden(np.arange(40) % ARMS, np.full(40, reward))
    assert np.isfinite(fit.P).all()
    assert np.isfinite(fit.paths.weight).all()
    np.testing.assert_allclose(fit.mu, reward)
    assert sigma2(fit) < 1e-100


@pytest.mark.parametrize("pulls", range(2 * ARMS, 40, 3))
def test_rewards_that_never_vary_leave_rounding_and_no_paths_that_lie_apart(pulls):
    """What is known of arms does not depend on their levels; at 0 nothing is rounded."""
    arm = np.arange(pulls) % ARMS
    fit, exact = hidden(arm, np.array([0.0, 0.1, 1 / 3, 0.7])[arm]), hidden(arm, np.zeros(pulls))
    np.testing.assert_allclose(fit.P, exact.P, atol=0.01)
    place(fit, allocate(Slot, ARMS).view, 1, 2)
    assert np.linalg.eigvalsh(fit.P)[0] > 0.0


def test_one_arm_alone_and_arms_never_seen():
    fit = hidden(np.ones(30, int), np.random.default_rng(1).normal(size=30))
    assert not connected(fit)
    assert degrees_of_freedom(fit) == 29
    assert fit.mu[0] == 0.0
    assert fit.group.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("seen", [(0,), (3,), (0, 2), (1, 2), (1, 3), (0, 1, 3)])
def test_of_arms_never_seen_nothing_is_known_and_they_change_nothing_else(seen):
    """What is known of the others is what is known where the unseen arms do not exist."""
    random = np.random.default_rng(2)
    arm = random.integers(0, len(seen), 25)
    arm[: len(seen)] = np.arange(len(seen))
    reward = 20.0 + 0.5 * arm + 9.0 * (np.arange(25) > 12) + random.normal(size=25)
    few, fit = hidden(arm, reward, arms=len(seen)), hidden(np.array(seen)[arm], reward)
    others = np.setdiff1d(np.arange(ARMS), seen)
    np.testing.assert_allclose(fit.mu[list(seen)], few.mu, **CLOSE)
    np.testing.assert_allclose(fit.P[np.ix_(seen, seen)], few.P, **CLOSE)
    assert not fit.mu[others].any()
    assert not fit.P[others].any()
    assert not fit.P[:, others].any()
    assert (fit.joins[0], fit.told[0], fit.rss[0]) == (len(seen) - 1, 25, pytest.approx(few.rss[0]))


def test_a_kind_of_tide_whose_time_comes_later_is_found():
    random = np.random.default_rng(3)
    arm = np.arange(900) % ARMS
    tide = np.where(np.arange(900) > 500, np.cumsum(0.5 * random.normal(size=900)), 0.0)
    fit = hidden(arm, arm + tide + random.normal(size=900))
    kinds = fit.paths.weight.reshape(KINDS, EACH).max(axis=1)
    assert kinds[3] == pytest.approx(1.0, rel=1e-15)
    assert (kinds > 0.0).all()


def test_a_wave_is_followed_by_its_slope():
    random, time = np.random.default_rng(3), np.arange(300)
    arm = np.concatenate([random.permutation(ARMS) for _ in range(75)])
    tide = 3.0 * np.sin(2.0 * np.pi * time / 50)
    fit = hidden(arm, arm + tide + random.normal(size=300))
    assert fit.paths.weight.reshape(KINDS, EACH).max(axis=1).argmax() == 4
    best = int(fit.paths.weight.argmax())
    assert fit.paths.slope[best] == pytest.approx(3.0 * 2.0 * np.pi / 50, abs=0.3)


def test_pulls_that_are_out_have_their_place():
    fit, slot = hidden(*log()[:2]), allocate(Slot, ARMS).view
    before, mu = fit.P.copy(), fit.mu.copy()
    place(fit, slot, 2, 3)
    expected = np.linalg.inv(np.linalg.inv(before) + 3.0 * np.outer(np.eye(ARMS)[2], np.eye(ARMS)[2]))
    np.testing.assert_allclose(fit.P, expected, **CLOSE)
    np.testing.assert_array_equal(fit.mu, mu)
    fresh = allocate(HiddenTide, ARMS).view
    for arm in range(ARMS):
        place(fresh, slot, arm, 2)
    assert connected(fresh)
    assert fresh.P.tolist() == (0.5 * np.eye(ARMS)).tolist()


def test_what_a_pull_would_tell_is_the_variance_that_it_takes_away():
    fit, slot, here = hidden(*log()[:2]), allocate(Slot, ARMS).view, np.full(ARMS, 9.0)
    common, P = pull_here(fit, slot, here), fit.P.copy()
    place(fit, slot, 1, 1)
    for i in range(1, ARMS):
        c = np.eye(ARMS)[i] - np.eye(ARMS)[0]
        told = (P[1] @ c - here @ c) ** 2 / (common + P[1, 1] - 2.0 * here[1])
        np.testing.assert_allclose(told, c @ P @ c - c @ fit.P @ c, **CLOSE)


@pytest.mark.parametrize("n", [2, 5])
def test_summaries_count_as_many_rewards(n):
    fit, slot = hidden(*log()[:2]), allocate(Slot, ARMS).view
    told, nu = int(fit.told[0]), degrees_of_freedom(fit)
    observe(fit, slot, 0, n, float(fit.mu[0]), 1.5)
    assert fit.told[0] == told + n
    assert degrees_of_freedom(fit) == nu + n
    assert np.isfinite(fit.P).all()


def test_jumps_that_are_told_are_certain_and_say_nothing_of_others():
    """Shifts of 50, known when: near the fixed-effects fit, which allows for no others."""
    random = np.random.default_rng(7)
    fit, slot = allocate(HiddenTide, ARMS).view, allocate(Slot, ARMS).view
    arm, day = random.integers(0, ARMS, 240), np.arange(240) // 4
    reward = 0.5 * arm + random.normal(0.0, 50.0, 60)[day] + random.standard_normal(240)
    for step in range(240):
        slot.size[0] = step % 4  # the first of its environment finds it empty
        observe_labelled(fit, slot, arm[step], 1, reward[step], 0.0)
    found = dense(arm, day, reward, ARMS, 60)
    for i in range(1, ARMS):
        c = np.zeros(len(found.beta))
        c[i], c[0] = 1.0, -1.0
        estimate, variance = found.combination(c)
        assert abs(fit.mu[i] - fit.mu[0] - estimate) < 0.4 * np.sqrt(variance)
        assert fit.P[i, i] + fit.P[0, 0] - 2 * fit.P[i, 0] == pytest.approx(variance, rel=0.15)
    assert sigma2(fit) == pytest.approx(found.sigma**2, rel=0.3)
    assert predict_jump(fit.paths, 0, degrees_of_freedom(fit))[1] < 0.01
