"""Race of several commands: rounds in random order until the fastest is known or the time is up.

Each round runs every command that is still in the race once. Times are compared within a round only, so what
makes the machine slow for a while does not matter. `ratio_evidence` contains the statistics.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np

from tideproof.errors import CommandFailed, InputError
from tideproof.garbage_collection import pause_garbage_collection
from tideproof.races.process_runner import RunMeasurement
from tideproof.races.race_comparison import RaceComparison, compare_times
from tideproof.races.race_options import RaceOptions, choose_clock
from tideproof.races.ratio_evidence import RunningEvidence, estimate_ratio

EndOfRace = Literal["decided", "max_time", "max_rounds", "interrupted", "failed"]

_SMALLEST_TIME = 1e-9  # CPU time may be 0


class Contestant(Protocol):
    """Protocol of a command or function that takes part in a race."""

    @property
    def name(self) -> str:
        """Name of the raced command or function in results."""

    def run(self, first: bool = False) -> RunMeasurement:
        """Run the command or function once and return its time; `first` says if this is its first run."""


class RaceRun(NamedTuple):
    """One measured run in a race: its round, its position in the round, its command, and its time."""

    round: int
    position: int
    command: int
    took: RunMeasurement


class RaceObserver:
    """Base class of objects that show the progress of a race, with methods that the race calls."""

    def after_warmup(self, race: TimingRace) -> None:
        """Do nothing after the warm-up of a race: subclasses override this method."""

    def after_round(self, race: TimingRace) -> None:
        """Do nothing after a round of a race: subclasses override this method."""


class TimingRace:
    """State of a race of commands: its runs, the evidence, and the commands that may still be the fastest.

    Parameters
    ----------
    contestants
        The commands or functions; with a gate, the first is the baseline.
    options
        How the race is run and decided.
    """

    def __init__(self, contestants: Sequence[Contestant], options: RaceOptions) -> None:
        if len(contestants) < 2:
            raise InputError(f"a race needs at least two commands, not {len(contestants)}")
        self.names = [each.name for each in contestants]
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise InputError(f"two commands have the name {twice[0]!r}; give each its own name")
        self._contestants = contestants
        self.options = options
        count = len(contestants)
        self.pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
        self._first, self._second = np.array(self.pairs).T
        self.limit = math.log1p(options.same_within if options.gate is None else options.gate)
        self.alpha = pair_error(options, count)
        self.evidence = RunningEvidence(len(self.pairs), (-self.limit, 0.0, self.limit))
        self._index = {pair: index for index, pair in enumerate(self.pairs)}
        self._random = random.Random(options.seed)
        self.left = set(range(count))
        self._claims = -1
        self.warmup: list[list[RunMeasurement]] = [[] for _ in contestants]
        self.runs: list[RaceRun] = []
        self.clock: Literal["wall", "cpu"] = "wall"
        self.rounds = 0
        self.seconds = 0.0
        self.end: EndOfRace = "max_time"
        self.failure: CommandFailed | None = None

    def run(self, observer: RaceObserver | None = None) -> None:
        """Run the race until a command wins, time is up, a command fails, or the user interrupts it.

        What was measured is kept in each case. A failure before the first round is raised.
        """
        observer = observer or RaceObserver()
        with pause_garbage_collection():
            self._warm_up()
            observer.after_warmup(self)
            try:
                self.end = self._run_rounds(observer)
            except KeyboardInterrupt:
                self.end = "interrupted"
            except CommandFailed as error:
                self.end, self.failure = "failed", error
        if self.failure is not None and not self.rounds:
            raise self.failure

    def _warm_up(self) -> None:
        """Run each command a few times without counting it, and choose wall or CPU time for the decision."""
        for number in range(self.options.warmup):
            for index, contestant in enumerate(self._contestants):
                self.warmup[index].append(contestant.run(first=number == 0))
        taken = [(run.wall, run.cpu, run.switches) for runs in self.warmup for run in runs]
        self.clock = choose_clock(self.options.clock, taken)

    def _run_rounds(self, observer: RaceObserver) -> EndOfRace:
        """Run rounds until the race is decided or one of its limits is reached."""
        begin = time.monotonic()
        while True:
            self._run_round()
            self.seconds = time.monotonic() - begin
            decided = self.decide()
            observer.after_round(self)
            if decided:
                return "decided"
            if self.options.max_rounds is not None and self.rounds >= self.options.max_rounds:
                return "max_rounds"
            if self.seconds >= self.options.max_time:
                return "max_time"

    def _run_round(self) -> None:
        """Run each remaining command once, in random order, and update the evidence about their times.

        A round that is interrupted leaves no trace.
        """
        order = sorted(self.left)
        self._random.shuffle(order)
        first = self.rounds == 0 and not self.options.warmup
        runs = [
            RaceRun(self.rounds, position, index, self._contestants[index].run(first))
            for position, index in enumerate(order)
        ]
        logs = np.full(len(self.names), math.nan)
        for run in runs:
            logs[run.command] = log_time(run.took, self.clock)
        self.evidence.add(logs[self._second] - logs[self._first])
        self.runs += runs
        self.rounds += 1

    def is_slower(self, a: int, b: int, than: float = 0.0) -> bool:
        """Return whether command `a` is surely slower than `b`, by more than `than` on the log scale."""
        if a > b:
            return self.evidence.is_above(self._index[b, a], than, self.alpha)
        return self.evidence.is_below(self._index[a, b], -than, self.alpha)

    def is_same(self, a: int, b: int) -> bool:
        """Return whether the times of two commands surely differ by less than a limit."""
        return self.is_slower(a, b, -self.limit) and self.is_slower(b, a, -self.limit)

    def decide(self) -> bool:
        """Drop commands that surely are not the fastest, and return whether the race is decided."""
        claims = self.evidence.count_claims(self.alpha)
        if self.rounds < self.options.min_rounds or claims == self._claims:  # nothing new is known
            return False
        self._claims = claims
        if self.options.gate is not None:
            known = {
                b
                for b in self.left - {0}
                if self.is_slower(b, 0, self.limit) or self.is_slower(0, b, -self.limit)
            }
            self.left -= known
            return self.left == {0}
        lost = {b for b in self.left for a in self.left if a != b and self.is_slower(b, a)}
        if lost != self.left:  # with other errors of the evidence, a circle is possible
            self.left -= lost
        return all(self.is_same(a, b) for a in self.left for b in self.left if a < b)

    def estimate(self, a: int, b: int) -> float:
        """Return the estimated log ratio of the time of command `b` to that of command `a`."""
        sign = 1.0 if a < b else -1.0
        return sign * estimate_ratio(self.evidence.differences(self._index[min(a, b), max(a, b)]))

    def compare(self, index: int, reference: int, clock: Literal["wall", "cpu"]) -> RaceComparison:
        """Compare one command with the reference in wall or CPU time, over rounds in which both ran."""
        logs: dict[int, dict[int, float]] = {index: {}, reference: {}}
        for run in self.runs:
            if run.command in logs:
                logs[run.command][run.round] = log_time(run.took, clock)
        both = sorted(logs[index].keys() & logs[reference].keys())
        differences = np.array([logs[index][each] - logs[reference][each] for each in both])
        names = self.names[index], self.names[reference]
        return compare_times(names, clock, differences, self.alpha, self.options)

    def leader(self) -> int:
        """Return the command that others are compared with: a given baseline, or the fastest so far."""
        if self.options.gate is not None or not self.rounds:
            return 0
        order = sorted(self.left)
        return max(order, key=lambda a: sum(self.estimate(a, b) > 0.0 for b in order if b != a))


def pair_error(options: RaceOptions, count: int) -> float:
    """Return the error probability of each one-sided claim about two commands, so that all hold together.

    There are two claims for each pair; with a gate, each pair contains the first command.
    """
    pairs = count - 1 if options.gate is not None else count * (count - 1) // 2
    return (1.0 - options.confidence) / (2 * pairs)


def log_time(took: RunMeasurement, clock: Literal["wall", "cpu"]) -> float:
    """Return the logarithm of the wall time or the CPU time of a run."""
    return math.log(max(took.wall if clock == "wall" else took.cpu, _SMALLEST_TIME))
