"""How often stopping rules end a run with a wrong arm, in worlds for which they were not calibrated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from tideproof.lab.share_intervals import binomial
from tideproof.lab.simulation import simulate
from tideproof.policies.policy_registry import policy
from tideproof.policies.stopping_policy import STOPPING_RULES
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns, percent
from tideproof.table import Table
from tideproof.text import format_count
from tideproof.worlds import StudentT, Uniform, World

POLICIES = ("contrast", "linlucb", "top-two-thompson", "round-robin+ols", "reduce:lucb")
CAPS = (300, 1000)
LONG = 5000  # pulls; a cap in a tenth of the worlds
CONFIDENCE = 0.95

_ARMS = (2, 3, 4, 5, 7, 10, 16, 30)
_LENGTHS = ((2, 2), (2, 4), (3, 12), (10, 10), (2, 60), (40, 80), (200, 200), (2, 200))


class StopWorld(NamedTuple):
    """A simulated world in which stopping rules are tested, with its name and maximum numbers of pulls.

    `number` is added to the seed.
    """

    name: str
    world: World
    caps: tuple[int, ...] = CAPS
    number: int = 0


class StopCounts(NamedTuple):
    """Counts of simulated runs that a stopping rule ended, and of those that ended with a wrong arm.

    Attributes
    ----------
    world, policy, rule, cap : what was simulated.
    runs : number of runs.
    stopped : runs that stopped by themselves.
    wrong : stopped runs that selected a wrong arm; all stopped runs if several arms are best.
    samples : average number of pulls.
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
        """Whether runs stop with a wrong arm as rarely as the stopping rule promises, up to chance.

        The lower 99.9 % bound of the share of wrong stops must be within the promised share.
        """
        return self.interval(0.998)[0] <= 1.0 - CONFIDENCE

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the exact confidence interval of the share of runs that stop with a wrong arm."""
        low, high = binomial(np.array([self.wrong]), self.runs, confidence)
        return float(low[0]), float(high[0])


def random_stop_worlds(count: int = 200, seed: int = 20) -> list[StopWorld]:
    """Return random worlds with varied numbers of arms, patterns of means, and lengths of environments."""
    draw = np.random.default_rng(seed)
    made = []
    for number in range(count):
        kind, means = list(_KINDS.items())[number % len(_KINDS)]
        arms = int(_ARMS[number // len(_KINDS) % len(_ARMS)])
        lengths = _LENGTHS[int(draw.integers(len(_LENGTHS)))]
        world = World(means(arms, draw), lengths=lengths, shifts=Uniform(0.0, 20.0))
        name = f"{number:03d} {kind}, {arms} arms, {lengths[0]}\N{EN DASH}{lengths[1]} pulls"
        long = number % 10 == number // 10 % 10  # 20 of 200, over all kinds and numbers of arms
        made.append(StopWorld(name, world, (*CAPS, LONG) if long else CAPS, number))
    return made


def _tied_means(arms: int, draw: np.random.Generator) -> list[float]:
    """Return random means of arms: two arms tie for the best, and the others are worse."""
    return _means_with_laggards([0.0, 0.0], arms, draw)


def _nearly_tied_means(arms: int, draw: np.random.Generator) -> list[float]:
    """Return random means of arms: two arms nearly tie for the best, and the others are worse."""
    return _means_with_laggards([float(draw.choice([0.01, 0.03, 0.1])), 0.0], arms, draw)


def _slippage_means(arms: int, draw: np.random.Generator) -> list[float]:
    """Return random means of arms: one arm is the best, and all others are equal."""
    return [float(draw.choice([0.1, 0.25, 0.5, 1.0])), *[0.0] * (arms - 1)]


def _two_level_means(arms: int, draw: np.random.Generator) -> list[float]:
    """Return random means of arms: half are worse by 1, and one of the better half leads slightly."""
    upper = (arms + 1) // 2
    return [float(draw.choice([0.05, 0.2, 0.4])), *[0.0] * (upper - 1), *[-1.0] * (arms - upper)]


def _normal_means(arms: int, draw: np.random.Generator) -> list[float]:
    """Return means of arms, drawn at random from a normal distribution."""
    return [float(m) for m in np.exp(draw.uniform(-2.0, 0.5)) * draw.standard_normal(arms)]


def _means_with_laggards(first: list[float], arms: int, draw: np.random.Generator) -> list[float]:
    behind = float(np.exp(draw.uniform(-1.5, 1.2)))
    return [*first, *[-behind] * (arms - 2)]


_KINDS: dict[str, Callable[[int, np.random.Generator], list[float]]] = {
    "tie": _tied_means,
    "near tie": _nearly_tied_means,
    "slippage": _slippage_means,
    "two levels": _two_level_means,
    "normal means": _normal_means,
}


def play(
    where: Sequence[StopWorld],
    runs: int,
    *,
    caps: tuple[int, ...] | None = None,
    policies: tuple[str, ...] = POLICIES,
    rules: tuple[str, ...] = tuple(STOPPING_RULES),
    heavy: bool = False,
    seed: int = 7,
    engine: str = "auto",
    workers: int | None = None,
) -> Iterator[list[StopCounts]]:
    """Run every policy with every stopping rule in each world, and count stops with a wrong arm.

    The counts of each world are yielded together. With `heavy`, noise follows Student's t distribution with 5
    degrees of freedom.
    """
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
                StopCounts(
                    shown,
                    *_split_label(spec.label),
                    cap,
                    runs,
                    round(study.stopped(spec.label)[place] * runs),
                    round(study.wrong_stops(spec.label)[place] * runs),
                    float(study.samples(spec.label)[place]),
                )
                for spec in specs
                for place, cap in enumerate(budgets)
            ]


def _split_label(label: str) -> tuple[str, str]:
    """Split a label into the names of a policy and its stopping rule."""
    name, _, rule = label.rpartition(" ")
    return name, rule


def table(rows: Sequence[StopCounts]) -> Table:
    """Return a table of how often simulated runs stop with a wrong arm.

    There is a row for each world, policy, stopping rule and maximum number of pulls. The shares of wrong
    stops have exact 95 % intervals.
    """
    return columns([_table_row(row) for row in rows])


def _table_row(row: StopCounts) -> dict[str, Any]:
    low, high = row.interval()
    return row._asdict() | {"share": row.wrong / row.runs, "low": low, "high": high, "kept": row.kept}


def summary_lines(rows: Sequence[StopCounts]) -> list[str]:
    """Return lines of text with each stopping rule's largest share of runs that stop with a wrong arm.

    There is a line for each rule and maximum number of pulls.
    """
    lines = []
    for rule, cap in sorted({(row.rule, row.cap) for row in rows}):
        mine = [row for row in rows if (row.rule, row.cap) == (rule, cap)]
        worst, failed = max(mine, key=lambda row: row.wrong / row.runs), sum(not row.kept for row in mine)
        lines.append(
            f"{rule} rule, budget {cap:,}: of {format_count(len(mine), 'row')}, {failed} have a share of "
            "wrong stops significantly above 5 %. The largest share is "
            f"{percent(worst.wrong / worst.runs, worst.interval())}, in {worst.world}, {worst.policy}."
        )
    return lines


def _cells(asked: PartOptions) -> list[StopWorld]:
    return random_stop_worlds(200 if asked.worlds is None else asked.worlds)


def _play_part(where: Sequence[StopWorld], asked: PartOptions) -> Iterator[list[StopCounts]]:
    seed = 7 if asked.seed is None else asked.seed
    return play(
        where,
        asked.runs,
        caps=asked.budgets,
        heavy=asked.heavy,
        seed=seed,
        engine=asked.engine,
        workers=asked.workers,
    )


PART = LedgerPart(
    "a stopping rule ends at most 5 % of runs with a wrong arm",
    20_000,
    ("seed", "workers", "worlds", "budgets", "heavy", "engine"),
    _cells,
    _play_part,
    table,
    summary_lines,
)
