"""Tests of the contract that every policy must keep, and of the properties of epsilon-greedy."""

import pytest
from epsilon_greedy import POLICY

import tideproof as tp
from tideproof.testing import policy_checks


@pytest.mark.parametrize("check", policy_checks(POLICY), ids=lambda check: check.__name__)
def test_contract(check):
    check()


def leader_share(epsilon):
    """Return the share of pulls of the best arm, which is far ahead, after the first 20 pulls."""
    world = tp.World([0.0, 0.0, 0.0, 100.0], lengths=(2, 9))
    run = tp.replay(world, tp.policy(POLICY, epsilon=epsilon), seed=1, budget=420)
    return (run.arm[20:] == 3).mean()


def test_the_extremes_of_epsilon():
    assert leader_share(0.0) == 1.0
    assert leader_share(1.0) == 0.25


def test_a_chance_that_is_none():
    with pytest.raises(tp.errors.InputError, match="epsilon must be a probability"):
        tp.policy(POLICY, epsilon=1.5)
