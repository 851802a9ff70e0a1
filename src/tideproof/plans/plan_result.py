"""The answer: a sentence, a table, a curve and its picture."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.lab.share_intervals import binomial
from tideproof.plans.budget_search import Count, curve
from tideproof.plans.even_split import POWER
from tideproof.plans.plan_question import Question
from tideproof.plans.plan_simulation import Budget
from tideproof.plans.stopping_time import StoppingTime
from tideproof.table import Table, render_notebook_html
from tideproof.text import format_count

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure

CONTRAST, EVEN = "contrast", "even split"


@dataclass(frozen=True, repr=False)
class Plan:
    """What `tp.plan` returns.

    Attributes
    ----------
    question : what was asked, in units of the noise.
    contrast, even : the budgets that keep the error, with what was counted.
    sure, proven : runs that stop when sure, by either rule; the second is None of over 12 arms and of rates.
    named : pulls of an even split after which `fit` names the best arm in 80 % of tests, by a formula; means
        compared by differences, `scale="difference"`.
    curve : error against budget, one row for each budget that was played.
    asked : the question in words.
    """

    question: Question
    contrast: Budget
    even: Budget
    sure: StoppingTime
    proven: StoppingTime | None
    named: int
    curve: Table
    asked: str = field(default="", compare=False)

    @property
    def budget(self) -> int:
        """Pulls that `contrast` needs."""
        return self.contrast.pulls

    @property
    def even_split(self) -> int:
        """Pulls that an even split needs."""
        return self.even.pulls

    def environments(self, pulls: int) -> int:
        """Return how many environments so many pulls last."""
        return 1 if math.isinf(self.question.size) else math.ceil(pulls / self.question.size)

    @property
    def sentence(self) -> str:
        """The answer."""
        late = self.sure.ninety
        last = f"{late:,} in nine of ten" if late else f"more than {self.sure.cap:,} in one of ten"
        error, lasting = (
            100.0 * self.question.error,
            format_count(self.environments(self.budget), "environment"),
        )
        return (
            f"{self.asked}: {self.budget:,} pulls ({lasting}) let contrast select a wrong one in at most "
            f"{error:g} % of runs; an even split needs {self.even_split:,}; a run that stops when "
            f"{100.0 - error:g} % sure takes {self.sure.mean:,} on average, {last}."
        )

    @property
    def power(self) -> str:
        """What people who plan a test by its power ask for.

        A gap is a difference, so the test is one of differences: where nothing tells whether the tide adds
        or multiplies, `analyze` by itself would have the winner win on both scales, which takes more.
        """
        analyze = "analyze" if self.question.rates is not None else "analyze --scale difference"
        lasting = format_count(self.environments(self.named), "environment")
        return (
            f"For {analyze} to name the winner in {100.0 * POWER:g} % of tests, an even split needs about "
            f"{format_count(self.named, 'pull')} ({lasting}), by a formula."
        )

    @property
    def table(self) -> Table:
        """One row for each way to do it."""
        budgets = {CONTRAST: self.contrast, EVEN: self.even}
        stops = {"stops when sure": self.sure}
        if self.proven is not None:
            stops["stops when proven"] = self.proven
        shares = [(b.wrong, b.runs) for b in budgets.values()] + [(s.wrong, s.runs) for s in stops.values()]
        limits = [binomial(np.array([wrong]), runs, 0.95) for wrong, runs in shares]
        pulls = [b.pulls for b in budgets.values()] + [s.mean for s in stops.values()]
        return Table(
            {
                "way": [*budgets, *stops],
                "pulls": pulls,
                "nine_of_ten": [b.pulls for b in budgets.values()] + [s.ninety for s in stops.values()],
                "environments": [self.environments(n) for n in pulls],
                "wrong": [wrong / runs for wrong, runs in shares],
                "low": [float(limit.low[0]) for limit in limits],
                "high": [float(limit.high[0]) for limit in limits],
                "runs": [runs for _, runs in shares],
            }
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw error against budget; save it if a path is given, as png, svg or pdf by its suffix."""
        from tideproof.draw.plan_curves import Line, draw_plan

        lines = []
        for way, found in ((CONTRAST, self.budget), (EVEN, self.even_split)):
            rows = [row for row in self.curve if row["way"] == way]
            counts = [Count(r["budget"], r["runs"], round(r["error"] * r["runs"])) for r in rows]
            smooth = np.linspace(rows[0]["budget"], rows[-1]["budget"], 100)
            points = {name: [row[name] for row in rows] for name in ("budget", "error", "low", "high")}
            lines.append(Line(way, found, points, smooth, curve(counts).share(smooth)))
        return draw_plan(lines, self.question.error, self.asked, path)

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain values."""
        return {
            "sentence": self.sentence,
            "budget": self.budget,
            "even_split": self.even_split,
            "power": self.power,
            "named": self.named,
            "sure": vars(self.sure),
            "proven": None if self.proven is None else vars(self.proven),
            "ways": self.table.to_dicts(),
            "curve": self.curve.to_dicts(),
        }

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.power}\n{self.table!r}"

    def _repr_html_(self) -> str:
        return render_notebook_html(f"{self.sentence} {self.power}", self.table)


def curve_table(block: int, played: dict[str, list[Count]]) -> Table:
    """Return all that was counted, by way and budget."""
    columns: dict[str, list[Any]] = {name: [] for name in ("way", "budget", "runs", "error", "low", "high")}
    for way, counts in played.items():
        for budget in sorted({count.budget for count in counts}):
            runs = sum(c.runs for c in counts if c.budget == budget)
            wrong = sum(c.wrong for c in counts if c.budget == budget)
            low, high = binomial(np.array([wrong]), runs, 0.95)
            row = (way, budget * block, runs, wrong / runs, float(low[0]), float(high[0]))
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return Table(columns)
