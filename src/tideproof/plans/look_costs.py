"""Duration and power of a planned test that is analyzed once, at planned times, or at any time.

A test with an even split is simulated as Brownian scores of its arms, in the least favourable case: one best
arm, and all others equal. The bounds are those of `fit`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from tideproof.checks import require_whole_number
from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.plans.even_split import pull_efficiency
from tideproof.plans.plan_question import Question, make_question
from tideproof.stats.best.anytime_bounds import MIXTURE_EVENTS, AnytimeBounds
from tideproof.stats.best.student_inference import dunnett_constants, normal_quantile
from tideproof.stats.looks.look_bounds import LookBounds
from tideproof.stats.looks.look_plan import MOST_LOOKS, Looks
from tideproof.stats.looks.spending_functions import SpendingName
from tideproof.table import Table, render_notebook_html
from tideproof.text import format_count

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure

ONE_LOOK, ANY_TIME = "one look at the end", "any time"
_RUNS = 20_000
_BLOCK = 2_000_000  # simulated numbers at a time
_MOST_ARMS = 100
_KNOWN = 1e7  # degrees of freedom of a known variance


@dataclass(frozen=True, repr=False)
class LookCosts:
    """Duration and power of a planned test that is analyzed once, at planned times, or at any time.

    Attributes
    ----------
    question : the parameters of the test, in units of the noise.
    looks : number of planned looks, one after each environment.
    table : one row for each way to look. Columns: design; mean_looks (expected duration, in environments, if
        the test ends as soon as the best arm is named); pulls (the same in pulls); power (share of tests that
        name the best arm by the last look); width (of the interval of two arms at the last look, relative to
        one look).
    curve : share of tests that named the best arm by each look. Columns: design, look, named.
    """

    question: Question
    looks: int
    table: Table
    curve: Table
    question_text: str

    @property
    def sentence(self) -> str:
        """Sentence on the duration and power of a test with one, with planned, or with any-time analyses."""
        rows = {row["design"]: row for row in self.table}
        pocock, fleming = rows["pocock"], rows["obrien-fleming"]
        once, ever = rows[ONE_LOOK], rows[ANY_TIME]
        return (
            f"{self.question_text}, an even split, and at most {format_count(self.looks, 'environment')}: "
            f"one look at the end names the best arm in {100 * once['power']:.0f} % of tests. With looks "
            f"after each environment, Pocock spending names it in {100 * pocock['power']:.0f} %, and a test "
            f"lasts {pocock['mean_looks']:.1f} environments on average; O'Brien-Fleming spending in "
            f"{100 * fleming['power']:.0f} %, after {fleming['mean_looks']:.1f}; looks at any time, without "
            f"a plan, in {100 * ever['power']:.0f} %, after {ever['mean_looks']:.1f}."
        )

    @property
    def advice(self) -> str:
        """Sentence that recommends when to analyze a test: once, at planned times, or at any time."""
        rows = {row["design"]: row for row in self.table}
        more = 100 * (rows["obrien-fleming"]["width"] - 1.0)
        wide = 100 * (rows["pocock"]["width"] - 1.0)
        return (
            f"Choose pocock to stop as early as possible (the last interval is {wide:.0f} % wider than for "
            f"one look), obrien-fleming to lose little if the test runs to its end ({more:.0f} % wider), and "
            "looks at any time (--anytime) if the end is not known beforehand."
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the share of tests that have named the best arm by each analysis, and save it to a path."""
        from tideproof.draw.look_curves import draw_look_curves

        curves: dict[str, tuple[list[int], list[float]]] = {}
        for row in self.curve:
            looks, named = curves.setdefault(row["design"], ([], []))
            looks.append(row["look"])
            named.append(row["named"])
        means = {row["design"]: row["mean_looks"] for row in self.table}
        return draw_look_curves(curves, means, self.question_text, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the durations and the power as plain values for JSON."""
        return {
            "sentence": self.sentence,
            "advice": self.advice,
            "looks": self.looks,
            "designs": self.table.to_dicts(),
            "curve": self.curve.to_dicts(),
        }

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.advice}\n{self.table!r}"

    def _repr_html_(self) -> str:
        return render_notebook_html(f"{self.sentence} {self.advice}", self.table)


def plan_looks(
    looks: int,
    *,
    arms: int = 2,
    gap: float | None = None,
    sigma: float | None = None,
    rate: float | None = None,
    lift: float | None = None,
    per_environment: int | None = None,
    error: float = 0.05,
    replications: int = _RUNS,
    seed: int = 0,
) -> LookCosts:
    """Compare analyzing a future test once, at planned times, or at any time: its duration and power.

    Parameters
    ----------
    looks
        Planned number of looks, one after each environment.
    arms, gap, sigma, rate, lift, per_environment
        As in `plan`.
    error
        Probability that a wrong arm is named at some look.
    replications
        Number of simulated tests.
    seed
        Random seed. The same seed gives the same numbers.

    Examples
    --------
    >>> found = plan_looks(14, rate=0.03, lift=0.1, per_environment=20_000)
    >>> [row["design"] for row in found.table if row["power"] > 0.97]
    ['one look at the end', 'pocock', 'obrien-fleming']
    """
    return plan_looks_with_names(
        str,
        looks,
        arms=arms,
        gap=gap,
        sigma=sigma,
        rate=rate,
        lift=lift,
        per_environment=per_environment,
        error=error,
        replications=replications,
        seed=seed,
    )


def plan_looks_with_names(
    spell: Callable[[str], str],
    looks: int,
    *,
    replications: int | None = None,
    seed: int = 0,
    **test: Any,
) -> LookCosts:
    """Compare analysis schedules of a future test, naming parameters in errors by `spell(parameter)`.

    `test` holds the parameters of the test: arms, gap, sigma, rate, lift, per_environment, error.
    """
    require_whole_number(spell("looks"), looks, 2, MOST_LOOKS)
    runs = _RUNS if replications is None else require_whole_number(spell("replications"), replications, 100)
    require_whole_number(spell("seed"), seed, 0, 2**53)
    question = make_question(lengths=test.pop("per_environment"), spell=spell, **test)
    if question.arms > _MOST_ARMS:
        raise InputError(f"{spell('looks')} is planned for at most {_MOST_ARMS} arms, not {question.arms}")
    gap, lift, error = test["gap"], test["lift"], question.error
    each = question.size * pull_efficiency(question.arms, question.size, round(question.size)) / question.arms
    bars = _bounds(question, looks, each)
    named = _simulate(question, looks, each, bars, runs, seed)
    once = normal_quantile(1.0 - 0.5 * error)
    columns: dict[str, list[Any]] = {n: [] for n in ("design", "mean_looks", "pulls", "power", "width")}
    curve: dict[str, list[Any]] = {n: [] for n in ("design", "look", "named")}
    for design, share in named.items():
        mean = float(looks) if design == ONE_LOOK else 1.0 + float(np.sum(1.0 - share[:-1]))
        width = _pair_bound(question, design, looks, each) / once
        row = (design, mean, round(mean * question.size), float(share[-1]), width)
        for name, value in zip(columns, row, strict=True):
            columns[name].append(value)
        for look in range(1, looks + 1):
            for name, value in zip(curve, (design, look, float(share[look - 1])), strict=True):
                curve[name].append(value)
    lead = f"{gap:g}" if question.rates is None else f"{100 * (lift or 0.0):g} %"
    text = f"{question.arms} arms, one better by {lead}"
    return LookCosts(question, looks, Table(columns), Table(curve), text)


def _repeated(question: Question, design: str, look: int, looks: int, each: float) -> Any:
    """Return the object that computes critical z-scores for a schedule of repeated analyses."""
    arms = question.arms
    if design == ANY_TIME:
        return AnytimeBounds(2.0 * _mixture(question) / MIXTURE_EVENTS, joint=False)
    spending: SpendingName = "pocock" if design == "pocock" else "obrien-fleming"
    share = np.arange(1, look + 1) / look
    return LookBounds(Looks(looks, look=look, spending=spending), np.tile(share, (arms, arms, 1)))


def _mixture(question: Question) -> float:
    """Return the variance of the mixing distribution of an anytime-valid test, relative to the noise."""
    if question.rates is None:
        return 1.0
    rate = question.rates[0]
    return rate / (1.0 - rate)  # lifts vary by 20 %, in units of the standard deviation of a conversion


def _bounds(question: Question, looks: int, each: float) -> dict[str, Floats]:
    """Return critical z-scores for comparisons with the best arm at each analysis, by schedule."""
    arms, error = question.arms, question.error
    one_sided = error if arms > 2 else 0.5 * error
    C, freedom = np.eye(arms), np.full((arms, arms), _KNOWN)
    once = dunnett_constants(C, np.full(arms, _KNOWN), 1.0 - one_sided, np.array([0]))[0]
    found = {ONE_LOOK: np.full(looks, max(float(once), normal_quantile(1.0 - 0.5 * error)))}
    for design in (*get_args(SpendingName), ANY_TIME):
        found[design] = np.array(
            [
                _repeated(question, design, look, looks, each).with_best(
                    C / (each * look), freedom, one_sided
                )[0, 1]
                for look in range(1, looks + 1)
            ]
        )
    return found


def _pair_bound(question: Question, design: str, looks: int, each: float) -> float:
    """Return the critical z-score for comparing two arms at the last analysis of a planned test."""
    if design == ONE_LOOK:
        return normal_quantile(1.0 - 0.5 * question.error)
    C, freedom = np.eye(question.arms) / (each * looks), np.full((question.arms,) * 2, _KNOWN)
    bounds = _repeated(question, design, looks, looks, each)
    return float(bounds.alone(C, freedom, question.error)[0, 1])


def _simulate(
    question: Question, looks: int, each: float, bars: dict[str, Floats], runs: int, seed: int
) -> dict[str, Floats]:
    """Return the share of simulated tests that have named the best arm by each repeated analysis."""
    random, arms = np.random.default_rng(seed), question.arms
    first = {design: np.zeros(looks) for design in bars}
    noise = 1.0 if question.rates is None else math.hypot(1.0, question.best_sigma) / math.sqrt(2.0)
    done, block = 0, max(1, _BLOCK // (arms * looks))
    while done < runs:
        count = min(block, runs - done)
        others = np.cumsum(random.standard_normal((count, looks, arms - 1)), axis=1).max(axis=2)
        best = np.cumsum(question.best_sigma * random.standard_normal((count, looks)), axis=1)
        steps = np.arange(1, looks + 1)
        lead = best - others + question.gap * math.sqrt(each) * steps
        z = lead / (noise * np.sqrt(2.0 * steps))
        for design, bar in bars.items():
            beyond = z > bar
            if design == ONE_LOOK:  # one look at this time, not several
                first[design] += beyond.sum(axis=0)
            else:
                first[design] += np.maximum.accumulate(beyond, axis=1).sum(axis=0)
        done += count
    return {design: found / runs for design, found in first.items()}
