"""The one loop: replications of one policy in one world, scored at checkpoints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.kernels._arrays import Floats, Ints
from tideproof.kernels._link import hole, kernel
from tideproof.kernels.data import take
from tideproof.kernels.environment import clear
from tideproof.kernels.random import ASK, SELECT, TELL, Draw
from tideproof.kernels.world import environment, noise

ask = hole("ask")
select = hole("select")
identified = hole("identified")
FIT = hole("FIT")
TRACE = hole("TRACE")


class Score(NamedTuple):
    """What is kept of R replications at B checkpoints: the selections, and sums over R.

    Attributes
    ----------
    selected : (R, B) the arm the policy would select.
    chosen : (B, K) how often each arm was selected.
    unidentified : (B,) how often the selection did not rest on comparable arms.
    pulls : (B, K) pulls of each arm.
    samples, squares : (B,) pulls in all, and their squares.
    stopped : (B,) how often the policy had stopped by itself, with pulls to spare.
    """

    selected: NDArray[np.int16]
    chosen: Ints
    unidentified: Ints
    pulls: Ints
    samples: Ints
    squares: Ints
    stopped: Ints


class Trace(NamedTuple):
    """One replication step by step; rows are steps, and all is empty unless it is asked for.

    Attributes
    ----------
    arm, environment, shift, reward : (T,) what happened.
    estimates : (T, K) muhat after the step, or the raw means where nobody reads the fit.
    """

    arm: Ints
    environment: Ints
    shift: Floats
    reward: Floats
    estimates: Floats


@kernel
def replicate(params, run, floats, ints, world, seed, first, budgets, score, trace):
    """Play replications first, first + 1, ... of `world`, as many as `score` has room for.

    `run` holds (state, data, slot) and lives in the buffers `floats` and `ints`; `budgets` are the
    checkpoints in ascending order. It is one function because compiling grows with the depth of calls.
    """
    state, data, slot = run.state, run.data, run.slot
    for r in range(score.selected.shape[0]):
        replication = first + np.uint64(r)
        for i in range(floats.size):
            floats[i] = 0.0
        for i in range(ints.size):
            ints[i] = 0
        t, j, left, shift = 0, -1, 0, 0.0
        stopped = False
        for b in range(budgets.size):
            while t < budgets[b] and not stopped:
                if left == 0:
                    j += 1
                    left, shift = environment(world, seed, replication, j, shift)
                    clear(slot)
                step = np.uint64(t)
                arm = ask(params, state, data, slot, Draw(seed, replication, ASK, step))
                if arm < 0:
                    stopped = True
                    break
                reward = world.means[arm] + shift + world.sigmas[arm] * noise(world, seed, replication, t)
                take(params, state, data, slot, arm, 1, reward, 0.0, Draw(seed, replication, TELL, step))
                if TRACE:
                    trace.arm[t] = arm
                    trace.environment[t] = j
                    trace.shift[t] = shift
                    trace.reward[t] = reward
                    for i in range(data.pulls.size):
                        trace.estimates[t, i] = data.fit.mu[i] if FIT else data.moments.mean[i]
                left -= 1
                t += 1
            # a policy that stopped keeps its selection at later checkpoints
            arm = select(params, state, data, Draw(seed, replication, SELECT, np.uint64(t)))
            score.selected[r, b] = arm
            score.chosen[b, arm] += 1
            if not identified(data):
                score.unidentified[b] += 1
            for i in range(data.pulls.size):
                score.pulls[b, i] += data.pulls[i]
            score.samples[b] += t
            score.squares[b] += t * t
            if t < budgets[b]:
                score.stopped[b] += 1
