"""A copy of what the policy knows, to see which arms it would play without asking for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.kernels.simulate.threefry import ASK, TELL, Draw

STEPS = 200  # asks at most; of a larger batch, each stands for several pulls


class Trial(NamedTuple):
    """What `Numbers.trial` copied.

    Attributes
    ----------
    program, params : of the policy.
    run, slot : its state with the pulls that are out, and that of the environment; both are played on.
    seed, asked, expected : of its draws: the number of the next pull, and of the next place.
    active : the arms that it plays, by their number in the experiment.
    arms : how many arms the experiment has.
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
        """Return the share of each arm in the next `n` pulls; all 0 if the policy stops at once.

        `play` makes of each arm that the policy chooses the one that is played.
        """
        counts: Floats = np.zeros(self.arms)
        steps = min(n, STEPS)
        for step in range(steps):
            done = n * step // steps
            draw = self._draw(ASK, self.asked + done)
            place = int(self.program.ask(self.params, self.run.state, self.run.data, self.slot, draw))
            if place < 0:
                break
            arms = [self.active[place]] * (n * (step + 1) // steps - done)
            for arm, pulls in _counted(arms if play is None else [play(arm) for arm in arms]):
                draw = self._draw(TELL, self.expected + int(counts.sum()))
                self.program.expect(
                    self.params, self.run.state, self.run.data, self.slot, self.active.index(arm), pulls, draw
                )
                counts[arm] += pulls
        counts /= max(counts.sum(), 1.0)
        return counts

    def _draw(self, purpose: np.uint64, step: int) -> Draw:
        return Draw(np.uint64(self.seed), np.uint64(0), purpose, np.uint64(step))


def _counted(arms: list[int]) -> list[tuple[int, int]]:
    return [(arm, arms.count(arm)) for arm in dict.fromkeys(arms)]
