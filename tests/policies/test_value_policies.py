"""Zero-one, OCBA, knowledge gradient and top-two Thompson: test vectors, second writings, published PICS."""

import math

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from run_memory import floats, view
from tideproof.core.kernel_linker import ignore_overflow
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.choose.posterior_draws import Posterior, find_contenders
from tideproof.kernels.choose.posterior_draws import best_of_draw as _best_of_draw
from tideproof.kernels.choose.student_tail import log_tail
from tideproof.kernels.simulate.threefry import TELL, Draw
from tideproof.policies.builtin import knowledge_gradient, ocba, top_two_thompson, zero_one

FALSE_ALARM = 1e-6

best_of_draw = ignore_overflow(_best_of_draw)
choose = ignore_overflow(top_two_thompson.choose_arm)

MEAN = [0.10, 0.25, 0.40, 0.50, 0.60]
VARIANCE = [0.8, 1.2, 1.0, 0.9, 1.1]
N = [6, 6, 7, 8, 9]


def draw(step=0):
    return Draw(np.uint64(5), np.uint64(0), TELL, np.uint64(step))


def told(policy, mean=MEAN, variance=VARIANCE, n=N):
    """Return memory in which these rewards are told, and the policy knows."""
    memory = tp.policy(policy.POLICY.name).memory(len(mean))
    data = memory.view.data
    data.pulls[:] = n
    data.moments.told[:] = n
    data.moments.mean[:] = mean
    data.moments.squares[:] = np.multiply(variance, np.subtract(n, 1))
    policy.tell(policy.Params(2), memory.view.state, data, memory.view.slot, 0, 1, draw())
    return memory


# ---------------------------------------------------------------- vectors of policies.md


def test_zero_one_vector():
    state = told(zero_one).view.state
    assert state.distance == pytest.approx([3.622844, 2.070628, 1.496663, 0.894427, 0.904534], abs=5e-7)
    evi = np.exp(state.pull_values.values)
    assert evi == pytest.approx([0.00758706, 0.04658261, 0.09256024, 0.20039988, 0.19606849], abs=5e-9)
    assert np.argmax(evi) == 3


def test_the_vector_of_the_sibling_ll1():
    """Psi = (nu + s^2)/(nu - 1) phi_nu(s) - s Phi_nu(-s): our distances and our tail, SciPy's density."""
    state = told(zero_one).view.state
    s, nu = state.distance.copy(), np.subtract(N, 1.0)
    tail = np.exp([log_tail(a, b) for a, b in zip(s, nu, strict=True)])
    psi = (nu + s**2) / (nu - 1.0) * stats.t.pdf(s, nu) - s * tail
    ll1 = psi / np.sqrt(np.multiply(N, np.add(N, 1)) / np.array(VARIANCE))
    assert ll1 == pytest.approx([0.00119013, 0.00694230, 0.00925585, 0.01625638, 0.01514104], abs=5e-9)


def test_knowledge_gradient_vector():
    gain = np.exp(told(knowledge_gradient).view.state.pull_values.values)
    assert gain[0] == pytest.approx(4.92e-6, abs=5e-9)
    assert gain[1:] == pytest.approx([0.00118531, 0.00394617, 0.01134369, 0.01101112], abs=5e-9)


def test_ocba_golden_value():
    """It is for minimisation; 100 more pulls."""
    memory = told(ocba, np.negative([1.2, 2.1, 3.4, 4.87, 6.05]), [3.3, 2.0, 4.5, 5.3, 6.9], [12, 6, 5, 5, 4])
    data, values = memory.view.data, np.zeros(5)
    ocba.fill_deficits(data.moments, data.pulls, 100.0, values)
    assert values == pytest.approx([46.89, 38.18, 11.64, 2.04, 1.25], abs=5e-3)
    assert memory.view.state.pull_values.values.sum() == pytest.approx(1.0)


# ---------------------------------------------------------------- second writings


def two_best(mean):
    order = np.argsort(mean)
    return order[-1], order[-2]


def evi(mean, variance, n):
    best, second = two_best(mean)
    rival = np.where(np.arange(mean.size) == best, mean[second], mean[best])
    return stats.t.logsf(np.abs(mean - rival) * np.sqrt(n * (n + 1) / variance), n - 1)


def gradient(mean, variance, n):
    belief = variance / n
    step = belief / np.sqrt(belief + variance)
    others = np.array([np.delete(mean, i).max() for i in range(mean.size)])
    zeta = -np.abs(mean - others) / step
    return step * (zeta * stats.norm.cdf(zeta) + stats.norm.pdf(zeta))


def lack(mean, variance, n):
    best = np.argmax(mean)
    rest = np.arange(mean.size) != best
    weight = np.zeros(mean.size)
    weight[rest] = variance[rest] / (mean[best] - mean[rest]) ** 2
    weight[best] = math.sqrt(variance[best] * (weight[rest] ** 2 / variance[rest]).sum())
    return (n.sum() + 1) * weight / weight.sum() - n


@pytest.mark.parametrize("shifts", [0.0, 20.0])
@pytest.mark.parametrize(
    ("name", "rule"), [("zero-one", evi), ("knowledge-gradient", gradient), ("ocba", lack)]
)
def test_every_choice(name, rule, shifts):
    arms, n0, budget = 5, 4, 150
    random = np.random.default_rng(3)
    run = tp.Experiment([str(i) for i in range(arms)], budget=budget, policy=tp.policy(name, n0=n0))
    rewards = [[] for _ in range(arms)]
    chosen = set()
    for t in range(budget):
        pull = run.ask(environment=t // 7)
        if t < n0 * arms:
            expected = t % arms
        else:
            mean = np.array([np.mean(r) for r in rewards])
            variance = np.array([np.var(r, ddof=1) for r in rewards])
            expected = int(np.argmax(rule(mean, variance, np.array([len(r) for r in rewards]))))
            chosen.add(expected)
        assert pull.arm == str(expected), f"step {t}"
        reward = 0.4 * expected + shifts * math.sin(t // 7) + random.normal(scale=1.0 + 0.2 * expected)
        rewards[expected].append(reward)
        run.tell(pull, reward)
    assert len(chosen) > 2, "this run hardly put the rule to the test"
    assert run.recommend().arm == str(np.argmax([np.mean(r) for r in rewards]))


@pytest.mark.parametrize("policy", [zero_one, knowledge_gradient], ids=lambda policy: policy.POLICY.name)
def test_kept_values_are_those_of_the_present_moments(policy):
    """Whatever happens to the moments between two pulls, as under `reduce:`."""
    random = np.random.default_rng(4)
    memory = told(policy)
    state, data, slot = memory.view
    for _ in range(300):
        i = random.integers(5)
        match random.integers(5):
            case 0:
                data.moments.mean[:] += random.standard_normal(5)
            case 1:
                data.moments.mean[i] += random.standard_normal()
            case 2:
                data.moments.squares[i] *= random.uniform(0.5, 2.0)
            case 3:
                data.moments.told[i] += 1
                data.pulls[i] += 1
            case _:
                data.moments.mean[i] = data.moments.mean[(i + 1) % 5]  # a tie
        policy.tell(policy.Params(2), state, data, slot, 0, 1, draw())
        told_, mean = data.moments.told, data.moments.mean
        fresh = told(policy, mean, data.moments.squares / (told_ - 1), told_)
        fresh.view.data.moments.squares[:] = data.moments.squares
        fresh.view.state.distance[:] = -1.0
        policy.tell(policy.Params(2), fresh.view.state, fresh.view.data, slot, 0, 1, draw())
        assert fresh.view.state.pull_values.values.tobytes() == state.pull_values.values.tobytes()


@pytest.mark.parametrize("name", ["zero-one", "knowledge-gradient", "ocba", "top-two-thompson"])
def test_without_noise(name):
    """Arms without any variance, equal or not: legal, finite, and it can be saved."""
    for means in ([0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 2.0]):
        run = tp.Experiment(["A", "B", "C"], budget=60, policy=name)
        for t in range(60):
            pull = run.ask(environment=t // 9)
            run.tell(pull, means[run.arms.index(pull.arm)])
        assert np.isfinite(floats(run)).all()
        assert means[run.arms.index(run.recommend().arm)] == max(means)


@pytest.mark.parametrize("name", ["zero-one", "knowledge-gradient", "ocba", "top-two-thompson"])
def test_many_pulls_asked_for_at_once_spread(name):
    """Pulls that are out count as pulls: the next one goes where it is worth most beside them."""
    random = np.random.default_rng(6)
    run = tp.Experiment(["A", "B", "C", "D"], budget=300, policy=name)
    for t in range(40):
        pull = run.ask(environment=t // 8)
        run.tell(pull, {"A": 0.0, "B": 0.1, "C": 0.2, "D": 3.0}[pull.arm] + random.standard_normal())
    arms = [pull.arm for pull in run.ask(n=150, environment="batch")]
    assert sum(arms.count(arm) >= 10 for arm in "ABCD") >= 2


# ---------------------------------------------------------------- top-two Thompson


def fitted(arms=5, steps=60, gap=0.05, seed=1):
    """Return the fit of some pulls in shifting environments."""
    random = np.random.default_rng(seed)
    run = tp.Experiment([str(i) for i in range(arms)], policy="top-two-thompson")
    for t in range(steps):
        pull = run.ask(environment=t // 4)
        run.tell(pull, gap * int(pull.arm) + 10 * math.sin(t // 4) + random.standard_normal())
    return view(run).data.fit


def contrasts(fit, arms):
    """Return muhat and covariance of the arms relative to the first of them."""
    D = np.eye(len(fit.mu))[arms[1:]] - np.eye(len(fit.mu))[arms[0]]
    return D @ fit.mu, D @ fit.P @ D.T


@pytest.mark.parametrize("arms", [2, 3, 4, 6])
def test_draws_have_the_moments_of_the_posterior(arms):
    """Whitened, they are independent standard normal numbers."""
    fit = fitted(arms)
    fit.mu[:] = 1e-3 * fit.mu  # so near to each other that no draw is settled early
    posterior = allocate(Posterior, arms).view
    find_contenders(posterior, fit, 1.7)
    n, m = 8000, arms - 1
    z = np.zeros((n, m))
    mean, covariance = contrasts(fit, posterior.arms)
    root = np.linalg.inv(np.linalg.cholesky(1.7 * covariance))
    for t in range(n):
        best = best_of_draw(posterior, fit, math.sqrt(1.7), draw(t), 3)
        assert best == posterior.arms[np.argmax(posterior.values)]
        z[t] = root @ (posterior.values[1:] - posterior.values[0] - mean)
    tests = [stats.chi2.sf(n * (z.mean(axis=0) ** 2).sum(), m)]
    tests += [2 * min(stats.chi2.sf(q, n), stats.chi2.cdf(q, n)) for q in (z**2).sum(axis=0)]
    products = (z.T @ z)[np.triu_indices(m, 1)] / math.sqrt(n)
    tests += list(2 * stats.norm.sf(np.abs(products)))
    assert min(tests) > FALSE_ALARM / len(tests)


def test_draws_settled_early_are_settled_right():
    """With every draw computed in full, the same arms are best."""
    settled, different = 0, 0
    for gap in (0.0, 0.7, 1.1):
        fit = fitted(gap=gap)
        quick, full = allocate(Posterior, 5).view, allocate(Posterior, 5).view
        find_contenders(quick, fit, 1.0)
        find_contenders(full, fit, 1.0)
        full.settled[0] = 2.0  # more than the product can be
        for t in range(1500):
            quick.values[0] = math.nan
            best = best_of_draw(quick, fit, 1.0, draw(t), 3)
            assert best == best_of_draw(full, fit, 1.0, draw(t), 3)
            settled += math.isnan(quick.values[0])
            different += best != quick.arms[0]
    assert settled > 500
    assert different > 500


def test_only_arms_far_behind_do_not_contend():
    fit = fitted(gap=2.0)
    posterior = allocate(Posterior, 5).view
    find_contenders(posterior, fit, 1.0)
    leader = int(np.argmax(fit.mu))
    behind = [contrasts(fit, [leader, i]) for i in range(5)]
    inside = [i for i, (mean, var) in enumerate(behind) if i == leader or mean[0] ** 2 <= 6.5**2 * var[0, 0]]
    assert 1 < len(inside) < 5
    assert sorted(posterior.arms[: int(posterior.size[0])]) == inside
    assert posterior.arms[0] == leader


@pytest.mark.parametrize("beta", [0.5, 0.8])
def test_choices_follow_the_law_of_the_rule(beta):
    """Against draws by NumPy: the first draw's best arm with probability beta, else another's."""
    spec = tp.policy("top-two-thompson", beta=beta)
    fit = fitted(arms=4, gap=0.25)
    memory = spec.memory(4)
    state, data, _ = memory.view
    for ours, theirs in zip(data.fit, fit, strict=True):
        ours[:] = theirs
    data.pulls[:] = 15
    n = 6000
    params = spec.params(4, 1000)
    ours = [choose(params, state, data, draw(t)) for t in range(n)]

    random = np.random.default_rng(2)
    variance = fit.rss[0] / (fit.told[0] - fit.environments[0] - fit.joins[0])
    mean, covariance = contrasts(fit, [0, 1, 2, 3])
    root = np.linalg.cholesky(variance * covariance)

    def best():
        return int(np.argmax([0.0, *(mean + root @ random.standard_normal(3))]))

    def second(first):
        for _ in range(8):
            other = best()
            if other != first:
                return other
        hardest = {i: contrasts(fit, [first, i]) for i in range(4) if i != first}
        return min(hardest, key=lambda i: hardest[i][0][0] ** 2 / hardest[i][1][0, 0])

    firsts = [best() for _ in range(n)]
    theirs = [first if random.random() < beta else second(first) for first in firsts]
    counts = np.array([np.bincount(ours, minlength=4), np.bincount(theirs, minlength=4)])
    assert (counts.sum(axis=0) > 100).sum() >= 3
    assert stats.chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue > FALSE_ALARM


def test_the_leader_gets_half_of_the_pulls_once_it_is_clear():
    """Its challenger is then the arm that is hardest to tell from it."""
    spec = tp.policy("top-two-thompson")
    fit = fitted(gap=30.0)
    memory = spec.memory(5)
    state, data, _ = memory.view
    for ours, theirs in zip(data.fit, fit, strict=True):
        ours[:] = theirs
    data.pulls[:] = 12
    n = 2000
    choices = [choose(spec.params(5, 1000), state, data, draw(t)) for t in range(n)]
    margins = [contrasts(fit, [4, i]) for i in range(4)]
    hardest = int(np.argmin([mean[0] ** 2 / variance[0, 0] for mean, variance in margins]))
    assert set(choices) == {4, hardest}
    assert stats.binomtest(choices.count(4), n, 0.5).pvalue > FALSE_ALARM


def test_beta_is_a_probability():
    for beta in (-0.1, 1.1, float("nan"), "half"):
        with pytest.raises(tp.errors.TideproofError, match="beta"):
            tp.policy("top-two-thompson", beta=beta)


# ---------------------------------------------------------------- many replications


@pytest.mark.parametrize(
    ("scenario", "published"),
    [("general", [0.507, 0.570, 0.556]), ("cannot-sample-all-arms", [0.502, 0.394, 0.322])],
)
def test_pics_of_zero_one(scenario, published):
    """policies.md section 2, 4,000 replications there; two binomials, pooled, six tests in all."""
    n, m = 10_000, 4000
    study = tp.simulate(tp.mdm(5, scenario), "zero-one", budgets=[100, 200, 300], replications=n, seed=1)
    for here, there in zip(study.pics("zero-one"), published, strict=True):
        pooled = (here * n + there * m) / (n + m)
        z = (here - there) / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        assert 2 * stats.norm.sf(abs(z)) > FALSE_ALARM, f"{here} here, {there} there"


def test_without_shifts_all_beat_round_robin():
    """10,000 replications at T = 100; the gaps are about 20 standard errors."""
    names = ["zero-one", "ocba", "knowledge-gradient", "top-two-thompson"]
    world = tp.mdm(5, "stationary")
    study = tp.simulate(world, [*names, "round-robin"], budgets=[100], replications=10_000, seed=2)
    for name in names:
        assert study.difference(name, "round-robin").high[0] < -0.02
