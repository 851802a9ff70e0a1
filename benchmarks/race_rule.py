"""Error rates of the rule of `tideproof bench` on simulated times with tides, steps, autocorrelation and heavy tails.

    python benchmarks/race_rule.py --races 2000 --rounds 500

Each line is one kind of machine. The columns: false alarms of identical commands at any round; the gate "slower by more
than 2 %" where the true ratio is 2 %, "same within 1 %" where it is 1 %, intervals that ever miss it, and the rounds
after which 1 % and 5 % are found in half of the races. Races are simulated together, with the code of the package.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from tideproof.races.ratio_evidence import RunningEvidence

ALPHA = 0.025


def quiet(random, shape):
    return 0.01 * random.standard_normal(shape)


def heavy(random, shape):
    return 0.01 * random.standard_t(1.5, shape)


def spikes(random, shape):
    return 0.005 * random.standard_normal(shape) + random.exponential(0.4, shape) * (
        random.random(shape) < 0.15
    )


def wandering(random, shape):
    return np.cumsum(0.01 * random.standard_normal(shape), axis=1) + quiet(random, shape)


def steps(random, shape):
    """A machine that is twice as slow for about 40 runs at a time."""
    changes = np.cumsum(random.random(shape) < 0.025, axis=1)
    return math.log(2.0) * (changes % 2) + quiet(random, shape)


def trend(random, shape):
    return 0.004 * np.arange(shape[1]) + quiet(random, shape)


def alternating(random, shape):
    """A machine whose every second run is 30 % slower, whoever runs."""
    return 0.3 * (np.arange(shape[1]) % 2) + quiet(random, shape)


def coarse(random, shape):
    """A clock that counts whole percents."""
    return np.round(quiet(random, shape), 2)


MACHINES = {
    each.__name__: each for each in (quiet, heavy, spikes, wandering, steps, trend, alternating, coarse)
}


def differences(machine, random, races, rounds):
    """Return paired differences of identical commands: two runs in each round, in random order."""
    tide = machine(random, (races, 2 * rounds)).reshape(races, rounds, 2)
    sign = random.choice([-1.0, 1.0], (races, rounds))
    return sign * (tide[:, :, 1] - tide[:, :, 0])


def skewed(random, races, rounds, ratio):
    """Two commands whose noise differs: the second has rare long runs, so that differences are not symmetric."""
    first = 0.01 * random.standard_normal((races, rounds))
    second = 0.01 * random.standard_normal((races, rounds)) + random.exponential(0.05, (races, rounds))
    return second - first + ratio


def follow(values, points):
    """Return the evidence of many races, and the first round at which each claim was made: (side, race, point)."""
    races, rounds = values.shape
    evidence = RunningEvidence(races, points)
    first = np.full((2, races, len(points)), np.inf)
    for number in range(rounds):
        evidence.add(values[:, number])
        made = evidence._most >= -math.log(ALPHA)
        first = np.where(made & np.isinf(first), number + 1, first)
    return first


def report(name, at_null, races, rounds):
    """Print one line: `at_null` holds differences around a true ratio of 0."""
    one, two, five = math.log1p(0.01), math.log1p(0.02), math.log1p(0.05)
    reached = np.isfinite(first := follow(at_null, (0.0, -two, -one, -five)))
    false = (reached[0, :, 0] | reached[1, :, 0]).mean()
    # a true ratio of 2 % against the gate of 2 % is the same event as a ratio of 0 against the point 0
    above, below = np.isfinite(follow(at_null + one, (-one, one)))
    same = (above[:, 0] & below[:, 1]).mean()
    found = [np.median(first[0, :, index]) for index in (2, 3)]
    print(f"{name:12s} false alarms {100 * false:5.2f} %   gate at its limit {100 * reached[0, :, 0].mean():5.2f} %   "
          f"false same {100 * same:5.2f} %   1 % found after {found[0]:g}, 5 % after {found[1]:g} rounds", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--races", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=500)
    given = parser.parse_args()
    for number, (name, machine) in enumerate(MACHINES.items()):
        random = np.random.default_rng(number)
        report(name, differences(machine, random, given.races, given.rounds), given.races, given.rounds)
    random = np.random.default_rng(100)
    median = float(np.median(skewed(random, 100, 10_000, 0.0)))
    report("unlike noise", skewed(random, given.races, given.rounds, -median), given.races, given.rounds)


if __name__ == "__main__":
    main()
