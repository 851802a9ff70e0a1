"""The function `tp.bench`: a race of Python functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from tideproof.errors import InputError
from tideproof.races.calibrated_race import new_race
from tideproof.races.process_runner import RunMeasurement
from tideproof.races.race import RaceObserver
from tideproof.races.race_options import Clock, RaceOptions, RaceRule
from tideproof.races.race_result import RaceResult, collect_result

_SHORTEST = 0.005  # seconds of one measurement
_MOST_CALLS = 1 << 30


class CallableContestant:
    """A Python function in a race; each measured run repeats it for at least a few milliseconds."""

    def __init__(self, name: str, function: Callable[[], Any], calls: int) -> None:
        self.name = name
        self._function = function
        self.calls = calls

    def run(self, first: bool = False) -> RunMeasurement:
        """Call the function repeatedly, and return the average time of one call."""
        wall, cpu = measure_calls(self._function, self.calls)
        return RunMeasurement(wall / self.calls, cpu / self.calls, 0.0)


def measure_calls(function: Callable[[], Any], calls: int) -> tuple[float, float]:
    """Call a function a number of times; return the wall time and CPU time it took, in seconds."""
    cpu = time.process_time()
    begin = time.perf_counter()
    for _ in range(calls):
        function()
    wall = time.perf_counter() - begin
    return wall, time.process_time() - cpu


def calibrate_calls(function: Callable[[], Any], shortest: float = _SHORTEST) -> int:
    """Return how often a function must be called so that a run takes at least `shortest` seconds."""
    calls = 1
    while calls < _MOST_CALLS:
        wall, _ = measure_calls(function, calls)
        if wall >= shortest:
            break
        growth = 2.0 if wall <= 0.0 else min(10.0, max(2.0, 1.1 * shortest / wall))
        calls = int(calls * growth)
    return calls


def bench(
    functions: Mapping[str, Callable[[], Any]],
    *,
    gate: float | None = None,
    time: Clock = "wall",
    same_within: float = 0.01,
    confidence: float = 0.95,
    rule: RaceRule = "betting",
    max_time: float = 10.0,
    max_rounds: int | None = None,
    min_rounds: int = 8,
    warmup: int = 3,
    seed: int | None = None,
) -> RaceResult:
    """Find the fastest of several functions on a machine whose speed keeps changing.

    Each round calls every function that may still be the fastest, in random order, and times are compared
    within rounds only. The race ends as soon as the fastest function is certain, or the fastest ones are the
    same within `same_within`. For identical functions, the probability that one of them is called faster is
    at most 1 - `confidence`, whatever the machine does. Short functions are called many times in a run.

    Parameters
    ----------
    functions
        The functions by name; they are called without arguments. With a gate, the first is the baseline.
    gate
        Relative slowdown against the first function that is tolerated: 0.02 tests "slower by more than 2 %".
    time
        The time that decides, fixed before the race: "wall", "cpu", or "auto" (chosen after the warm-up).
    same_within
        Relative difference below which functions count as the same.
    confidence
        Probability with which all statements of the race are right together.
    rule
        "betting", or "calibrated" for functions that take many seconds.
    max_time, max_rounds
        Seconds and rounds after which the race ends undecided.
    min_rounds
        Rounds before a decision.
    warmup
        Runs of each function that do not count.
    seed
        Random seed of the order; None for another order in each race.

    Examples
    --------
    >>> import tideproof as tp
    >>> words = [str(number) for number in range(300)]
    >>> def loop():
    ...     text = ""
    ...     for word in words:
    ...         text += word
    >>> race = tp.bench({"loop": loop, "join": lambda: "".join(words)}, time="cpu")
    >>> race.fastest
    ['join']
    """
    if not isinstance(functions, Mapping) or not all(map(callable, functions.values())):
        raise InputError('bench needs functions by name, such as {"old": f, "new": g}')
    options = RaceOptions(
        clock=time,
        warmup=warmup,
        min_rounds=min_rounds,
        max_rounds=max_rounds,
        max_time=max_time,
        same_within=same_within,
        confidence=confidence,
        gate=gate,
        rule=rule,
        seed=seed,
    )
    contestants = [
        CallableContestant(str(name), function, calibrate_calls(function))
        for name, function in functions.items()
    ]
    race = new_race(contestants, options)
    race.run(RaceObserver())
    if race.end == "interrupted":
        raise KeyboardInterrupt
    return collect_result(race)
