"""Reduce-to-MAB: adjusted moments against the whole adjusted history, and what is refused."""

import numpy as np
import pytest

import tideproof as tp
from run_memory import view
from tideproof.policies.policy_registry import is_registered

ARMS = ["a", "b", "c", "d"]
# Coefficients are sums over environments with shifts of order 20 taken out of each.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def drive(policy, steps, seed, back):
    """Yield the experiment after every tell, with its (arm, environment, reward, weight) history."""
    random = np.random.default_rng(seed)
    run = tp.Experiment(ARMS, budget=steps, policy=policy, seed=seed)
    tide = random.uniform(0, 20, steps)
    history, label, left = [], -1, 0
    for _ in range(steps):
        if left == 0:
            label, left = label + 1, int(random.integers(1, 7))
        left -= 1
        where = int(random.integers(label + 1)) if back and random.random() < 0.3 else label
        pull = run.ask(environment=where)
        arm = ARMS.index(pull.arm)
        weight = weigh(run, arm)
        reward = 0.5 * arm + tide[where] + random.standard_normal()
        run.tell(pull, reward)
        history.append((arm, where, reward, weight))
        yield run, history


def weigh(run, arm):
    """Return the weight P1 gives this reward, by the ranks of its sums as they stand."""
    if "p1" not in run.policy.label:
        return 1.0
    G = view(run).state.reduction.moments.sums
    ranks = 1 + np.argsort(np.argsort(-G, kind="stable"))
    chance = np.mean(1.0 / ranks[G[arm] == G])
    return 1.0 / (chance / np.sum(1.0 / np.arange(1, len(ARMS) + 1)))


def adjusted(run, history):
    """Subtract from every reward the shift of its environment, in the gauge s_1 = 0."""
    mu = view(run).data.fit.mu
    arm = np.array([h[0] for h in history])
    environment = np.array([h[1] for h in history])
    reward = np.array([h[2] for h in history])
    shift = {j: np.mean((reward - mu[arm])[environment == j]) for j in np.unique(environment)}
    first = shift[environment[0]]
    return arm, np.array([r - (shift[j] - first) for r, j in zip(reward, environment, strict=True)])


@pytest.mark.parametrize("back", [False, True], ids=["one after another", "environments come back"])
@pytest.mark.parametrize("policy", ["reduce:lucb", "reduce:p1+ips", "reduce:sequential-halving"])
@pytest.mark.parametrize(("seed", "first"), [(3, 3), (5, 0)])  # the estimate of the arm played first stays 0
def test_adjusted_moments_equal_the_adjusted_history(policy, back, seed, first):
    checked, marks = 0, {}
    for run, history in drive(policy, 120, seed=seed, back=back):
        assert history[0][0] == first
        memory = view(run)
        moments = memory.state.reduction.moments
        # told before a phase ended, a reward belongs to the phase that ended
        start = marks.setdefault(int(moments.epoch[0]), len(history) if moments.epoch[0] else 0)
        if memory.data.fit.joins[0] < len(ARMS) - 1 or len(run.fit().groups) > 1:
            continue
        arm, reward = adjusted(run, history)
        weights = np.array([h[3] for h in history])
        for i in range(len(ARMS)):
            mine = arm == i
            assert moments.told[i] == mine.sum()
            np.testing.assert_allclose(moments.mean[i], reward[mine].mean(), **CLOSE)
            if "lucb" in policy:
                squares = np.sum((reward[mine] - reward[mine].mean()) ** 2)
                np.testing.assert_allclose(moments.squares[i], squares, **CLOSE)
            elif len(history) > start:
                since = mine & (np.arange(len(history)) >= start)
                np.testing.assert_allclose(moments.sums[i], np.sum((weights * reward)[since]), **CLOSE)
                np.testing.assert_allclose(moments.weights[i], np.sum(weights[since]), **CLOSE)
        checked += 1
    assert checked > 60
    assert max(marks) == (2 if "halving" in policy else 0)


def test_the_pooled_variance_is_the_papers_too_small_one():
    *_, (run, history) = drive("reduce:linlucb", 80, seed=4, back=False)
    flat = view(run).state.reduction.fit
    arm, reward = adjusted(run, history)
    within = sum(np.sum((reward[arm == i] - reward[arm == i].mean()) ** 2) for i in range(4))
    freedom = flat.told[0] - flat.environments[0] - flat.joins[0]
    assert freedom == len(history) - 4
    assert flat.rss[0] == pytest.approx(within, rel=1e-9)
    assert flat.rss[0] / freedom < run.fit().sigma ** 2


@pytest.mark.parametrize("policy", ["reduce:lucb", "reduce:successive-rejects", "reduce:zero-one"])
def test_an_environment_never_begins_with_one_arm_twice(policy):
    previous = None
    for run, history in drive(policy, 150, seed=5, back=False):
        if len(history) < 2 or view(run).data.fit.joins[0] < len(ARMS) - 1:
            previous = None
            continue
        arm, label, *_ = history[-1]
        before = [h for h in history[:-1] if h[1] == label]
        state = view(run).state.inner
        alone = hasattr(state, "race") and np.sum(state.race.dropped == 0) <= 1
        if previous and len(before) == 1 and not alone:
            assert arm != before[0][0]
        previous = history[-1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("reduce:exp4p", "exp4p cannot be used with the prefix 'reduce:'"),
        ("reduce:nonsense", "unknown policy 'nonsense'"),
        ("reduce:round-robin+period", "known: 'mean', 'ols'"),
        ("reduce:reduce:lucb", "write reduce:lucb"),
        ("reduce:auto:contrast", "write auto:contrast or reduce:contrast"),
        ("reduce:by-arm:linlucb", "write by-arm:linlucb or reduce:linlucb"),
        ("reduce:by-arm:auto:linlucb", "write by-arm:auto:linlucb or reduce:linlucb"),
        ("reduce:robust:contrast", "write robust:contrast or reduce:contrast"),
        ("reduce:hidden:contrast", "wrong order: write hidden:reduce:contrast"),
        ("reduce:both:contrast", "wrong order: write both:reduce:contrast"),
        ("reduce:sure:contrast", "wrong order: write sure:reduce:contrast"),
        ("reduce:proven:contrast", "wrong order: write proven:reduce:contrast"),
    ],
)
def test_what_cannot_be_reduced(name, words):
    with pytest.raises(tp.errors.InputError, match=words):
        tp.policy(name)
    for refused in (
        lambda: tp.Experiment(ARMS, budget=50, policy=name),
        lambda: tp.replay(tp.mdm(3), name, seed=1, budget=20),
        lambda: tp.simulate(tp.mdm(3), name, 20, 1),
    ):
        with pytest.raises(tp.errors.InputError, match=words):
            refused()


@pytest.mark.parametrize("name", ["hidden:reduce:contrast", "both:reduce:lucb", "sure:reduce:contrast"])
def test_other_prefixes_stand_before_it(name):
    assert is_registered(name)
    run = tp.Experiment(ARMS, budget=50, policy=name)
    assert run.policy.policy is tp.policy(name.partition(":")[2]).policy
    assert run.events()[0].options.get("tide", "sure") == name.partition(":")[0]
    assert len(tp.replay(tp.mdm(3), name, seed=1, budget=20).arm) == 20
