"""Rules that choose pairs of an arm and an environment, simulated in a response matrix."""

import numpy as np
import pytest

import tideproof as tp
from tideproof.core.kernel_linker import use_interpreter
from tideproof.errors import InputError, UnknownName
from tideproof.lab.matrix_simulation import PAIR_RULES, compile_rule, simulate_matrix

RULES = list(PAIR_RULES)


def random_scores(seed, environments=30, arms=4):
    return np.random.default_rng(seed).random((environments, arms)) + 0.1 * np.arange(arms)


def played(rule, scores, budget):
    """Return the arm that a rule selects, and the pairs that it asks for."""
    pairs = np.full((budget, 2), -1, np.int64)
    arm = int(compile_rule(rule, use_interpreter)(scores, budget, pairs))
    return arm, pairs[pairs[:, 0] >= 0]


def simulated(world, rules=RULES, budgets=(24, 60), replications=25, seed=0, keep=()):
    return simulate_matrix(
        world, rules, budgets, replications, seed, None, "auto", keep, lambda done: None, use_interpreter
    )


@pytest.mark.parametrize("rule", RULES)
def test_no_pair_is_asked_twice_and_the_budget_is_kept(rule):
    for seed, (budget, arms) in enumerate([(4, 4), (33, 4), (50, 3), (120, 4)]):
        arm, pairs = played(rule, random_scores(seed, arms=arms), min(budget, 30 * arms))
        assert 0 <= arm < arms
        assert len(np.unique(pairs, axis=0)) == len(pairs) <= budget
        assert set(pairs[:, 1].tolist()) == set(range(arms))


@pytest.mark.parametrize("rule", RULES)
def test_with_all_pairs_the_best_arm_is_selected(rule):
    scores = random_scores(5)
    arm, pairs = played(rule, scores, scores.size)
    assert arm == scores.mean(axis=0).argmax()
    assert rule == "paired-halving" or len(pairs) == scores.size


def test_paired_halving_keeps_the_better_half_of_the_arms():
    scores = random_scores(8, arms=8)
    _, pairs = played("paired-halving", scores, 96)  # three rounds of 32 calls: 4, 8 and 16 environments
    asked = [set(pairs[pairs[:, 0] == row, 1].tolist()) for row in range(28)]
    assert asked[:4] == [set(range(8))] * 4
    better = set(np.argsort(scores[:4].sum(axis=0))[4:].tolist())
    assert asked[4:12] == [better] * 8
    totals = scores[:12].sum(axis=0)
    assert asked[12:28] == [set(sorted(better, key=lambda arm: totals[arm])[2:])] * 16


def test_ucb_e_asks_the_arm_with_the_largest_upper_bound():
    scores = random_scores(6, arms=3)
    _, pairs = played("ucb-e", scores, 40)
    for step in range(3, 40):
        before = pairs[:step]
        bounds = []
        for arm in range(3):
            own = scores[before[before[:, 1] == arm, 0], arm]
            bounds.append(own.mean() + len(own) ** -0.5 if len(own) < 30 else -np.inf)
        assert pairs[step, 1] == np.argmax(bounds)


def test_the_study_counts_what_each_rule_selects():
    world = tp.worlds.ResponseMatrix(random_scores(1))
    study = simulated(world, keep=(60,))
    for p, rule in enumerate(RULES):
        selected = study.selected(rule, 60)
        assert study.pics(rule)[1] == np.mean(~np.isin(selected, world.best))
        assert study.eoc(rule)[1] == pytest.approx(world.gaps[selected].mean())
        assert study.pulls(rule).sum(axis=1) == pytest.approx(study.samples(rule))
        assert study.tally.squares[p] == pytest.approx(25 * study.samples(rule) ** 2)
    both = study.wrong("valuable-pairs", 60) & study.wrong("ucb-e", 60)
    estimate = study.difference("valuable-pairs", "ucb-e").estimate
    assert study.tally.both[RULES.index("ucb-e") - 1, 1] == both.sum()
    assert estimate == pytest.approx(study.pics("valuable-pairs") - study.pics("ucb-e"))
    again = simulated(world, ["ucb-e"], seed=0)
    assert again.pics("ucb-e").tolist() == study.pics("ucb-e").tolist()  # whatever other rules there are


def test_equal_arms_are_selected_equally_often_wherever_they_stand():
    """Three arms have the same scores: each is selected with probability 1/3.

    300 selections of one arm have a standard deviation of 8.2; 4.5 of them have a false alarm in 1 of 50,000.
    """
    one = random_scores(2)[:, :1]
    study = simulated(tp.worlds.ResponseMatrix(one.repeat(3, axis=1)), ["paired-halving"], 30, 300)
    assert np.abs(study.tally.chosen[0, 0] - 100).max() < 37
    assert study.pics("paired-halving").tolist() == [0.0]


def test_compiled_rules_give_the_study_of_the_interpreter(tmp_path):
    world = tp.worlds.ResponseMatrix(random_scores(3))
    done = []
    study = tp.simulate(world, RULES, [24, 60], replications=25, seed=4, keep=60, progress=done.append)
    plain = simulated(world, seed=4, keep=(60,))
    for rule in RULES:
        assert study.selected(rule, 60).tolist() == plain.selected(rule, 60).tolist()
        most = 0.1 if rule == "valuable-pairs" else 0.0  # rounding decides between pairs of equal value
        assert np.abs(study.pulls(rule) - plain.pulls(rule)).max() <= most
    assert done == [10, 20, 25]
    study.save(tmp_path / "study.json")
    loaded = tp.Study.load(tmp_path / "study.json")
    assert repr(loaded) == repr(study)
    assert np.array_equal(loaded.world.scores, world.scores)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[1.0], [0.0]], r"at least two arms, not the shape \(2, 1\)"),
        ([1.0, 0.0], r"not the shape \(2,\)"),
        ([[1, 0], [1]], "rows of equal length"),
        ([["a", "b"]], "a table of numbers"),
        ([[1, 0], [0, np.inf]], "that of environment 1 and arm 1 is inf"),
    ],
)
def test_scores_that_are_no_matrix(scores, message):
    with pytest.raises(InputError, match=message):
        tp.worlds.ResponseMatrix(scores)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budgets": 3}, r"at least the number of arms \(4\) and at most the number of pairs \(120\), not 3"),
        ({"budgets": 121}, "not 121"),
        ({"budgets": []}, "budgets must not be empty"),
        ({"policies": []}, "policies must not be empty"),
        ({"policies": ["ucb-e", "ucb-e"]}, "'ucb-e' occurs twice"),
        ({"engine": "cuda"}, "in threads on the CPU"),
        ({"replications": 0}, "replications"),
        ({"keep": 7}, "keep must contain only budgets of the study"),
    ],
)
def test_arguments_that_are_refused(options, message):
    world = tp.worlds.ResponseMatrix(random_scores(1))
    with pytest.raises(InputError, match=message):
        tp.simulate(world, **({"policies": "ucb-e", "budgets": 24, "replications": 10} | options))


def test_an_unknown_rule_is_named():
    with pytest.raises(UnknownName, match=r"'halving'.*'paired-halving'"):
        tp.simulate(tp.worlds.ResponseMatrix(random_scores(1)), "halving", 24)
