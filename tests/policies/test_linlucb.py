"""LinLUCB against a second writing of it that refits by dense least squares."""

import math

import numpy as np
import pytest

import tideproof as tp
from run_memory import view


def dense(arms, pulls, covariance):
    """Return muhat and its estimated variance, in the gauge s_1 = 0, by the paper's regression."""
    arm = np.array([p[0] for p in pulls])
    environment = np.array([p[1] for p in pulls])
    reward = np.array([p[2] for p in pulls])
    A = (arm[:, None] == np.arange(arms)).astype(float)
    B = (environment[:, None] == np.unique(environment)[1:]).astype(float)
    X = np.hstack([A, B])
    theta, *_ = np.linalg.lstsq(X, reward, rcond=None)
    noise = ((reward - X @ theta) ** 2).sum() / (len(pulls) - X.shape[1])
    if covariance == "reduced":  # a standard bandit on rewards without their estimated shifts
        modified = [(reward - B @ theta[arms:])[arm == i] for i in range(arms)]
        pooled = sum(((m - m.mean()) ** 2).sum() for m in modified) / (len(pulls) - arms)
        return np.array([m.mean() for m in modified]), np.array([pooled / len(m) for m in modified])
    if covariance == "printed":
        H_A = A @ np.linalg.inv(A.T @ A) @ A.T
        H_B = B @ np.linalg.inv(B.T @ B) @ B.T if B.size else np.zeros((len(pulls),) * 2)
        inner = np.eye(len(pulls)) - 2 * H_B + H_B @ H_A @ H_B
        matrix = np.linalg.inv(A.T @ inner @ A)
    else:
        matrix = np.linalg.inv(X.T @ X)[:arms, :arms]
    return theta[:arms], noise * np.diag(matrix)


def pair(arms, pulls, covariance):
    """Return leader and challenger."""
    mu, variance = dense(arms, pulls, covariance)
    counts = np.bincount([p[0] for p in pulls], minlength=arms)
    bound = mu + np.sqrt(16 * math.log(len(pulls)) / counts) * np.sqrt(variance)
    leader = int(np.argmax(mu))
    bound[leader] = -np.inf
    return leader, int(np.argmax(bound))


@pytest.mark.parametrize("covariance", ["ols", "printed", "reduced"])
@pytest.mark.parametrize("lengths", [(2, 2), (2, 4), (2, 9)])
def test_every_choice_after_the_start(covariance, lengths):
    """Rounds as in Algorithm 2: l then u of one fit, turned round where an arm would repeat."""
    turned = sum(check_every_choice(covariance, lengths, seed) for seed in range(6))
    assert (turned > 0) == (lengths != (2, 2)), "pairs begin environments of length 2"


def check_every_choice(covariance, lengths, seed, arms=4, n0=3, budget=120):
    """Follow one run; return how often a pair was turned round."""
    random = np.random.default_rng(seed)
    policy = tp.policy("linlucb", n0=n0, covariance=covariance)
    run = tp.Experiment([str(i) for i in range(arms)], budget=budget, policy=policy)
    pulls, turned = [], 0
    label, left, shift = -1, 0, 0.0
    second, recent = None, False
    for t in range(budget):
        changed = left == 0
        if changed:
            label, left, shift = (
                label + 1,
                int(random.integers(*lengths, endpoint=True)),
                random.uniform(0, 20),
            )
        left -= 1
        pull = run.ask(environment=label)
        arm = int(pull.arm)
        if t >= n0 * arms:
            if second is None:
                leader, challenger = pair(arms, pulls, covariance)
                expected, second = leader, challenger
                if not changed and recent and leader == pulls[-1][0]:
                    expected, second = challenger, leader
                    turned += 1
            else:
                expected, second, recent = second, None, changed
            assert arm == expected, f"step {t}"
            if len(pulls) > 1 and pulls[-1][1] == label != pulls[-2][1] and t > n0 * arms + 1:
                assert arm != pulls[-1][0], "an environment began with one arm twice"
        reward = shift + random.standard_normal()  # equal arms: the lead changes often
        run.tell(pull, reward)
        pulls.append((arm, label, reward))
    return turned


def test_the_mean_estimate_in_the_stationary_case_is_the_sample_mean():
    """One environment: Var(muhat_i) = sigma2/N_i, so the bound is the paper's stationary one."""
    random = np.random.default_rng(5)
    run = tp.Experiment(["a", "b", "c"], budget=60, policy="linlucb", tide="labels")
    rewards = {"a": [], "b": [], "c": []}
    for _ in range(60):
        if len(rewards["a"]) + len(rewards["b"]) + len(rewards["c"]) >= 18 and view(run).state.half[0] == 0:
            counts = {arm: len(r) for arm, r in rewards.items()}
            n = sum(counts.values())
            means = {arm: np.mean(r) for arm, r in rewards.items()}
            noise = sum(np.sum((np.array(r) - means[arm]) ** 2) for arm, r in rewards.items()) / (n - 3)
            leader = max(means, key=means.get)
            bounds = {
                arm: means[arm] + math.sqrt(16 * math.log(n) * noise / counts[arm] ** 2)
                for arm in means
                if arm != leader
            }
            state = view(run).state
            assert run.arms[state.leader[0]] == leader
            assert run.arms[state.challenger[0]] == max(bounds, key=bounds.get)
        pull = run.ask()
        reward = random.standard_normal()
        rewards[pull.arm].append(reward)
        run.tell(pull, reward)
