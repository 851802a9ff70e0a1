"""The held-out worlds: fixed and diverse simulated worlds that were never used to tune a policy.

A change makes old results incomparable with new ones, so a test fails when a world changes. Random means were
drawn once and written down. Budgets are such that the best policies err with probability 0.01 to 0.2.
Replications are such that the best rival errs about 400 times or more.
"""

from __future__ import annotations

from dataclasses import dataclass

from tideproof.worlds import (
    Geometric,
    Lengths,
    Normal,
    NoShift,
    RandomWalk,
    StudentT,
    Uniform,
    Weekly,
    World,
)


@dataclass(frozen=True)
class SuiteWorld:
    """A simulated world for comparisons of policies, with its name, budget and number of replications.

    Attributes
    ----------
    name : name in tables.
    reason : purpose of the world, in one line.
    budget : pulls of a run.
    replications : default number of replications.
    world : the simulated world.
    too_slow : rivals that are left out because they would take longer than all others together.
    """

    name: str
    reason: str
    budget: int
    replications: int
    world: World
    too_slow: tuple[str, ...] = ()


# fmt: off
_SIXTEEN = (
    -0.18, -1.60, 1.05, 0.21, -0.87, -0.29, -1.66, -0.82, 1.56, -1.50, 0.54, -1.06, -0.02, -0.02, 0.97, -2.75,
)
_TWENTY = (
    -0.87, 0.07, 0.12, 0.29, -0.31, -0.75, 0.04, 1.31, 0.45, 0.73,
    -0.04, 0.43, -0.46, 0.91, 0.23, -0.80, -0.94, -0.51, 0.63, 0.44,
)
# fmt: on

COLLECTION = (
    SuiteWorld(
        "2 arms in pairs",
        "only the order of pulls can be chosen: a policy must not do worse than round robin",
        60,
        20_000,
        World([0.0, 0.45], lengths=(2, 2), shifts=Uniform(-10.0, 10.0)),
    ),
    SuiteWorld(
        "2 arms, one noisier",
        "the noisier arm deserves more pulls",
        40,
        20_000,
        World([0.6, 0.0], (1.6, 0.4), Geometric(6.0), Normal(0.0, 5.0)),
    ),
    SuiteWorld(
        "3 arms, single pulls",
        "environments of one pull, which carry no information, among short ones",
        100,
        20_000,
        World([0.0, 0.7, 0.2], 1.0, Lengths([1, 1, 4, 1, 2, 1, 1, 3]), Normal(0.0, 10.0)),
    ),
    SuiteWorld(
        "3 arms, random walk",
        "shifts that wander slowly, two equal arms, few pulls",
        50,
        20_000,
        World([0.7, 0.0, 0.0], lengths=(2, 12), shifts=RandomWalk(2.0)),
    ),
    SuiteWorld(
        "5 arms, weekly pattern",
        "days of known length, a busy and a quiet one, in a pattern that repeats",
        140,
        20_000,
        World(
            [0.3, 0.6, 0.0, 0.9, 0.1],
            1.0,
            Lengths([9, 7, 8, 8, 12, 20, 16]),
            Weekly([0.0, 1.0, 1.0, 2.0, 6.0, 12.0, 9.0], 1.0),
        ),
    ),
    SuiteWorld(
        "5 arms, no shifts",
        "no shifts, random means, two near the top: the setting of stationary bandits",
        150,
        20_000,
        World([0.02, -0.31, -1.44, -0.51, -0.8], lengths=None, shifts=NoShift()),
    ),
    SuiteWorld(
        "5 arms, heavy tails",
        "Student noise with three degrees of freedom, slippage",
        150,
        20_000,
        World([0.0, 0.0, 0.55, 0.0, 0.0], 1.0, (3, 9), Uniform(0.0, 5.0), StudentT(3.0)),
    ),
    SuiteWorld(
        "5 arms, huge shifts",
        "a thousand standard deviations, always in pairs, equal steps",
        150,
        20_000,
        World([0.0, 0.4, 0.8, 1.2, 1.6], lengths=(2, 2), shifts=Normal(0.0, 1000.0)),
    ),
    SuiteWorld(
        "8 arms, near ties",
        "three arms near the top, five far below, short environments",
        200,
        10_000,
        World(
            [1.0, -1.0, 0.7, -1.0, -1.0, 0.8, -1.0, -1.0],
            lengths=Geometric(4.0, 2),
            shifts=Uniform(0.0, 20.0),
        ),
    ),
    SuiteWorld(
        "8 arms, unequal noise",
        "standard deviations from 0.4 to 2, the best arm a noisy one, some environments of one pull",
        200,
        10_000,
        World(
            [0.0, 0.2, 0.4, 1.0, 0.1, 0.3, -0.2, 0.5],
            (0.4, 1.0, 2.0, 1.5, 0.4, 1.0, 2.0, 0.7),
            (1, 16),
            Normal(0.0, 4.0),
        ),
    ),
    SuiteWorld(
        "8 arms, few shifts",
        "two or three long environments in all, random means",
        100,
        10_000,
        World(
            [-0.16, -0.62, 0.34, -1.18, -0.43, -1.64, -0.4, -0.7],
            lengths=(30, 70),
            shifts=Normal(0.0, 3.0),
        ),
    ),
    SuiteWorld(
        "10 arms, clear winner",
        "a clear winner, found with the fewest pulls that all rivals accept",
        60,
        20_000,
        World(
            [0.3, 0.0, -0.4, 1.5, -0.1, 0.2, -0.6, 0.1, -0.2, 0.4], lengths=(2, 5), shifts=Uniform(0.0, 20.0)
        ),
    ),
    SuiteWorld(
        "10 arms, slippage",
        "nine equal arms in environments of one to three pulls, shifts that wander far",
        300,
        10_000,
        World([0.0, 0.0, 0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0], lengths=(1, 3), shifts=RandomWalk(5.0)),
    ),
    SuiteWorld(
        "10 arms, heavy tails",
        "equal steps, Student noise with five degrees of freedom, environments of any length",
        160,
        10_000,
        World(
            [0.9, 0.0, 1.8, 0.3, 2.7, 0.6, 1.2, 2.4, 1.5, 2.1],
            1.0,
            Geometric(20.0),
            Normal(0.0, 5.0),
            StudentT(5.0),
        ),
    ),
    SuiteWorld(
        "16 arms, random means",
        "normal means, environments too short to see all arms",
        120,
        10_000,
        World(
            _SIXTEEN,
            lengths=(2, 8),
            shifts=Uniform(0.0, 20.0),
        ),
    ),
    SuiteWorld(
        "16 arms, four good",
        "a group near the top, a large budget",
        600,
        4_000,
        World([0.0] * 6 + [0.3, 0.4, 0.5, 0.65] + [0.0] * 6, lengths=(4, 64), shifts=Uniform(0.0, 20.0)),
    ),
    SuiteWorld(
        "20 arms, no shifts",
        "no shifts, slippage: one good arm among equals",
        160,
        7_000,
        World([0.0] * 12 + [0.9] + [0.0] * 7, lengths=None, shifts=NoShift()),
    ),
    SuiteWorld(
        "20 arms in pairs",
        "normal means, always in pairs, shifts that wander a little",
        300,
        5_000,
        World(
            _TWENTY,
            lengths=(2, 2),
            shifts=RandomWalk(1.0),
        ),
    ),
    SuiteWorld(
        "30 arms, few good",
        "six pulls an arm, one good arm, a few middling",
        180,
        5_000,
        World([0.0] * 14 + [0.5, 1.1, 0.3] + [0.0] * 13, lengths=(5, 15), shifts=Normal(0.0, 5.0)),
    ),
    SuiteWorld(
        "30 arms, equal steps",
        "many arms near the best, environments longer than there are arms",
        200,
        4_000,
        World([0.25 * i for i in range(30)], lengths=(50, 100), shifts=Uniform(0.0, 20.0)),
    ),
    SuiteWorld(
        "50 arms, five good",
        "many arms, a handful of them good, short environments of any length",
        300,
        2_000,
        World(
            [0.0] * 20 + [0.6, 0.8, 1.1, 0.7, 0.5] + [0.0] * 25,
            lengths=Geometric(10.0, 2),
            shifts=Uniform(0.0, 20.0),
        ),
    ),
    SuiteWorld(
        "100 arms",
        "the largest number of arms, seven pulls of each",
        700,
        2_000,
        World([0.0] * 60 + [0.4, 0.8, 0.4] + [0.0] * 37, lengths=(10, 50), shifts=Normal(0.0, 3.0)),
        too_slow=("reduce:lucb",),
    ),
)
