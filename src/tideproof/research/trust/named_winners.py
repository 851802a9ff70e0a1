"""How often `fit` fails to name the best arm of simulated logs with an even split of traffic."""

from __future__ import annotations

import numpy as np

from tideproof.analysis.fit import fit
from tideproof.analysis.scale_choice import ScaleChoice
from tideproof.core.kernel_state_arrays import Floats, Ints

DAYS = 0.3  # days multiply rates by a factor whose logarithm lies between -0.3 and 0.3


def count_not_named(
    means: Floats, rates: bool, length: int, pulls: int, confidence: float, logs: int, seed: int
) -> int:
    """Return the number of simulated logs in which `fit` does not name the best arm, which is the last one.

    Arms take turns in rounds. Environments of `length` pulls shift rewards or multiply rates. Shifted rewards
    are compared by differences, as in a plan with a gap.
    """
    scale: ScaleChoice = "auto" if rates else "difference"
    random, missed = np.random.default_rng(seed), 0
    for _ in range(logs):
        arms = rounds(random, means.size, length, pulls)
        days = np.arange(pulls) // length
        if rates:
            high = DAYS if means.max() * np.exp(DAYS) < 1.0 else 0.0
            chance = means[arms] * np.exp(random.uniform(-high, high, days[-1] + 1))[days]
            rewards = (random.random(pulls) < chance).astype(float)
        else:
            rewards = means[arms] + random.uniform(0.0, 20.0, days[-1] + 1)[days] + random.normal(size=pulls)
        log = {"arm": arms, "day": days, "reward": rewards}
        found = fit(
            log,
            arm="arm",
            environment="day",
            reward="reward",
            confidence=confidence,
            scale=scale,
            about="these",
        )
        missed += len(found.groups) > 1 or found.candidates != [means.size - 1]
    return missed


def rounds(random: np.random.Generator, arms: int, length: int, pulls: int) -> Ints:
    """Return the arm of each pull, in rounds that contain every arm once, in random order.

    An environment that is shorter than a round contains no arm twice.
    """
    rounds = random.permuted(np.tile(np.arange(arms), (-(-pulls // arms), 1)), axis=1)
    if length < arms:
        for number in range(1, len(rounds)):
            here = set(rounds[number - 1, arms - number * arms % length :].tolist())
            rounds[number] = sorted(rounds[number].tolist(), key=here.__contains__)
    return np.asarray(rounds.ravel()[:pulls])
