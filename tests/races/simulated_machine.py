"""Commands on a simulated machine whose speed changes in steps, for races that take no time."""

import math
from itertools import count

import numpy as np

from tideproof.races.process_runner import RunMeasurement
from tideproof.races.race import TimingRace
from tideproof.races.race_options import RaceOptions
from tideproof.races.race_result import collect_result


class Machine:
    """A machine that is twice as slow for some time, again and again; CPU time is less noisy than wall time."""

    def __init__(self, seed, noise=0.02):
        self._random = np.random.default_rng(seed)
        self._noise = noise
        self._slow = False

    def run(self, seconds):
        self._slow ^= self._random.random() < 0.05
        wall = seconds * math.exp(math.log(2.0) * self._slow + self._noise * self._random.standard_normal())
        cpu = seconds * math.exp(0.1 * self._noise * self._random.standard_normal())
        return RunMeasurement(wall, cpu, 0.0, 50_000_000, 1, 0)


class Simulated:
    """A command that takes a given time on a simulated machine; it may end the race in a given run."""

    def __init__(self, name, seconds, machine, raises=None, at=None):
        self.name = name
        self._seconds, self._machine, self._raises, self._at = seconds, machine, raises, at
        self._runs = count(1)

    def run(self, first=False):
        if next(self._runs) == self._at:
            raise self._raises
        return self._machine.run(self._seconds)


def run_race(times, seed=0, noise=0.02, **options):
    """Race simulated commands with these times in seconds, and return the result."""
    machine = Machine(seed, noise)
    commands = [
        each if isinstance(each, Simulated) else Simulated(f"c{i}", each, machine)
        for i, each in enumerate(times)
    ]
    race = TimingRace(commands, RaceOptions(seed=seed, **{"max_rounds": 400, **options}))
    race.run()
    return collect_result(race, 30_000_000)
