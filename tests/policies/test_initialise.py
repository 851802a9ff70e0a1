"""Algorithm 1 on paper: what it must do in every world it can meet."""

import numpy as np
import pytest

import tideproof as tp


def play(policy, arms, lengths, budget, seed=0):
    """Run an experiment through environments of the given lengths; return (arm, environment)s."""
    run = tp.Experiment([str(i) for i in range(arms)], budget=budget, policy=policy, seed=seed)
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(lengths)), lengths)[:budget]
    steps = []
    for label in labels:
        pull = run.ask(environment=int(label))
        run.tell(pull, random.standard_normal())
        steps.append((int(pull.arm), int(label)))
    return run, steps


@pytest.mark.parametrize("seed", range(5))
def test_in_one_environment_it_is_randomised_round_robin(seed):
    _, steps = play("linlucb", 5, [30], 30, seed)
    for cycle in range(6):
        assert sorted(arm for arm, _ in steps[5 * cycle : 5 * cycle + 5]) == [0, 1, 2, 3, 4]


def test_different_seeds_shuffle_differently():
    orders = {tuple(arm for arm, _ in play("linlucb", 5, [5], 30, seed)[1]) for seed in range(10)}
    assert len(orders) > 5


@pytest.mark.parametrize("seed", range(5))
def test_a_change_replays_the_last_arm_until_all_are_seen(seed):
    _, steps = play("linlucb", 6, [2] * 30, 60, seed)
    seen = {steps[0][0], steps[1][0]}
    for t in range(2, 60, 2):
        if len(seen) < 6:
            assert steps[t][0] == steps[t - 1][0]
        seen |= {steps[t][0], steps[t + 1][0]}


@pytest.mark.parametrize("seed", range(5))
def test_it_ends_with_n0_pulls_of_every_arm_and_one_group(seed):
    run, steps = play(tp.policy("linlucb", n0=4), 6, [3] * 8, 24, seed)
    assert [sum(arm == i for arm, _ in steps) for i in range(6)] == [4] * 6
    assert len(run.fit().groups) == 1


def test_environments_of_length_one_are_given_up_after_two_replays():
    _, steps = play("round-robin+ols", 3, [1] * 12, 12)
    arms = [arm for arm, _ in steps]
    assert arms[0] == arms[1] == arms[2] != arms[3]
    assert arms[3] == arms[4] == arms[5] != arms[6]


def test_length_one_environments_among_others_still_connect():
    run, _ = play("round-robin+ols", 6, [1, 1, 1, 2, 1, 3, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2], 33)
    assert len(run.fit().groups) == 1
