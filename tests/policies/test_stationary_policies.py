"""Policies that know nothing of shifts: their numbers, and second writings of what they choose."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from experiments import number
from run_memory import select, view
from tideproof.kernels.simulate.replication_loop import SAMPLES
from tideproof.kernels.simulate.threefry import ASK, SELECT, Draw, uniform
from tideproof.lab.engines.cpu_engine import empty_trace, run_loop
from tideproof.policies.builtin import exp4p, p1, pss, sequential_halving, successive_rejects
from tideproof.policies.policy_spec import PolicySpec

SEED = 7


def traced(policy, world, budget, replication=0):
    """Return arms and rewards of one interpreted replication, the memory it left and the selection."""
    spec = policy if isinstance(policy, PolicySpec) else tp.policy(policy)
    trace = empty_trace(budget, world.arms)
    score, memory = run_loop(spec.program().replicate, spec, world, [budget], SEED, replication, 1, trace)
    n = score.counts[0, SAMPLES]
    return trace.arm[:n].tolist(), trace.reward[:n], memory.view, int(score.selected[0, 0])


def rewards_of(arm, arms, rewards):
    return np.array([r for a, r in zip(arms, rewards, strict=True) if a == arm])


def least_played(candidates, arms):
    counts = {i: arms.count(i) for i in candidates}
    return {i for i in candidates if counts[i] == min(counts.values())}


# ---------------------------------------------------------------- numbers of policies.md


@pytest.mark.parametrize(
    ("K", "T", "expected"),
    [
        (5, 200, [22, 28, 37, 55]),
        (5, 500, [56, 70, 93, 139]),
        (10, 500, [21, 23, 26, 29, 34, 41, 51, 68, 101]),
    ],
)
def test_successive_rejects_schedule(K, T, expected):
    params = successive_rejects.configure(K, T, "survivor")
    assert [successive_rejects.target(params, K + 1 - k) for k in range(1, K)] == expected


def test_successive_rejects_schedule_is_exact_where_it_is_a_whole_number():
    for K in (2, 3, 4, 5, 7, 12):
        logbar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, K + 1))
        for T in range(K + 1, 700):
            params = successive_rejects.configure(K, T, "survivor")
            for k in range(1, K):
                exact = math.ceil((T - K) / (logbar * (K + 1 - k)))
                assert successive_rejects.target(params, K + 1 - k) == exact, (K, T, k)


@pytest.mark.parametrize(
    ("K", "expected"), [(5, [(5, 33), (3, 55), (2, 83)]), (10, [(10, 12), (5, 25), (3, 41), (2, 62)])]
)
def test_sequential_halving_rounds(K, expected):
    params = sequential_halving.configure(K, 500, "survivor")
    rounds, arms = [], K
    while arms > 1:
        rounds.append((arms, sequential_halving.quota(params, arms)))
        arms = (arms + 1) // 2
    assert rounds == expected
    assert len(rounds) == params.rounds


@pytest.mark.parametrize(("K", "expected"), [(5, [5, 3, 2, 1]), (10, [10, 5, 3, 2, 1])])
def test_pss_sizes(K, expected):
    params = pss.configure(K, 500, "survivor", u=2)
    assert [pss.size(params, K, m) for m in range(params.phases + 1)] == expected
    assert params.steps == 500 // params.phases


@pytest.mark.parametrize("u", [2, 3, 5, 6, 7, 10])
def test_pss_sizes_at_powers_of_u(u):
    """ln 125 / ln 5 is 3.0000000000000004: there are three phases, not four."""
    for power in range(1, 5):
        params = pss.configure(u**power, 100_000, "survivor", u=u)
        assert params.phases == power
        assert [pss.size(params, u**power, m) for m in range(power + 1)] == [
            u ** (power - m) for m in range(power + 1)
        ]


def test_pss_phases_against_exact_arithmetic():
    for u in (Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(100)):
        for K in range(2, 60):
            params = pss.configure(K, 1000, "survivor", u=float(u))
            assert u ** (params.phases - 1) < K <= u**params.phases
            for m in range(params.phases + 1):
                assert pss.size(params, K, m) == math.ceil(K / u**m)


def test_p1_chances_by_rank():
    for K, expected in [
        (5, {1: 0.437956, 2: 0.218978, 3: 0.145985, 4: 0.109489, 5: 0.087591}),
        (10, {1: 0.341417, 10: 0.034142}),
    ]:
        memory = tp.policy("p1").memory(K)
        params = p1.configure(K, None, "mean")
        ranks = np.random.default_rng(1).permutation(K) + 1
        memory.view.data.moments.sums[:] = -ranks
        chances = [p1.chance(params, memory.view.data, i) for i in range(K)]
        assert sum(chances) == pytest.approx(1.0, abs=1e-15)
        for rank, p in expected.items():
            assert chances[ranks.tolist().index(rank)] == pytest.approx(p, abs=5e-7)


def test_p1_ties_share_their_ranks():
    memory = tp.policy("p1").memory(4)
    params = p1.configure(4, None, "mean")
    chances = [p1.chance(params, memory.view.data, i) for i in range(4)]
    assert chances == pytest.approx([0.25] * 4)
    memory.view.data.moments.sums[:] = [1.0, 3.0, 1.0, 0.0]
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4
    expected = np.array([(1 / 2 + 1 / 3) / 2, 1, (1 / 2 + 1 / 3) / 2, 1 / 4]) / harmonic
    assert [p1.chance(params, memory.view.data, i) for i in range(4)] == pytest.approx(expected)


def test_exp4p_constants():
    params = exp4p.configure(5, 500, "mean", lo=0.0, hi=1.0)
    assert params.p_min == pytest.approx(0.0253727, abs=5e-8)
    assert params.root == pytest.approx(0.0429193, abs=5e-8)


@pytest.mark.parametrize(("K", "forced"), [(5, 220), (10, 500)])
def test_ucb1_normal_is_round_robin_for_its_first_steps(K, forced):
    """One arm is far the best, and yet gets no more pulls than the others until step 220 or 500."""
    world = tp.World([0.0] * (K - 1) + [1000.0], lengths=None, shifts=tp.worlds.NoShift())
    arms, *_ = traced("ucb1-normal", world, forced + 5)
    for start in range(0, forced, K):
        assert sorted(arms[start : start + K]) == list(range(K))
    assert arms[forced:] == [K - 1] * 5


# ---------------------------------------------------------------- second writings


def test_ucb1_normal_chooses_as_written_again():
    K, budget = 3, 400
    arms, rewards, _, selected = traced("ucb1-normal", tp.mdm(K), budget)
    free = 0
    for n in range(1, budget + 1):
        past, seen = arms[: n - 1], rewards[: n - 1]
        counts = [past.count(i) for i in range(K)]
        short = [i for i in range(K) if counts[i] < max(2, math.ceil(8 * math.log(n)))]
        if short:
            expected = {i for i in short if counts[i] == min(counts)}
        else:
            own = [rewards_of(i, past, seen) for i in range(K)]
            bound = [r.mean() + math.sqrt(16 * r.var(ddof=1) * math.log(n - 1) / len(r)) for r in own]
            expected = {int(np.argmax(bound))}
            free += 1
        assert arms[n - 1] in expected, f"step {n}"
    assert free > 200
    assert selected == int(np.argmax([arms.count(i) for i in range(K)]))


def test_lucb_chooses_as_written_again():
    K, budget = 4, 151
    arms, rewards, _, selected = traced("lucb", tp.mdm(K), budget)
    assert arms[: 6 * K] == list(range(K)) * 6
    for t in range(6 * K, budget, 2):
        own = [rewards_of(i, arms[:t], rewards[:t]) for i in range(K)]
        mean = np.array([r.mean() for r in own])
        bound = [r.mean() + math.sqrt(16 * r.var(ddof=1) * math.log(t) / len(r)) for r in own]
        leader = int(np.argmax(mean))
        bound[leader] = -math.inf
        assert arms[t : t + 2] == [leader, int(np.argmax(bound))][: budget - t]
    means = [rewards_of(i, arms, rewards).mean() for i in range(K)]
    assert selected == int(np.argmax(means))


def raced(K, plan, arms, rewards):
    """Follow an elimination through phases (steps, arms to keep, by all data or the phase's own)."""
    left, t = set(range(K)), 0
    for steps, keep, cumulative in plan:
        begin = 0 if cumulative else t
        for _ in range(steps):
            assert arms[t] in least_played(left, arms[begin:t]), f"step {t}"
            t += 1
        mean = {i: rewards_of(i, arms[begin:t], rewards[begin:t]).mean() for i in left}
        left = set(sorted(left, key=mean.get)[len(left) - keep :])
    return left, t


@pytest.mark.parametrize("replication", range(3))
def test_successive_rejects_plays_as_written_again(replication):
    K, T = 5, 200
    arms, rewards, _, selected = traced("successive-rejects", tp.mdm(K), T, replication)
    n = [0, 22, 28, 37, 55]
    plan = [((K + 1 - k) * (n[k] - n[k - 1]), K - k, True) for k in range(1, K)]
    left, used = raced(K, plan, arms, rewards)
    assert used == 197
    assert left == {selected}
    assert arms[used:] == [selected] * 3, "what is left over goes to the last arm"


@pytest.mark.parametrize(("K", "used"), [(5, 496), (10, 492)])
def test_sequential_halving_plays_as_written_again(K, used):
    arms, rewards, _, selected = traced("sequential-halving", tp.mdm(K), 500)
    rounds = {5: [(5, 33), (3, 55), (2, 83)], 10: [(10, 12), (5, 25), (3, 41), (2, 62)]}[K]
    plan = [(size * pulls, math.ceil(size / 2), False) for size, pulls in rounds]
    left, t = raced(K, plan, arms, rewards)
    assert t == used
    assert left == {selected}
    assert arms[t:] == [selected] * (500 - used)


@pytest.mark.parametrize(("K", "sizes"), [(5, [3, 2, 1]), (10, [5, 3, 2, 1])])
def test_pss_plays_as_written_again(K, sizes):
    arms, rewards, _, selected = traced("pss", tp.mdm(K), 299)
    plan = [(299 // len(sizes), keep, False) for keep in sizes]
    left, t = raced(K, plan, arms, rewards)
    assert left == {selected}
    assert arms[t:] == [selected] * (299 - t)


@pytest.mark.parametrize("replication", range(5))
def test_ser3_plays_and_stops_as_written_again(replication):
    K, epsilon, log_inverse_delta = 5, 0.7, 12.0
    spec = tp.policy("ser3", epsilon=epsilon, log_inverse_delta=log_inverse_delta)
    arms, rewards, _, selected = traced(spec, tp.mdm(K), 1000, replication)
    left, tau, t = set(range(K)), 1, 0
    while len(left) > 1:
        assert set(arms[t : t + len(left)]) == left, f"round {tau}"
        t += len(left)
        mean = {i: rewards_of(i, arms[:t], rewards[:t]).mean() for i in left}
        best = max(left, key=mean.get)
        threshold = math.sqrt(2 / tau * (math.log(4 * K * tau**2) + log_inverse_delta))
        left = {k for k in left if k == best or mean[best] - mean[k] + epsilon < threshold}
        tau += 1
    assert t == len(arms) < 1000
    assert left == {selected}


def lottery(chances, t):
    """Return the arm that the policy's number of step t draws from these chances."""
    draw = Draw(np.uint64(SEED), np.uint64(0), ASK, np.uint64(t))
    with np.errstate(over="ignore"):
        u = uniform(draw, 0)
    return min(int(np.searchsorted(np.cumsum(chances), u, side="right")), len(chances) - 1)


@pytest.mark.parametrize("selection", ["mean", "ips"])
def test_p1_draws_as_written_again(selection):
    K, budget = 5, 150
    arms, rewards, view, selected = traced(f"p1+{selection}", tp.mdm(K), budget)
    harmonic = sum(1 / k for k in range(1, K + 1))
    G = np.zeros(K)
    for t in range(budget):
        ranks = np.array([[1 + np.sum(g < G), np.sum(g <= G)] for g in G])  # first and last of its ties
        p = [np.mean([1 / r for r in range(low, high + 1)]) / harmonic for low, high in ranks]
        assert arms[t] == lottery(p, t)
        G[arms[t]] += rewards[t] / p[arms[t]]
    assert view.data.moments.sums == pytest.approx(G, rel=1e-12)
    means = [rewards_of(i, arms, rewards).mean() for i in range(K)]
    assert selected == int(np.argmax(G if selection == "ips" else means))


@pytest.mark.parametrize("selection", ["mean", "ips"])
def test_exp4p_draws_as_written_again(selection):
    K, T, delta, lo, hi = 4, 120, 0.1, 1.0, 17.0  # some rewards are clipped
    spec = tp.policy(f"exp4p+{selection}", delta=delta, lo=lo, hi=hi)
    arms, rewards, view, selected = traced(spec, tp.mdm(K), T)
    p_min = math.sqrt(math.log(K) / (K * T))
    w, G = np.ones(K), np.zeros(K)
    for t in range(T):
        p = (1 - K * p_min) * w / w.sum() + p_min
        assert arms[t] == lottery(p, t)
        G[arms[t]] += rewards[t] / p[arms[t]]
        r_hat = np.zeros(K)
        r_hat[arms[t]] = np.clip((rewards[t] - lo) / (hi - lo), 0, 1) / p[arms[t]]
        v_hat = 1 / p
        w *= np.exp(p_min / 2 * (r_hat + v_hat * math.sqrt(math.log(K / delta) / (K * T))))
    assert view.state.logs == pytest.approx(np.log(w), rel=1e-12)
    means = [rewards_of(i, arms, rewards).mean() for i in range(K)]
    assert selected == int(np.argmax(G if selection == "ips" else means))


# ---------------------------------------------------------------- options and budgets


def test_exp4p_takes_its_range_from_the_world_in_the_lab_only():
    sigma = 2.0
    uniform_world = tp.World([1.0, 3.0], sigma=[0.5, sigma], shifts=tp.worlds.Uniform(0.0, 20.0))
    assert exp4p.from_world(uniform_world) == pytest.approx({"lo": 1 + 0.02 - 6, "hi": 3 + 19.98 + 6})
    normal_world = tp.World([1.0, 3.0], sigma=sigma, shifts=tp.worlds.Normal(5.0, 2.0))
    z = 3.090232306167813
    assert exp4p.from_world(normal_world) == pytest.approx({"lo": 6 - 2 * z - 6, "hi": 8 + 2 * z + 6})
    assert exp4p.from_world(tp.mdm(3, "stationary")) == pytest.approx({"lo": -3.0, "hi": 4.0})
    weekly = tp.World([0.0, 0.0], sigma=0.0, shifts=tp.worlds.Weekly([1.0, 5.0, -2.0], sd=0.0))
    assert exp4p.from_world(weekly) == {"lo": -2.0, "hi": 5.0}
    walk = tp.World([0.0, 0.0], sigma=0.0, shifts=tp.worlds.RandomWalk(0.1, start=4.0))
    assert exp4p.from_world(walk) == pytest.approx({"lo": 4 - z, "hi": 4 + z})

    taken = tp.replay(uniform_world, "exp4p", budget=100)
    clicks = tp.World([0.02, 0.05], shifts=tp.worlds.Normal(0, 0.3), rewards="conversions", tide="multiplies")
    assert exp4p.from_world(clicks) == {"lo": 0.0, "hi": 1.0}
    rare = tp.World([1e-5, 2e-5], shifts=tp.worlds.NoShift(), rewards="counts")
    assert exp4p.from_world(rare) == {"lo": 0.0, "hi": 1.0}
    paid = tp.World([1.0, 2.0], shifts=tp.worlds.Weekly([0, 1]), rewards="money", tide="multiplies")
    law = stats.lognorm(math.sqrt(math.log(2)), scale=2 * math.e / math.sqrt(2))
    assert exp4p.from_world(paid) == pytest.approx({"lo": 0.0, "hi": law.ppf(0.999)})
    given = tp.replay(uniform_world, tp.policy("exp4p", **exp4p.from_world(uniform_world)), budget=100)
    other = tp.replay(uniform_world, tp.policy("exp4p", lo=-100.0), budget=100)
    assert taken.arm.tolist() == given.arm.tolist() != other.arm.tolist()

    with pytest.raises(tp.errors.InputError, match="needs its option 'lo'"):
        tp.Experiment(["a", "b"], budget=100, policy="exp4p")
    with pytest.raises(tp.errors.InputError, match="needs its option 'hi'"):
        tp.Experiment(["a", "b"], budget=100, policy=tp.policy("exp4p", lo=0.0))
    run = tp.Experiment(["a", "b"], budget=100, policy=tp.policy("exp4p", lo=0.0, hi=1.0))
    assert run.ask().arm in ("a", "b")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("exp4p", {"lo": 1.0, "hi": 1.0}, "lo must be below hi"),
        ("exp4p", {"delta": 0.0}, "delta must be between 0 and 1"),
        ("pss", {"u": 1.0}, "u must be above 1"),
        ("lucb", {"n0": 1}, "n0 must be a whole number of at least 2"),
        ("ser3", {"epsilon": -1.0}, "epsilon must be a finite number of at least 0"),
        ("lucb+ols", {}, "unknown selection 'ols' for lucb"),
        ("successive-rejects+mean", {}, "unknown selection"),
    ],
)
def test_what_is_refused(name, options, message):
    with pytest.raises(tp.errors.InputError, match=message):
        tp.policy(name, **options)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("successive-rejects", 6),
        ("sequential-halving", 15),
        ("pss", 15),
        ("lucb", 30),
        ("ucb1-normal", 10),
        ("exp4p", 9),
        ("p1", 5),
        ("ser3", 5),
    ],
)
def test_the_smallest_budget_works_and_one_less_is_refused(name, least):
    world = tp.mdm(5)
    arms, _, view, _ = traced(name, world, least)
    assert len(arms) == least
    if hasattr(view.state, "race") and name != "ser3":
        assert view.state.race.dropped.sum() == 4, "the race is over"
    with pytest.raises(tp.errors.BudgetTooSmall, match=f"at least {least}"):
        traced(name, world, least - 1)


@pytest.mark.parametrize("name", ["successive-rejects", "sequential-halving", "pss"])
def test_what_must_know_its_budget_says_so(name):
    with pytest.raises(tp.errors.InputError, match="must know the budget"):
        tp.Experiment(["a", "b"], policy=name)


# ---------------------------------------------------------------- pulls that are out


@pytest.mark.parametrize("name", ["successive-rejects", "sequential-halving", "pss", "ser3"])
def test_an_elimination_waits_for_its_rewards_and_cycles_until_then(name):
    K = 4
    run = tp.Experiment([str(i) for i in range(K)], budget=240, policy=name)
    pulls = run.ask(n=200)
    for start in range(0, 200, K):
        assert {p.arm for p in pulls[start : start + K]} == {"0", "1", "2", "3"}
    dropped = view(run).state.race.dropped
    for pull in pulls:
        run.tell(pull, 5.0 * int(pull.arm) + 0.1 * (number(pull) % 7))
    assert dropped.sum() > 0
    assert dropped[3] == 0
    assert run.recommend().arm == "3"
    if not run.done:
        still = {str(i) for i in range(K) if dropped[i] == 0}
        assert {run.ask().arm for _ in range(20)} <= still


def test_a_late_reward_of_a_dropped_arm_is_no_part_of_the_next_phase():
    run = tp.Experiment(["a", "b", "c", "d"], budget=80, policy="sequential-halving")
    pulls = run.ask(n=44)  # ten of each are needed
    late = next(p for p in pulls if p.arm == "a")
    for pull in pulls:
        if pull is not late:
            run.tell(pull, {"a": 0.0, "b": 1.0, "c": 2.0, "d": 3.0}[pull.arm])
    race, moments = view(run).state.race, view(run).data.moments
    assert race.dropped.tolist() == [1, 1, 0, 0]
    run.tell(late, 1e6)
    while not run.done:
        pull = run.ask()
        assert pull.arm in "cd"
        run.tell(pull, {"c": 2.0, "d": 3.0}[pull.arm])
    assert moments.told.sum() == 80
    assert run.recommend().arm == "d"


def test_lucb_goes_on_while_rewards_are_out():
    run = tp.Experiment(["a", "b", "c"], budget=60, policy="lucb")
    pulls = run.ask(n=40)
    counts = [sum(p.arm == arm for p in pulls) for arm in run.arms]
    assert max(counts) - min(counts) <= 1
    run.tell_many(pulls, [float(number(p) % 5) for p in pulls])
    assert run.ask().arm in run.arms


def test_ser3_finishes_an_experiment():
    run = tp.Experiment(["a", "b"], policy=tp.policy("ser3", epsilon=1.0, log_inverse_delta=1.0))
    while not run.done:
        pull = run.ask()
        run.tell(pull, 1.0 if pull.arm == "b" else 0.0)
    with pytest.raises(tp.errors.Finished, match="stopped; the selected arm is b"):
        run.ask()


@pytest.mark.parametrize(("times", "dropped"), [(1.0 - 1e-9, [0, 0, 0]), (1.0 + 1e-9, [1, 1, 0])])
def test_ser3_takes_batches_of_rounds(times, dropped):
    """A round counts when every arm still in has it; the test is that of the rounds all arms have."""
    run = tp.Experiment(["a", "b", "c"], policy="ser3")
    for arm, n in {"a": 40, "b": 1000, "c": 50}.items():
        run.tell_summary(arm=arm, environment=1, n=n, mean=0.0, variance=1.0)
    state, mean = view(run).state, view(run).data.moments.mean
    assert state.rounds[0] == 40
    threshold = {tau: math.sqrt(2 / tau * (math.log(4 * 3 * tau**2) + 25)) for tau in (40, 50)}
    lead = times * threshold[50] - 0.5  # epsilon
    run.tell_summary(arm="c", environment=1, n=50, mean=2.0 * lead, variance=1.0)
    assert mean.tolist() == pytest.approx([0.0, 0.0, lead])
    assert state.race.dropped.tolist() == [0, 0, 0], "no new round, no new test"
    run.tell_summary(arm="a", environment=1, n=10, mean=0.0, variance=1.0)
    assert state.rounds[0] == 50
    assert state.race.dropped.tolist() == dropped, "the threshold of round 50"
    assert run.done == (sum(dropped) == 2)


def test_ser3_tests_no_round_twice():
    """A lead that would have been enough at round 40 is found only with the next round."""
    run = tp.Experiment(["a", "b"], policy="ser3")
    for arm in run.arms:
        run.tell_summary(arm=arm, environment=1, n=40, mean=0.0, variance=1.0)
    run.tell_summary(arm="b", environment=1, n=40, mean=1e6, variance=1.0)
    assert not run.done
    run.tell_summary(arm="a", environment=1, n=1, mean=0.0)
    assert run.done


# ---------------------------------------------------------------- selections


def test_period_and_control_as_written_again():
    """Uneven cells, an arm that misses environments, labels that come back."""
    random = np.random.default_rng(SEED)
    arms = ["A", "B", "C", "D"]
    runs = {rule: tp.Experiment(arms, policy=f"round-robin+{rule}") for rule in ("period", "control")}
    cells = {}
    wins = set()
    for _ in range(60):
        i, j, n = int(random.integers(4)), int(random.integers(5)), int(random.integers(1, 6))
        if i == 3 and j > 1:
            continue
        mean = random.normal(0.1 * i + 3.0 * j)
        for run in runs.values():
            run.tell_summary(arm=arms[i], environment=j, n=n, mean=mean, variance=1.0)
        count, total = cells.get((i, j), (0, 0.0))
        cells[i, j] = count + n, total + n * mean
        size = {j: sum(c for (_, k), (c, _) in cells.items() if k == j) for j in range(5)}
        period, versus = np.full(4, -np.inf), np.full(4, -np.inf)
        versus[0] = 0.0
        for i in range(4):
            seen = [j for j in range(5) if (i, j) in cells]
            if seen:
                means = [cells[i, j][1] / cells[i, j][0] for j in seen]
                period[i] = np.average(means, weights=[size[j] for j in seen])
            both = [j for j in seen if (0, j) in cells]
            if i and both:
                n_i, n_c = (np.array([cells[a, j][0] for j in both]) for a in (i, 0))
                gap = [cells[i, j][1] / cells[i, j][0] - cells[0, j][1] / cells[0, j][0] for j in both]
                versus[i] = np.average(gap, weights=n_i * n_c / (n_i + n_c))
        for rule, expected in {"period": np.argmax(period), "control": np.argmax(versus)}.items():
            draw = Draw(np.uint64(SEED), np.uint64(0), SELECT, np.uint64(0))
            assert select(runs[rule], draw) == expected
            wins.add((rule, int(expected)))
    assert len(wins) >= 5, "this run hardly put the rules to the test"


def test_control_is_unidentified_until_every_arm_met_the_control():
    """Environments of two steps, arms 0 1 | 2 0 | 1 2: arm 2 meets the control at the fourth."""
    world = tp.World([0.0, 1.0, 2.0], lengths=(2, 2))
    found = [tp.replay(world, "round-robin+control", budget=budget).identified for budget in (3, 4, 6)]
    assert found == [False, True, True]


# ---------------------------------------------------------------- many replications


def assert_same_share(wrong, n, share, m, false_alarm=1e-6):
    """Two binomials: `wrong` of n here, `share` of m there. The pooled z test, two-sided."""
    from scipy.special import ndtri

    pooled = (wrong + share * m) / (n + m)
    z = (wrong / n - share) / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    assert abs(z) < -ndtri(false_alarm / 2), f"{wrong / n:.4f} here, {share} there: z = {z:.1f}"


PUBLISHED = {  # policies.md section 2: MDM, K = 5, general, T = 100, 200, 300; 4,000 replications each
    "round-robin": [0.134, 0.059, 0.028],
    "successive-rejects": [0.149, 0.063, 0.029],
    "pss": [0.199, 0.098, 0.046],
}


def test_pics_of_policies_md():
    n = 10_000
    study = tp.simulate(tp.mdm(5), list(PUBLISHED), budgets=[100, 200, 300], replications=n, seed=SEED)
    for name, published in PUBLISHED.items():
        for here, there in zip(study.pics(name), published, strict=True):
            assert_same_share(here * n, n, there, 4000)


def test_ser3_samples_and_pics_of_policies_md():
    """About 191 samples and PICS .037; their replications are not given, taken to be 4,000."""
    n = 10_000
    study = tp.simulate(tp.mdm(5), "ser3", budgets=[5000], replications=n, seed=SEED)
    assert study.stopped("ser3")[0] == 1.0
    assert_same_share(study.pics("ser3")[0] * n, n, 0.037, 4000)
    spread = study.standard_error("ser3", measure="samples")[0] * math.sqrt(n)
    reach = 4.9 * spread * math.sqrt(1 / n + 1 / 4000) + 0.5  # false alarm 1e-6, and 191 is rounded
    assert abs(study.samples("ser3")[0] - 191) < reach


@pytest.mark.parametrize("name", ["round-robin", "successive-rejects", "pss", "sequential-halving", "ser3"])
def test_ties_fall_uniformly(name):
    """All rewards are equal: every arm is selected equally often (chi-square, false alarm 1e-6)."""
    from scipy.special import chdtrc

    n, K = 4000, 5
    world = tp.World([0.0] * K, sigma=0.0, lengths=None, shifts=tp.worlds.NoShift())
    study = tp.simulate(world, name, budgets=300, replications=n, seed=SEED)
    chosen = study.tally.chosen[0, 0]
    assert chosen.sum() == n
    assert chdtrc(K - 1, ((chosen - n / K) ** 2 / (n / K)).sum()) > 1e-6, chosen
