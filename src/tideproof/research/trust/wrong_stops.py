"""Runs that stop when they are sure, in worlds on which no bound was calibrated: how many stop wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from tideproof.lab.share_intervals import binomial
from tideproof.lab.simulation import simulate
from tideproof.policies.policy_registry import policy
from tideproof.policies.stopping_policy import RULES
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns, percent
from tideproof.table import Table
from tideproof.text import format_count
from tideproof.worlds import StudentT, Uniform, World

POLICIES = ("contrast", "linlucb", "top-two-thompson", "round-robin+ols", "reduce:lucb")
CAPS = (300, 1000)
LONG = 5000  # pulls, a cap in a tenth of the worlds
CONFIDENCE = 0.95

_ARMS = (2, 3, 4, 5, 7, 10, 16, 30)
_LENGTHS = ((2, 2), (2, 4), (3, 12), (10, 10), (2, 60), (40, 80), (200, 200), (2, 200))


class StopWorld(NamedTuple):
    """A world with its name, the caps with which it is played unless told, and what is added to the seed."""

    name: str
    world: World
    caps: tuple[int, ...] = CAPS
    number: int = 0


class Stops(NamedTuple):
    """What was counted in one world.

    Attributes
    ----------
    world, policy, rule, cap : what was played.
    runs : how many.
    stopped : runs that stopped by themselves.
    wrong : those of them with a wrong arm; with a tie for the best, all.
    samples : pulls, on average.
    """

    world: str
    policy: str
    rule: str
    cap: int
    runs: int
    stopped: int
    wrong: int
    samples: float

    @property
    def kept(self) -> bool:
        """Whether the promise may be kept: the lower 99.9 % limit of wrong stops is not above it."""
        return self.limits(0.998)[0] <= 1.0 - CONFIDENCE

    def limits(self, level: float = 0.95) -> tuple[float, float]:
        """Return exact limits of the share of wrong stops."""
        low, high = binomial(np.array([self.wrong]), self.runs, level)
        return float(low[0]), float(high[0])


def places(count: int = 200, seed: int = 20) -> list[StopWorld]:
    """Return so many worlds: arms, lengths and who is how far ahead drawn at random, the kinds in turn."""
    draw = np.random.default_rng(seed)
    made = []
    for number in range(count):
        kind, means = list(_KINDS.items())[number % len(_KINDS)]
        arms = int(_ARMS[number // len(_KINDS) % len(_ARMS)])
        lengths = _LENGTHS[int(draw.integers(len(_LENGTHS)))]
        world = World(means(arms, draw), lengths=lengths, shifts=Uniform(0.0, 20.0))
        name = f"{number:03d} {kind}, {arms} arms, {lengths[0]}\N{EN DASH}{lengths[1]} pulls"
        long = number % 10 == number // 10 % 10  # 20 of 200, of all kinds and numbers of arms
        made.append(StopWorld(name, world, (*CAPS, LONG) if long else CAPS, number))
    return made


def _tie(arms: int, draw: np.random.Generator) -> list[float]:
    """Return two arms that tie, the others behind."""
    return _ahead([0.0, 0.0], arms, draw)


def _near_tie(arms: int, draw: np.random.Generator) -> list[float]:
    """Return two arms that nearly tie, the others behind."""
    return _ahead([float(draw.choice([0.01, 0.03, 0.1])), 0.0], arms, draw)


def _slippage(arms: int, draw: np.random.Generator) -> list[float]:
    """Return one arm ahead of equals."""
    return [float(draw.choice([0.1, 0.25, 0.5, 1.0])), *[0.0] * (arms - 1)]


def _two_levels(arms: int, draw: np.random.Generator) -> list[float]:
    """Return half of the arms at a lower level, and one of the upper half slightly ahead of it."""
    upper = (arms + 1) // 2
    return [float(draw.choice([0.05, 0.2, 0.4])), *[0.0] * (upper - 1), *[-1.0] * (arms - upper)]


def _drawn(arms: int, draw: np.random.Generator) -> list[float]:
    """Return means from a normal."""
    return [float(m) for m in np.exp(draw.uniform(-2.0, 0.5)) * draw.standard_normal(arms)]


def _ahead(first: list[float], arms: int, draw: np.random.Generator) -> list[float]:
    behind = float(np.exp(draw.uniform(-1.5, 1.2)))
    return [*first, *[-behind] * (arms - 2)]


_KINDS: dict[str, Callable[[int, np.random.Generator], list[float]]] = {
    "tie": _tie,
    "near tie": _near_tie,
    "slippage": _slippage,
    "two levels": _two_levels,
    "drawn": _drawn,
}


def play(
    where: Sequence[StopWorld],
    runs: int,
    *,
    caps: tuple[int, ...] | None = None,
    policies: tuple[str, ...] = POLICIES,
    rules: tuple[str, ...] = tuple(RULES),
    heavy: bool = False,
    seed: int = 7,
    engine: str = "auto",
    workers: int | None = None,
) -> Iterator[list[Stops]]:
    """Play every policy under every rule in these worlds; `heavy` noise is Student's t with 5 degrees."""
    specs = [
        policy(name, confidence=CONFIDENCE, rule=rule, label=f"{name} {rule}")
        for name in policies
        for rule in rules
    ]
    noise: Any = StudentT(5.0) if heavy else "normal"
    with ThreadPoolExecutor(workers) if workers else nullcontext() as pool:
        for name, world, usual, number in where:
            met = World(world.means, lengths=world.lengths, shifts=world.shifts, noise=noise)
            budgets = usual if caps is None else caps
            study = simulate(met, specs, budgets, runs, seed + number, executor=pool, engine=engine)
            shown = name + (", heavy tails" if heavy else "")
            yield [
                Stops(
                    shown,
                    *_of_label(spec.label),
                    cap,
                    runs,
                    round(study.stopped(spec.label)[place] * runs),
                    round(study.wrong_stops(spec.label)[place] * runs),
                    float(study.samples(spec.label)[place]),
                )
                for spec in specs
                for place, cap in enumerate(budgets)
            ]


def _of_label(label: str) -> tuple[str, str]:
    """Return policy and rule."""
    name, _, rule = label.rpartition(" ")
    return name, rule


def table(rows: Sequence[Stops]) -> Table:
    """Return one row for each policy, rule, cap and world, with exact 95 % limits of wrong stops."""
    return columns([_shown(row) for row in rows])


def _shown(row: Stops) -> dict[str, Any]:
    low, high = row.limits()
    return row._asdict() | {"share": row.wrong / row.runs, "low": low, "high": high, "kept": row.kept}


def said(rows: Sequence[Stops]) -> list[str]:
    """Return a line for each rule and cap: the worst row."""
    lines = []
    for rule, cap in sorted({(row.rule, row.cap) for row in rows}):
        mine = [row for row in rows if (row.rule, row.cap) == (rule, cap)]
        worst, failed = max(mine, key=lambda row: row.wrong / row.runs), sum(not row.kept for row in mine)
        lines.append(
            f"{rule}, cap {cap:,}: {format_count(len(mine), 'row')}, {failed} significantly above 5 %, "
            "wrong in "
            f"at most {percent(worst.wrong / worst.runs, worst.limits())}: {worst.world}, {worst.policy}"
        )
    return lines


def _cells(asked: PartOptions) -> list[StopWorld]:
    return places(200 if asked.worlds is None else asked.worlds)


def _play_part(where: Sequence[StopWorld], asked: PartOptions) -> Iterator[list[Stops]]:
    seed = 7 if asked.seed is None else asked.seed
    return play(
        where,
        asked.runs,
        caps=asked.caps,
        heavy=asked.heavy,
        seed=seed,
        engine=asked.engine,
        workers=asked.workers,
    )


PART = LedgerPart(
    "runs that stop when sure have a wrong arm in 5 % of cases at most",
    20_000,
    ("seed", "workers", "worlds", "caps", "heavy", "engine"),
    _cells,
    _play_part,
    table,
    said,
)
