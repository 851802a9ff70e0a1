"""Loop of every simulation: replications of one policy in one world, evaluated at several budgets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_linker import hole, kernel
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.kernels.fit.policy_data import clear, take
from tideproof.kernels.simulate.threefry import ASK, SELECT, TELL, Draw
from tideproof.kernels.simulate.world_draws import cell, drift_at, environment, noise_factor, reward

ask = hole("ask")
select = hole("select")
LABELS = hole("LABELS")
identified = hole("identified")
FIT = hole("FIT")
TRACE = hole("TRACE")
add_to_count = hole("add_to_count")


# Columns of the counts. From column ARMS on: selections of each arm, pulls of each arm, stops with each arm.
UNIDENTIFIED, STOPPED, SAMPLES, SQUARES, ARMS = 0, 1, 2, 3, 4


class Score(NamedTuple):
    """Selected arms and pull counts of simulated replications, at each of several budgets.

    Attributes
    ----------
    selected : (B, R) the arm that the policy would select.
    counts : (B, ARMS + 3 K) sums over replications: number of selections that did not rest on comparable
        arms; number of runs that the policy stopped before the budget; pulls in total, and their squares;
        selections of each arm; pulls of each arm; stops with each arm selected. A GPU has several tables.
    """

    selected: NDArray[np.int16]
    counts: Ints


class Trace(NamedTuple):
    """Record of one simulated replication (one row per step); empty unless a trace is requested.

    Attributes
    ----------
    arm, environment, shift, reward : (T,) arm played, environment, its shift, and the reward.
    estimates : (T, K) muhat after the step, or the raw means if the policy does not read the fit.
    """

    arm: Ints
    environment: Ints
    shift: Floats
    reward: Floats
    estimates: Floats


@kernel
def replicate(params, run, floats, ints, world, seed, first, budgets, score, trace):
    """Simulate consecutive replications of one policy in one simulated world.

    There are as many as `score` has space for.

    Their numbers are first, first + 1, and so on. `run` contains (state, data, slot), whose arrays are
    views of the buffers `floats` and `ints`.
    """
    for r in range(score.selected.shape[1]):
        for i in range(floats.size):
            floats[i] = 0.0
        for i in range(ints.size):
            ints[i] = 0
        play_one(params, run, world, seed, first, budgets, score, r, trace)


@kernel
def play_one(params, run, world, seed, first, budgets, score, r, trace):
    """Simulate one replication, and store the selected arm and the pull counts at each budget.

    The state is empty at the beginning.

    Its number is first + r.
    """
    state, data = run.state, run.data
    K = data.pulls.size
    replication = first + np.uint64(r)
    t, j, left, shift, drift, stopped = 0, -1, 0, 0.0, 0.0, False
    for b in range(budgets.size):
        t, j, left, shift, drift, stopped = play_until(
            params, run, world, seed, replication, budgets[b], t, j, left, shift, drift, stopped, trace
        )
        # a policy that stopped keeps its selection at later checkpoints
        arm = select(params, state, data, Draw(seed, replication, SELECT, np.uint64(t)))
        score.selected[b, r] = arm
        add_to_count(score.counts, b, ARMS + arm, 1)
        for i in range(K):
            add_to_count(score.counts, b, ARMS + K + i, data.pulls[i])
        add_to_count(score.counts, b, SAMPLES, t)
        add_to_count(score.counts, b, SQUARES, t * t)
        if t < budgets[b]:
            add_to_count(score.counts, b, STOPPED, 1)
            add_to_count(score.counts, b, ARMS + 2 * K + arm, 1)
        if not identified(data):
            add_to_count(score.counts, b, UNIDENTIFIED, 1)


@kernel
def play_until(params, run, world, seed, replication, budget, t, j, left, shift, drift, stopped, trace):
    """Continue a simulated replication from step t until a budget is used or the policy stops.

    Environment j has `left` pulls left, and the given shift; `drift` is that of the last pull. Returns t, j,
    left, shift, drift and stopped at the end.
    """
    state, data, slot = run.state, run.data, run.slot
    while t < budget and not stopped:
        if left == 0:
            j += 1
            left, shift = environment(world, seed, replication, j, shift)
            if LABELS and world.announced == 1:
                clear(slot)
        step = np.uint64(t)
        arm = ask(params, state, data, slot, Draw(seed, replication, ASK, step))
        if arm < 0:
            stopped = True
            break
        drift = drift_at(world, seed, replication, t, drift)
        alone = cell(world, seed, replication, j, arm)
        loud = noise_factor(world, seed, replication, j)
        told = reward(world, seed, replication, t, arm, shift + drift + alone, loud)
        take(params, state, data, slot, arm, 1, told, 0.0, Draw(seed, replication, TELL, step))
        if TRACE:
            trace.arm[t] = arm
            trace.environment[t] = j
            trace.shift[t] = shift + drift
            trace.reward[t] = told
            for i in range(data.pulls.size):
                trace.estimates[t, i] = data.fit.mu[i] if FIT else data.moments.mean[i]
        left -= 1
        t += 1
    return t, j, left, shift, drift, stopped


@kernel
def add_unshared(counts, b, column, n):
    """Add `n` to an entry of a table of counts, without protection against other threads.

    No other thread writes to the table.
    """
    counts[b, column] += n
