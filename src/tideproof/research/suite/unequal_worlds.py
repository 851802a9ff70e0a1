"""Held-out simulated worlds with unequal noise, arm-by-environment interactions, or outlying rewards.

None of them was used to tune a policy. As in `held_out_worlds`, a change makes old results incomparable,
and a test fails when a world changes.
"""

from __future__ import annotations

from tideproof.research.suite.held_out_worlds import SuiteWorld
from tideproof.worlds import (
    Geometric,
    Lengths,
    Normal,
    Outliers,
    RandomWalk,
    StudentT,
    Uniform,
    Weekly,
    World,
)

UNEVEN = (
    SuiteWorld(
        "3 arms, noisy best arm",
        "a noisy arm is easily abandoned too early",
        90,
        10_000,
        World([0.0, 0.9, 0.3], (1.0, 2.5, 0.6), (3, 20), Normal(0.0, 5.0)),
    ),
    SuiteWorld(
        "5 arms, one noisy rival",
        "a noisy arm that is not worth many pulls",
        200,
        10_000,
        World([0.0, 0.1, 0.6, 0.2, 0.0], (1.0, 1.0, 1.0, 3.5, 1.0), (2, 30), Uniform(0.0, 20.0)),
    ),
    SuiteWorld(
        "8 arms, varied noise",
        "standard deviations from 0.3 to 2.4, means that are unrelated to them",
        300,
        5_000,
        World(
            [0.2, 0.7, 0.0, 0.5, 0.3, 1.0, 0.6, 0.1],
            (2.4, 0.3, 1.2, 0.6, 1.7, 0.9, 2.0, 0.4),
            Geometric(12.0, 2),
            RandomWalk(3.0),
        ),
    ),
    SuiteWorld(
        "10 arms in pairs, half noisy",
        "no arm is pulled twice in an environment: its noise shows only in differences",
        400,
        4_000,
        World([0.25 * i for i in range(10)], (0.7, 2.1) * 5, (2, 2), Uniform(0.0, 20.0)),
    ),
    SuiteWorld(
        "4 arms, small interactions",
        "an interaction of a third of the noise, which is hard to notice",
        160,
        10_000,
        World([0.0, 0.5, 0.2, 0.1], lengths=(8, 24), shifts=Normal(0.0, 3.0), interaction=0.33),
    ),
    SuiteWorld(
        "5 arms, large interactions",
        "an interaction as large as the noise, environments of any length",
        400,
        10_000,
        World(
            [0.8, 0.0, 0.4, 0.2, 0.1], lengths=Geometric(25.0, 2), shifts=Uniform(0.0, 20.0), interaction=1.0
        ),
    ),
    SuiteWorld(
        "6 arms, weekly interactions",
        "few long days in a pattern, an interaction of half the noise",
        350,
        5_000,
        World(
            [0.3, 0.0, 0.9, 0.1, 0.6, 0.2],
            1.0,
            Lengths([30, 25, 25, 25, 35, 50, 45]),
            Weekly([0.0, 1.0, 1.0, 2.0, 6.0, 12.0, 9.0], 1.0),
            interaction=0.5,
        ),
    ),
    SuiteWorld(
        "10 arms, three interact",
        "interactions of three arms only, and unequal noise",
        500,
        4_000,
        World(
            [0.0, 0.2, 0.4, 0.6, 0.8, 1.2, 0.1, 0.3, 0.5, 0.7],
            (1.0, 0.5, 1.5, 1.0, 0.5, 1.5, 1.0, 0.5, 1.5, 1.0),
            (6, 40),
            Normal(0.0, 4.0),
            interaction=(0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0),
        ),
    ),
    SuiteWorld(
        "5 arms, noisy days",
        "environments that are up to ten times as noisy as others, heavy tails",
        200,
        10_000,
        World(
            [0.0, 0.3, 0.9, 0.6, 0.1], 0.8, (4, 25), Normal(0.0, 5.0), StudentT(5.0), noise_by_environment=0.7
        ),
    ),
    SuiteWorld(
        "4 arms, outlying cells",
        "one cell in twenty-five is outlying by twelve standard deviations",
        200,
        10_000,
        World(
            [0.0, 0.6, 0.3, 0.1], lengths=(6, 30), shifts=Uniform(0.0, 20.0), outliers=Outliers(0.04, 12.0)
        ),
    ),
)
