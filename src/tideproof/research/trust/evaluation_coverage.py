"""How often confidence intervals from simulated evaluation logs of models cover the true values.

Items are a random sample, and so are passages. The score of a model on an item is 1 with the probability
logistic(level + ability + difficulty + interaction), where difficulty and interaction are normal and half of
their variance belongs to the passage, if there are passages. The true mean of a model is the average over all
items, by numerical integration. Scores in [0, 1] have a beta distribution with the same mean. With graders,
each score also contains an effect of its grader, and models are graded by different shares of graders; these
scores are normal and additive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.scale_choice import fit_on_scale
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.evaluations.evaluation_cells import IndexedColumn, evaluation_cells
from tideproof.lab.share_intervals import binomial
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns, percent, play_with_seed
from tideproof.research.trust.parallel_chunks import in_chunks
from tideproof.stats.best.student_inference import student_from_normal
from tideproof.stats.cells import Cells

LOWEST, HIGHEST = 0.93, 0.97  # Promised coverage of 95 % intervals.
_Z = 1.959963984540054
_DIFFICULTY, _INTERACTION = 1.5, 0.7  # Standard deviations on the logit scale.
_GRADERS, _CHUNK = 4, 100


class EvaluationSetting(NamedTuple):
    """One kind of simulated evaluation log: numbers of models and items, and how scores vary.

    Attributes
    ----------
    kind : "one sample", "five samples", "passages", "missing pairs", "graders" or "scores".
    models, items : their numbers.
    spread : range of the abilities of the models, on the logit scale; 0 for equal models.
    level : ability of an average model, on the logit scale.
    """

    kind: str
    models: int
    items: int
    spread: float = 0.0
    level: float = 0.5

    @property
    def name(self) -> str:
        """Name of this kind of evaluation log, by which the option `--only` selects it."""
        how = f"spread {self.spread:g}" if self.spread else "equal"
        level = f", level {self.level:g}" if self.level != 0.5 else ""
        return f"{self.kind}, {self.models} models x {self.items} items, {how}{level}"

    @property
    def abilities(self) -> Floats:
        """Simulated ability of each model, which determines its scores."""
        return self.level + np.linspace(0.0, self.spread, self.models)


def settings(_: PartOptions | None = None) -> list[EvaluationSetting]:
    """Return the kinds of evaluation logs for which interval coverage is counted."""
    found = []
    for spread in (0.0, 1.0):
        found += [
            EvaluationSetting("one sample", 2, 100, spread),
            EvaluationSetting("one sample", 2, 100, spread, 2.5),
            EvaluationSetting("one sample", 5, 1_000, spread),
            EvaluationSetting("one sample", 20, 500, spread),
            EvaluationSetting("one sample", 20, 5_000, spread),
            EvaluationSetting("five samples", 2, 100, spread),
            EvaluationSetting("five samples", 10, 500, spread),
            EvaluationSetting("passages", 2, 100, spread),
            EvaluationSetting("passages", 5, 1_000, spread),
            EvaluationSetting("missing pairs", 2, 100, spread),
            EvaluationSetting("missing pairs", 10, 300, spread),
            EvaluationSetting("graders", 2, 100, spread),
            EvaluationSetting("graders", 10, 300, spread),
            EvaluationSetting("scores", 2, 100, spread),
            EvaluationSetting("scores", 20, 500, spread),
        ]
    return found


def true_means(setting: EvaluationSetting) -> Floats:
    """Return the true mean score of each model on all simulated test items: (K,)."""
    abilities = setting.abilities
    if setting.kind == "graders":
        return abilities
    node, weight = np.polynomial.hermite_e.hermegauss(80)
    deviation = np.hypot(_DIFFICULTY, _INTERACTION) * node
    return np.asarray((_logistic(abilities[:, None] + deviation) @ weight) / weight.sum())


def draw_log(setting: EvaluationSetting, random: np.random.Generator) -> Cells:
    """Simulate one evaluation log, and return score statistics by model and item."""
    J, K = setting.items, setting.models
    passage, sizes = _passages(setting, random)
    item, model = np.divmod(np.arange(J * K), K)
    logit = setting.abilities[model] + _effects(setting, passage, sizes, random).ravel()
    if setting.kind == "missing pairs":  # more for the second half of the models
        kept = random.random(J * K) > np.linspace(0.1, 0.5, K)[model]
        item, model, logit = item[kept], model[kept], logit[kept]
    if setting.kind == "five samples":
        item, model, logit = np.repeat(item, 5), np.repeat(model, 5), np.repeat(logit, 5)
    graders = None
    if setting.kind == "graders":
        item, model, logit, grader = _graded(item, model, logit, K, random)
        score = logit + random.normal(size=logit.size)
        graders = IndexedColumn(list(range(_GRADERS)), grader)
    elif setting.kind == "scores":
        mean = _logistic(logit)
        score = random.beta(4.0 * mean, 4.0 * (1.0 - mean))
    else:
        score = (random.random(logit.size) < _logistic(logit)).astype(float)
    return evaluation_cells(
        IndexedColumn(list(range(K)), model),
        IndexedColumn(list(range(J)), item),
        score,
        graders,
        None if passage is None else IndexedColumn(list(range(sizes)), passage[item]),
    )


def _passages(setting: EvaluationSetting, random: np.random.Generator) -> tuple[Ints | None, int]:
    """Return the text passage to which each simulated test item belongs, and the number of passages."""
    if setting.kind != "passages":
        return None, 0
    sizes = random.integers(2, 9, setting.items)
    passage = np.repeat(np.arange(setting.items), sizes)[: setting.items]
    return passage, int(passage[-1]) + 1


def _effects(
    setting: EvaluationSetting, passage: Ints | None, passages: int, random: np.random.Generator
) -> Floats:
    """Draw how difficult each simulated test item is for each model: (J, K)."""
    deviation = np.full(setting.models + 1, _INTERACTION)
    deviation[-1] = _DIFFICULTY
    own = random.normal(size=(setting.items, setting.models + 1)) * deviation
    if passage is not None:
        shared = random.normal(size=(passages, setting.models + 1)) * deviation
        own = np.sqrt(0.5) * (own + shared[passage])
    return np.asarray(own[:, :-1] + own[:, -1:])


def _graded(
    item: Ints, model: Ints, logit: Floats, models: int, random: np.random.Generator
) -> tuple[Ints, Ints, Floats, Ints]:
    """Simulate models graded once or twice on each item, with shares of graders that differ by model."""
    twice = random.random(item.size) < 0.5
    rows = np.concatenate([np.arange(item.size), np.flatnonzero(twice)])
    item, model, logit = item[rows], model[rows], logit[rows]
    shares = random.dirichlet(np.ones(_GRADERS), models).cumsum(axis=1)
    grader = np.minimum((random.random(rows.size)[:, None] > shares[model]).sum(axis=1), _GRADERS - 1)
    return item, model, logit + np.linspace(-1.0, 1.0, _GRADERS)[grader], grader


def _logistic(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def play(task: tuple[tuple[int, EvaluationSetting], int, int]) -> Ints:
    """Simulate evaluation logs of one kind, and count the intervals that cover the true values.

    Return the numbers of logs, of logs whose arms can be compared, of intervals of the difference of the
    first and the last model that cover the true one, and of intervals of the mean of the first model.
    """
    (seed, setting), first, last = task
    mean, found = true_means(setting), np.zeros(4, np.int64)
    truth = mean[-1] - mean[0]
    for number in range(first, last):
        cells = draw_log(setting, np.random.default_rng((seed, number, setting.items, setting.models)))
        fit = fit_on_scale("difference", cells, cells.solution, "paired")
        found[0] += 1
        if fit.found.component.max() > 0:
            continue
        se, freedom = fit.found.error_of(setting.models - 1, 0)
        reach = student_from_normal(_Z, freedom) * se
        gap = float(fit.found.mu[-1] - fit.found.mu[0])
        means = fit.means(0.95)
        own = means["low"][0] <= mean[0] <= means["high"][0]
        found[1:] += (1, gap - reach <= truth <= gap + reach, own)
    return found


def run_cells(
    what: Sequence[EvaluationSetting], runs: int, seed: int = 0, workers: int | None = None
) -> Iterator[list[dict[str, Any]]]:
    """Simulate evaluation logs of each kind; yield a row with the coverage of the intervals of each."""
    tasks = [(seed, setting) for setting in what]
    for (_, setting), parts in in_chunks(play, tasks, runs, workers, _CHUNK):
        logs, compared, pair, own = np.sum(parts, axis=0).tolist()
        low, high = (float(bound[0]) for bound in binomial(np.array([pair]), compared, 0.95))
        kept = LOWEST <= pair / compared <= HIGHEST
        # the accuracy that users read beside the difference; not with graders, whose average is arbitrary
        mean = None if setting.kind == "graders" else own / compared
        yield [
            {"setting": setting.name, "logs": logs, "compared": compared, "difference": pair / compared}
            | {
                "low": low,
                "high": high,
                "mean": mean,
                "kept": kept and (mean is None or LOWEST <= mean <= HIGHEST),
            }
        ]


def summary_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line of text for each kind of evaluation log, with its interval coverage."""
    return [
        f"{row['setting']}: differences {percent(row['difference'], (row['low'], row['high']), 1)}"
        + ("" if row["mean"] is None else f", means {100 * row['mean']:.1f} %")
        for row in rows
    ]


PART = LedgerPart(
    "95 % intervals of evaluation logs cover in 93 to 97 % of logs",
    2_000,
    ("seed", "workers"),
    settings,
    play_with_seed(run_cells),
    columns,
    summary_lines,
)
