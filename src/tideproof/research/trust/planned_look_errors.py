"""Error rates of planned repeated analyses of growing logs: wrong winners, and intervals that miss.

A run does not end before the last planned look, even if an earlier one named a winner. Some looks are missed
or early, and some plans are made for more or fewer visitors than come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.arm_comparisons import About
from tideproof.analysis.fit_result import Fit
from tideproof.checks import require_whole_number
from tideproof.core.kernel_state_arrays import Floats
from tideproof.lab.executors import cores, processes
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns, percent
from tideproof.research.trust.log_settings import Setting, read_settings
from tideproof.research.trust.outcome_counts import best_arms
from tideproof.research.trust.promised_error_rates import ERROR, Promise
from tideproof.research.trust.random_logs import RandomLog, draw
from tideproof.research.trust.repeated_looks import misses_truth
from tideproof.stats.looks.look_plan import Looks
from tideproof.stats.looks.spending_functions import SpendingName

_NEAR = 1.7  # standard errors; all intervals over several looks are wider, so nearer truths are not missed
_KNOWN = 5.0  # degrees of freedom with which the noise of an environment is known


class PlannedSetting(NamedTuple):
    """A kind of simulated growing log, and the plan of its repeated analyses.

    Attributes
    ----------
    log : the rewards and the traffic. If arms are not equal, "wrong" winners are all but the best arm.
    made : which looks are made: "daily", "weekly" (every seven days), "missed" (two of five days are left
        out), "early" (every other look is a day early), or "visitors" (the plan is in visitors).
    share : number of visitors that come, as a share of the plan.
    spending : spending function.
    about : which environments a winner is about.
    """

    log: Setting
    made: str
    share: float
    spending: SpendingName
    about: About

    @property
    def name(self) -> str:
        """Name of this kind of growing log, for tables."""
        share = "" if self.share == 1.0 else f" {100 * self.share:g} %"
        return f"{self.log.name}-{self.made}{share}-{self.spending}-{self.about}"


def _settings(
    log_table: str, looks: Sequence[tuple[str, float, SpendingName, About]]
) -> list[PlannedSetting]:
    return [PlannedSetting(log, *how) for log, how in zip(read_settings(log_table), looks, strict=True)]


PLANNED = _settings(
    """
rewards      level  arms   pulls  environments  allocation  tide        swell  truth  lift
conversions  0.03      2   70000            14  even        multiplies  0.3    equal  0
conversions  0.03      2   70000            14  drifting    multiplies  0.3    equal  0
conversions  0.03      2   70000            28  even        multiplies  0.3    equal  0
conversions  0.01      3   14000            14  uneven      multiplies  0.3    equal  0
conversions  0.2       5    2800            14  drifting    adds        0.5    equal  0
conversions  0.1      10    1400             7  even        multiplies  0.3    equal  0
conversions  0.1      10    2800            14  drifting    multiplies  0.3    equal  0
conversions  0.05      2    3000            30  wild        multiplies  0.3    equal  0
conversions  0.3       4     600             5  even        adds        0.3    equal  0
counts       0.3       2    1400            14  even        multiplies  0.4    equal  0
counts       0.3       3    1400            14  drifting    multiplies  0.4    equal  0
counts       1         6     700             7  uneven      adds        0.3    equal  0
clumps       0.5       2    2800            14  even        multiplies  0.3    equal  0
money        1         2    1400            14  even        multiplies  0.4    equal  0
money        0.05      3   14000            14  uneven      multiplies  0.4    equal  0
money        1         5    1400            10  drifting    multiplies  0.4    equal  0
seconds      1         2     700            14  even        multiplies  0.2    equal  0
normal       0         2     140            14  even        adds        2      equal  0
normal       0         2     300            30  drifting    adds        2      equal  0
normal       0         3     280            14  drifting    adds        2      equal  0
normal       0        10     280            14  even        adds        2      equal  0
uneven       0         3     280            14  even        adds        2      equal  0
normal       0         5     280             5  uneven      adds        2      near   0.2
conversions  0.03      3   20000            14  even        multiplies  0.3    near   0.05
""",
    [
        ("daily", 1.0, "pocock", "these"),
        ("daily", 1.0, "obrien-fleming", "these"),
        ("weekly", 1.0, "pocock", "similar"),
        ("daily", 1.0, "pocock", "these"),
        ("missed", 1.0, "pocock", "these"),
        ("daily", 1.0, "pocock", "these"),
        ("early", 1.0, "obrien-fleming", "these"),
        ("daily", 1.0, "pocock", "these"),
        ("daily", 1.0, "pocock", "similar"),
        ("visitors", 0.6, "pocock", "these"),
        ("visitors", 1.5, "pocock", "these"),
        ("daily", 1.0, "obrien-fleming", "these"),
        ("missed", 1.0, "pocock", "similar"),
        ("daily", 1.0, "pocock", "these"),
        ("early", 1.0, "pocock", "these"),
        ("visitors", 1.5, "obrien-fleming", "these"),
        ("daily", 1.0, "pocock", "similar"),
        ("daily", 1.0, "pocock", "these"),
        ("daily", 1.0, "obrien-fleming", "similar"),
        ("visitors", 0.6, "obrien-fleming", "these"),
        ("daily", 1.0, "pocock", "these"),
        ("early", 1.0, "pocock", "similar"),
        ("daily", 1.0, "pocock", "these"),
        ("missed", 1.0, "pocock", "these"),
    ],
)  # fmt: skip


class PlannedErrors(NamedTuple):
    """Which wrong conclusions occurred in any planned analysis of one growing log.

    Attributes
    ----------
    announced : whether some look named a wrong winner, or a winner among equal arms. If winners are about
        similar environments, those of the observed ones do not count.
    missed : whether at some look an interval of a pair, or of an arm against the best other one, missed the
        truth.
    """

    announced: bool
    missed: bool


def look_as_planned(setting: PlannedSetting, number: int) -> PlannedErrors:
    """Analyze a simulated log at each planned time, and return which conclusions were wrong."""
    log, best = draw(setting.log, number), best_arms(setting.log)
    equal = best.size == setting.log.arms
    doubtful = _largest_deviates(log) > _NEAR if equal else np.ones(log.cells.J, bool)
    announced = missed = False
    for day, plan in planned_looks(setting, log):
        if (announced and missed) or not doubtful[day - 1]:
            continue
        part = _first_days(log, day)
        if part is None:
            continue
        fit = Fit(part.cells, looks=plan, about=setting.about)
        decision = fit.decision
        if decision.standing == "not_comparable":
            continue
        wrong = best.size > 1 or decision.best != best[0]
        named = decision.names_winner if setting.about == "these" else decision.standing == "winner"
        announced |= named and wrong
        missed = missed or misses_truth(fit, part)
    return PlannedErrors(announced, missed)


def planned_looks(setting: PlannedSetting, log: RandomLog) -> Iterator[tuple[int, Looks]]:
    """Yield the planned analyses of a log: the number of days it has by then, and the plan."""
    days = setting.log.environments
    kept = [day for day in range(1, days + 1) if day == days or (7 * day) % 5 > 1]
    if setting.made == "visitors":
        visitors = np.cumsum(log.cells.sizes)
        looks = float(np.round(visitors[-1] / setting.share))
        amounts = visitors.tolist()
        last = next((n for n, amount in enumerate(amounts) if amount >= looks), days - 1)
        made = list(zip(range(1, last + 2), amounts[: last + 1], strict=True))
    elif setting.made == "weekly":
        looks, made = days / 7.0, [(7 * week, float(week)) for week in range(1, days // 7 + 1)]
    elif setting.made == "missed":
        looks, made = float(days), [(day, float(day)) for day in kept]
    else:
        early = 1 if setting.made == "early" else 0
        looks = float(days)
        made = [(day - early * (day % 2 == 0), float(day)) for day in range(1, days + 1)]
    for look, (day, amount) in enumerate(made):
        past = [before for _, before in made[:look]]
        default = past == list(range(1, look + 1)) and amount == look + 1
        yield day, Looks(looks, look=amount, spending=setting.spending, past=None if default else past)


def _first_days(log: RandomLog, days: int) -> RandomLog | None:
    """Return a log reduced to its first environments; None if an arm has no rewards yet."""
    c = log.cells
    kept = np.flatnonzero(c.environment < days)
    if np.unique(c.arm[kept]).size < c.K:
        return None
    return RandomLog(c.select(kept), log.means[np.unique(c.environment[kept])], log.events)


def _largest_deviates(log: RandomLog) -> Floats:
    """Return the largest z-score of any pair of arms after each environment, to skip needless analyses."""
    return np.asarray(np.abs(quick_deviates(log)[0]).max(axis=(1, 2)))


def quick_deviates(log: RandomLog) -> tuple[Floats, Floats]:
    """Return z-scores of all pairs of arms after each environment, and the covariances of the arms.

    Both are (J, K, K). They are those of least squares, with the variance inside the cells.
    """
    c = log.cells
    n, total, squares = (np.zeros((c.J, c.K)) for _ in range(3))
    n[c.environment, c.arm], total[c.environment, c.arm] = c.n, c.n * c.mean
    squares[c.environment, c.arm] = c.squares
    size = np.maximum(n.sum(axis=1, keepdims=True), 1.0)
    free = np.maximum(n - 1.0, 0.0).sum(axis=1)
    usual = squares.sum() / max(float(free.sum()), 1.0)
    within = np.where(free >= _KNOWN, squares.sum(axis=1) / np.maximum(free, 1.0), usual)
    laplacian = np.einsum("jk,kl->jkl", n, np.eye(c.K)) - n[:, :, None] * n[:, None, :] / size[:, :, None]
    score = total - n * (total.sum(axis=1, keepdims=True) / size)
    growing = np.cumsum(laplacian, axis=0) + 1.0 / c.K  # invertible if all arms are connected
    middle = np.cumsum(laplacian * within[:, None, None], axis=0)
    inverse = np.linalg.pinv(growing, hermitian=True)
    mu = np.einsum("jkl,jl->jk", inverse, np.cumsum(score, axis=0))
    covariance = inverse @ middle @ inverse
    own = np.einsum("jkk->jk", covariance)
    variance = own[:, :, None] + own[:, None, :] - 2.0 * covariance
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (mu[:, :, None] - mu[:, None, :]) / np.sqrt(variance)
    return np.nan_to_num(z, nan=0.0), covariance


def run_planned_looks(
    settings: Sequence[PlannedSetting] = tuple(PLANNED), runs: int = 2_000, workers: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield, for each kind of log, how often any of its planned analyses led to wrong conclusions.

    The shares have exact 95 % intervals. A row holds the name of the setting, its runs, and the shares
    `announced` and `missed`, each with its `_low`, `_high` and whether it was `_kept` below 5 %.
    """
    count = cores() if workers is None else require_whole_number("workers", workers, 1)
    with processes(count) as pool:
        seen = [pool.map(partial(look_as_planned, setting), range(runs), chunksize=5) for setting in settings]
        for setting, outcomes in zip(settings, seen, strict=True):
            yield count_planned_looks(setting, list(outcomes))


def count_planned_looks(setting: PlannedSetting, seen: Sequence[PlannedErrors]) -> dict[str, Any]:
    """Return how often any planned analysis of one kind of log led to wrong conclusions."""
    row: dict[str, Any] = {"name": setting.name, "runs": len(seen)}
    for name in ("announced", "missed"):
        promise = Promise(name, sum(getattr(run, name) for run in seen), len(seen), ERROR)
        low, high = promise.interval
        row |= {name: promise.share, f"{name}_low": low, f"{name}_high": high, f"{name}_kept": promise.kept}
    return row


def summary_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line of text for each kind of log, with the error rates of its planned analyses."""
    lines = []
    for row in rows:
        wrong, missed = (
            percent(row[name], (row[f"{name}_low"], row[f"{name}_high"]), 1)
            for name in ("announced", "missed")
        )
        lines.append(
            f"{row['name']}: a wrong arm was named in {wrong} of logs, an interval missed in {missed}"
        )
    return lines


def _play_part(settings: Sequence[PlannedSetting], asked: PartOptions) -> Iterator[list[dict[str, Any]]]:
    return ([row] for row in run_planned_looks(settings, asked.runs, asked.workers))


PART = LedgerPart(
    "in at least 95 % of logs that are analyzed at planned looks, no analysis is wrong",
    2_000,
    ("workers",),
    lambda _: PLANNED,
    _play_part,
    columns,
    summary_lines,
)
