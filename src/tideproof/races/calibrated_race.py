"""Race for slow commands, which takes few runs: an adaptive experiment chooses the next command to run.

Each round is an environment of an `Experiment` with the policy `contrast`, whose reward is the logarithm of
the time. It stops by the rule "calibrated", which was fitted by simulation with normal noise; it needs fewer
runs than the betting rule, and its error rate is not a theorem.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from tideproof.analysis.fit import fit
from tideproof.analysis.fit_result import Fit
from tideproof.errors import NotComparable
from tideproof.experiment.experiment import Experiment
from tideproof.races.race import Contestant, RaceRun, TimingRace, log_time
from tideproof.races.race_comparison import RaceComparison, relative_difference
from tideproof.races.race_options import RaceOptions


class CalibratedRace(TimingRace):
    """A race in which a policy chooses the next command to run, and a stopping rule ends it."""

    def __init__(self, contestants: Sequence[Contestant], options: RaceOptions) -> None:
        super().__init__(contestants, options)
        self._experiment = Experiment(
            self.names,
            policy="contrast",
            confidence=options.confidence,
            rule="calibrated",
            direction="minimize",
            seed=0 if options.seed is None else options.seed,
        )

    def _run_round(self) -> None:
        """Run as many commands as take part in the race, each chosen by the policy."""
        for position in range(len(self.names)):
            self._run_next(position)
        self.rounds += 1

    def _run_next(self, position: int) -> None:
        """Run the command that the policy chooses, and record the logarithm of its time as the reward."""
        if self._experiment.done:
            return
        pull = self._experiment.ask(environment=self.rounds)
        index = self.names.index(pull.arm)
        took = self._contestants[index].run(first=not self.options.warmup and not self.runs)
        self._experiment.tell(pull, log_time(took, self.clock))
        self.runs.append(RaceRun(self.rounds, position, index, took))

    def decide(self) -> bool:
        """Return whether the stopping rule of the experiment has named the fastest command."""
        if self._experiment.done:
            self.left = {self.leader()}
        return self._experiment.done

    def leader(self) -> int:
        """Return the command that the experiment recommends as the fastest."""
        recommended = self._experiment.recommend().arm
        return 0 if recommended is None else self.names.index(recommended)

    def estimate(self, a: int, b: int) -> float:
        """Return the estimated log ratio of the time of command `b` to that of `a`; NaN if it is unknown."""
        try:
            return self._fit(self.clock).contrast(self.names[b], self.names[a]).estimate
        except NotComparable:
            return math.nan

    def compare(self, index: int, reference: int, clock: Literal["wall", "cpu"]) -> RaceComparison:
        """Compare one command's time with the reference command's; the interval is valid at any time."""
        names = self.names[index], self.names[reference]
        found = self._fit(clock).contrast(*names)
        low = -math.inf if found.low is None else found.low
        high = math.inf if found.high is None else found.high
        same = math.log1p(self.options.same_within)
        return RaceComparison(
            *names,
            clock,
            estimate=relative_difference(found.estimate),
            low=relative_difference(low),
            high=relative_difference(high),
            slower=low > 0.0,
            faster=high < 0.0,
            same=-same < low and high < same,
            over_limit=False,
            within_limit=False,
            rounds=self.rounds,
        )

    def _fit(self, clock: Literal["wall", "cpu"]) -> Fit:
        """Estimate the commands' times from all runs, with each round of the race as an environment."""
        log = {
            "command": [self.names[run.command] for run in self.runs],
            "round": [run.round for run in self.runs],
            "log": [log_time(run.took, clock) for run in self.runs],
        }
        return fit(
            log,
            arm="command",
            environment="round",
            reward="log",
            direction="minimize",
            scale="difference",
            adaptive=True,
            confidence=self.options.confidence,
        )


def new_race(contestants: Sequence[Contestant], options: RaceOptions) -> TimingRace:
    """Create a race of commands with the stopping rule that its options name."""
    return (CalibratedRace if options.rule == "calibrated" else TimingRace)(contestants, options)
