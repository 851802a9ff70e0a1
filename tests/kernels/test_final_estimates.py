"""Estimates that the kernel stores at every budget, against dense least squares of the steps of the same run."""

import numpy as np
import pytest

from oracles import dense
from tideproof.core.kernel_linker import ignore_overflow, link, use_interpreter
from tideproof.kernels.fit.final_estimates import FinalEstimates, play_to_final_estimates
from tideproof.lab.replay import replay
from tideproof.policies.policy_registry import as_policy
from tideproof.worlds import RandomWalk, World

ARMS, BUDGETS, RUNS, FIRST, SEED = 4, (2, 24, 60), 3, 7, 5  # two pulls do not connect four arms
WORLD = World([0.0, 0.4, 0.1, 0.3], lengths=(2, 5), shifts=RandomWalk(5.0))
SPEC = as_policy("round-robin+ols")
OTHER = 1


@pytest.fixture(scope="module")
def ends():
    play = ignore_overflow(link(play_to_final_estimates, use_interpreter, SPEC.fill()))
    memory, runs = SPEC.memory(ARMS), (len(BUDGETS), RUNS)
    selected, freedom = (np.full(runs, 9) for _ in range(2))
    mu, to_selected, to_other = (np.full((*runs, ARMS), 9.0) for _ in range(3))
    found = FinalEstimates(selected, freedom, np.full(runs, 9.0), mu, to_selected, to_other, np.zeros(ARMS))
    params = SPEC.within(WORLD).params(ARMS, BUDGETS[-1])
    numbers, seeds = WORLD.numbers(), (np.uint64(SEED), np.uint64(FIRST))
    play(params, memory.view, memory.floats, memory.ints, numbers, *seeds, np.array(BUDGETS), OTHER, found)
    return found


@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("b", [1, 2])
def test_estimates_are_those_of_least_squares(ends, b, run):
    log = replay(WORLD, "round-robin+ols", SEED, FIRST + run, BUDGETS[b])
    fit = dense(log.arm, log.environment, log.reward, ARMS, log.environment.max() + 1)
    mu = fit.beta[:ARMS]
    best = mu.argmax()
    assert ends.selected[b, run] == best
    assert ends.freedom[b, run] == fit.freedom
    assert ends.rss[b, run] == pytest.approx(fit.rss)
    assert ends.mu[b, run] - ends.mu[b, run, OTHER] == pytest.approx(mu - mu[OTHER])
    for arm, found in ((best, ends.to_selected[b, run]), (OTHER, ends.to_other[b, run])):
        contrasts = [np.eye(len(fit.beta))[i] - np.eye(len(fit.beta))[arm] for i in range(ARMS)]
        assert found == pytest.approx([fit.combination(c)[1] for c in contrasts], abs=1e-12)


def test_arms_that_never_met_have_no_degrees_of_freedom(ends):
    assert ends.freedom[0].tolist() == [0] * RUNS
