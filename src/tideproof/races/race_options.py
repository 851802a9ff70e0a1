"""Options of a race and their checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tideproof.checks import require_confidence, require_finite, require_whole_number
from tideproof.errors import InputError

Clock = Literal["wall", "cpu", "auto"]
RaceRule = Literal["betting", "calibrated"]

CLOCK_NAMES = {"wall": "wall time", "cpu": "CPU time"}


@dataclass(frozen=True, slots=True)
class RaceOptions:
    """Options that say how a race of commands is run and when it is decided.

    Attributes
    ----------
    clock : the time that decides: "wall", "cpu", or "auto", which chooses after the warm-up.
    warmup : runs of each command before the first round; they do not count.
    min_rounds : rounds before a decision.
    max_rounds : rounds after which the race ends undecided; None for no such limit.
    max_time : seconds after which the race ends undecided, without the warm-up.
    same_within : relative difference below which commands count as the same, such as 0.01.
    confidence : probability with which all statements of the race are right together.
    gate : relative slowdown against the first command that is tolerated; None finds the fastest command.
    rule : "betting", or "calibrated" for commands that take many seconds.
    seed : random seed of the order of the commands; None for another order in each race.
    """

    clock: Clock = "wall"
    warmup: int = 3
    min_rounds: int = 8
    max_rounds: int | None = None
    max_time: float = 60.0
    same_within: float = 0.01
    confidence: float = 0.95
    gate: float | None = None
    rule: RaceRule = "betting"
    seed: int | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("time", self.clock, get_args(Clock)),
            ("rule", self.rule, get_args(RaceRule)),
        ):
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        require_whole_number("warmup", self.warmup, 0)
        require_whole_number("min_rounds", self.min_rounds, 1)
        if self.max_rounds is not None:
            require_whole_number("max_rounds", self.max_rounds, self.min_rounds)
        if self.clock == "auto" and not self.warmup:
            raise InputError("time 'auto' is chosen after the warm-up; it needs a warmup of at least 1")
        if require_finite("max_time", self.max_time) <= 0.0:
            raise InputError(f"max_time must be above 0 seconds, not {self.max_time!r}")
        require_confidence(self.confidence)
        for name, share in (("same_within", self.same_within), ("gate", self.gate)):
            if share is not None and not 0.0 < require_finite(name, share) < 1.0:
                raise InputError(f"{name} must be between 0 and 1, such as 0.02 for 2 %, not {share!r}")
        if self.gate is not None and self.rule == "calibrated":
            raise InputError("a gate needs rule 'betting'; rule 'calibrated' only finds the fastest command")


def choose_clock(asked: Clock, warmup: list[tuple[float, float, int]]) -> Literal["wall", "cpu"]:
    """Choose wall or CPU time to decide a race; "auto" takes CPU time for single-threaded computation.

    Each run is its wall time, its CPU time and how often it gave up the CPU. The choice depends on the
    warm-up only, so it cannot favour a result.

    >>> choose_clock("auto", [(0.03, 0.02, 2)]), choose_clock("auto", [(0.03, 0.02, 90)])
    ('cpu', 'wall')
    """
    if asked != "auto":
        return asked
    computes = all(
        _LEAST_CPU <= cpu <= _ONE_THREAD * wall and switches <= _FEW_SWITCHES
        for wall, cpu, switches in warmup
    )
    return "cpu" if computes else "wall"


_LEAST_CPU = 0.002  # seconds; below, the start of the process is most of the time
_ONE_THREAD = 1.03  # CPU time beside wall time of one thread, with a margin for rounding
_FEW_SWITCHES = 5
