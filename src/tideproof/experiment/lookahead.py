"""Simulation of the policy's next choices on a copy of its state, to predict the share of each arm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.kernels.simulate.threefry import ASK, TELL, Draw

STEPS = 200  # largest number of simulated asks; each stands for several pulls of a larger batch


class Lookahead(NamedTuple):
    """Copy of the policy's state on which its next choices are simulated.

    Attributes
    ----------
    program, params : kernels and parameters of the policy.
    run, slot : state of the policy and statistics of the environment, both including pending pulls; the
        simulation changes them.
    seed, asked, expected : seed of the random draws, number of the next pull, and number of the next pull in
        the policy's statistics.
    active : numbers of the active arms in the experiment.
    arms : number of arms in the experiment.
    """

    program: Any
    params: Any
    run: Any
    slot: Any
    seed: int
    asked: int
    expected: int
    active: list[int]
    arms: int

    def shares(self, n: int, play: Callable[[int], int] | None) -> Floats:
        """Predict the share of each arm among the next `n` pulls.

        All shares are 0 if the policy has stopped. `play` maps the arm that the policy chooses to the arm
        that is played, which differs if minimum or maximum shares apply.
        """
        counts: Floats = np.zeros(self.arms)
        steps = min(n, STEPS)
        for step in range(steps):
            done = n * step // steps
            draw = self._draw(ASK, self.asked + done)
            index = int(self.program.ask(self.params, self.run.state, self.run.data, self.slot, draw))
            if index < 0:
                break
            arms = [self.active[index]] * (n * (step + 1) // steps - done)
            for arm, pulls in _count_arms(arms if play is None else [play(arm) for arm in arms]):
                draw = self._draw(TELL, self.expected + int(counts.sum()))
                self.program.expect(
                    self.params, self.run.state, self.run.data, self.slot, self.active.index(arm), pulls, draw
                )
                counts[arm] += pulls
        counts /= max(counts.sum(), 1.0)
        return counts

    def _draw(self, purpose: np.uint64, step: int) -> Draw:
        return Draw(np.uint64(self.seed), np.uint64(0), purpose, np.uint64(step))


def _count_arms(arms: list[int]) -> list[tuple[int, int]]:
    return [(arm, arms.count(arm)) for arm in dict.fromkeys(arms)]
