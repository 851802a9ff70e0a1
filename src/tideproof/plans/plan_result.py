"""The class `Plan`: the result of planning a test, as a sentence, a table, a curve and a picture."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.lab.share_intervals import binomial
from tideproof.plans.budget_search import ErrorCount, fit_curve
from tideproof.plans.environment_count import needed_environments
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
    """Plan of a test, as `tp.plan` returns it: the numbers of pulls that several kinds of test need.

    Attributes
    ----------
    question : the parameters of the test, in units of the noise.
    contrast, even : the budgets with the allowed error for the policy `contrast` and for an even split.
    calibrated_stop, proven_stop : stopping times of tests that stop early, by the calibrated and by the
        proven rule; `proven_stop` is None for more than 12 arms and for conversions.
    pulls_for_power : pulls of an even split after which `fit` names the best arm in 80 % of tests, by a
        formula; means are compared by differences, `scale="difference"`.
    curve : the error against the budget, with one row for each simulated budget.
    question_text : the parameters of the test in words.
    """

    question: Question
    contrast: Budget
    even: Budget
    calibrated_stop: StoppingTime
    proven_stop: StoppingTime | None
    pulls_for_power: int
    curve: Table
    question_text: str = field(default="", compare=False)

    @property
    def budget(self) -> int:
        """Recommended number of pulls: for the policy `contrast`, or for the environments that are needed.

        If the effect of an arm varies between environments, the number of environments decides.
        """
        if self.needed_environments is None:
            return self.contrast.pulls
        return round(self.needed_environments * self.question.size)

    @property
    def even_split(self) -> int:
        """Number of pulls that a test with an even split needs."""
        return self.even.pulls

    def environments(self, pulls: int) -> int:
        """Return the number of environments that a test with this number of pulls lasts."""
        return 1 if math.isinf(self.question.size) else math.ceil(pulls / self.question.size)

    @property
    def sentence(self) -> str:
        """Sentence that summarises the plan of a test."""
        if self.question.interaction > 0.0:
            return f"{self.question_text}: {self._interaction_text}"
        late = self.calibrated_stop.percentile_90
        last = (
            f"90 % of runs end within {late:,}"
            if late
            else f"fewer than 90 % of runs end within {self.calibrated_stop.budget:,}"
        )
        error, duration = (
            100.0 * self.question.error,
            format_count(self.environments(self.budget), "environment"),
        )
        return (
            f"{self.question_text}: with {self.budget:,} pulls ({duration}), the "
            f"policy contrast selects a wrong arm in at most {error:g} % of runs. An even split needs "
            f"{self.even_split:,} pulls. With "
            f"early stopping at confidence level {100.0 - error:g} %, a run takes "
            f"{self.calibrated_stop.mean:,} pulls on average; {last}."
        )

    @property
    def needed_environments(self) -> int | None:
        """Number of environments that a claim about environments like these needs, at 80 % power.

        None if differences between arms are the same in all environments, as they are without a pilot.
        """
        return needed_environments(self.question, POWER)

    @property
    def _interaction_text(self) -> str:
        """Sentences on how many environments an interaction of arms and environments requires."""
        omega, count, size = self.question.interaction, self.needed_environments, self.question.size
        why = (
            f"in the pilot, the effect of an arm seems to vary between environments, with a standard "
            f"deviation of {omega:.2g} times the noise. More pulls in the same environments do not average "
            f"this out. "
        )
        if count is None:
            return f"{why}No feasible number of environments finds a lead as small as this."
        each = ", for each other arm" if self.question.arms > 2 else ""
        return (
            f"{why}To find the best arm for environments like these, plan for "
            f"{format_count(count, 'environment')} of about {size:,.4g} pulls ({round(count * size):,} "
            f"pulls; {100.0 * POWER:g} % power of a paired t-test by environment{each}). Fewer "
            f"environments tell which arm was the best there, but little about others."
        )

    @property
    def power(self) -> str:
        """Sentence with the budget at which an even split of pulls has the customary power of 80 %.

        The gap of a plan is a difference, so the sentence is about tests on the scale of differences. If the
        data do not show whether shifts add or multiply, `analyze` without options requires the winner to win
        on both scales, which takes more pulls. Empty if the effect of an arm varies between environments.
        """
        if self.question.interaction > 0.0:
            return ""
        analyze = "analyze" if self.question.rates is not None else "analyze --scale difference"
        duration = format_count(self.environments(self.pulls_for_power), "environment")
        best = "the best arm of these environments"
        return (
            f"With an even split of about {format_count(self.pulls_for_power, 'pull')} ({duration}), "
            f"tideproof {analyze} names {best} in {100.0 * POWER:g} % of tests (approximation)."
        )

    @property
    def table(self) -> Table:
        """Table of required pulls and error rates, one row for each kind of test, such as an even split."""
        budgets = {CONTRAST: self.contrast, EVEN: self.even}
        stops = {"early stopping (calibrated)": self.calibrated_stop}
        if self.proven_stop is not None:
            stops["early stopping (proven)"] = self.proven_stop
        shares = [(b.wrong, b.runs) for b in budgets.values()] + [(s.wrong, s.runs) for s in stops.values()]
        intervals = [binomial(np.array([wrong]), runs, 0.95) for wrong, runs in shares]
        pulls = [b.pulls for b in budgets.values()] + [s.mean for s in stops.values()]
        return Table(
            {
                "design": [*budgets, *stops],
                "pulls": pulls,
                "percentile_90": [b.pulls for b in budgets.values()]
                + [s.percentile_90 for s in stops.values()],
                "environments": [self.environments(n) for n in pulls],
                "wrong": [wrong / runs for wrong, runs in shares],
                "low": [float(interval.low[0]) for interval in intervals],
                "high": [float(interval.high[0]) for interval in intervals],
                "runs": [runs for _, runs in shares],
            }
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw a chart of the error rate against the budget; if a path is given, save it there.

        The suffix of the path chooses the format png, svg or pdf.
        """
        from tideproof.draw.plan_curves import PlanCurve, draw_plan

        lines = []
        for design, found in ((CONTRAST, self.contrast.pulls), (EVEN, self.even_split)):
            rows = [row for row in self.curve if row["design"] == design]
            counts = [ErrorCount(r["budget"], r["runs"], round(r["error"] * r["runs"])) for r in rows]
            smooth = np.linspace(rows[0]["budget"], rows[-1]["budget"], 100)
            points = {name: [row[name] for row in rows] for name in ("budget", "error", "low", "high")}
            lines.append(PlanCurve(design, found, points, smooth, fit_curve(counts).share(smooth)))
        return draw_plan(lines, self.question.error, self.question_text, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan of a test as plain Python values, which can be written as JSON."""
        return {
            "sentence": self.sentence,
            "interaction": self.question.interaction,
            "needed_environments": self.needed_environments,
            "budget": self.budget,
            "even_split": self.even_split,
            "power": self.power,
            "pulls_for_power": self.pulls_for_power,
            "calibrated_stop": self.calibrated_stop.to_dict(),
            "proven_stop": None if self.proven_stop is None else self.proven_stop.to_dict(),
            "designs": self.table.to_dicts(),
            "curve": self.curve.to_dicts(),
        }

    def __repr__(self) -> str:
        return "\n".join(filter(None, (self.sentence, self.power, repr(self.table))))

    def _repr_html_(self) -> str:
        return render_notebook_html(f"{self.sentence} {self.power}", self.table)


def curve_table(block: int, played: dict[str, list[ErrorCount]]) -> Table:
    """Return a table of simulated error rates with confidence bounds, by kind of test and budget."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("design", "budget", "runs", "error", "low", "high")
    }
    for design, counts in played.items():
        for budget in sorted({count.budget for count in counts}):
            runs = sum(c.runs for c in counts if c.budget == budget)
            wrong = sum(c.wrong for c in counts if c.budget == budget)
            low, high = binomial(np.array([wrong]), runs, 0.95)
            row = (design, budget * block, runs, wrong / runs, float(low[0]), float(high[0]))
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return Table(columns)
