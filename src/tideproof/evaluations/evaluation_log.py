"""Evaluation log: a table of the scores of models on test items, which `fit` analyzes as it is.

Models are arms, and items are environments: a hard item lowers the scores of all models. By default arms are
compared by differences, and intervals are about items like these: repeated samples of an item, and items of
one group, may depend on each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from tideproof.analysis.log_analysis import LogColumns, LogReading, LogSource, analyze_log
from tideproof.analysis.log_options import AnalysisOptions, ColumnOptions
from tideproof.analysis.quality_cost import quality_cost_panel
from tideproof.core.kernel_state_arrays import Floats
from tideproof.data.cell_reader import CellReading
from tideproof.draw.svg_picture import Picture, save_if_requested
from tideproof.errors import InputError, UnknownName
from tideproof.evaluations.evaluation_cells import IndexedColumn, evaluation_cells
from tideproof.evaluations.readers.log_row import read_amount, read_score
from tideproof.stats.cells import Cells
from tideproof.table import Table
from tideproof.text import format_count, join_names, quote_if_needed

COSTS = ("tokens", "seconds", "dollars")
_LABELS = ("model", "item", "sample", "group", "task", "grader")
_MOST_NAMED = 5  # models in the sentence on samples without a score
_FEWEST_GROUPS = 4
_MOST_KEYS = 2**62


class EvaluationLog(Table, LogSource):
    """Table of an evaluation with one row per score: model, item, sample, grader, score, costs and error.

    `fit`, `tideproof analyze` and other functions that read a log accept it. Without further options models
    are arms, items are environments, and arms are compared by differences of scores. Rows without a score
    are not analyzed, and never count as 0.

    Parameters
    ----------
    columns
        The values of each column. "model", "item" and "score" are needed, "sample", "group" (of items that
        share a passage, for example), "task", "grader", "tokens", "seconds", "dollars" and "error" are
        optional. A score that is None or NaN is missing.

    Attributes
    ----------
    remarks : sentences on how the rows were selected.

    Examples
    --------
    >>> import tideproof as tp
    >>> log = EvaluationLog({"model": "ab" * 4, "item": "11223344", "score": [0, 1, 0, 1, 1, 1, 0, 0]})
    >>> tp.fit(log).contrast("b", "a").estimate
    0.5
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], remarks: Sequence[str] = ()) -> None:
        for name in ("model", "item", "score"):
            if name not in columns:
                raise InputError(
                    f"an evaluation log needs a column {name!r}; the columns are {list(columns)}"
                )
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the columns of an evaluation log must have the same length, not {lengths}")
        self._rows, self.remarks = lengths["score"], tuple(remarks)
        if not self._rows:
            raise InputError("the evaluation log is empty: it has no row")
        self._indexed = {name: IndexedColumn.of(_plain(columns[name])) for name in _LABELS if name in columns}
        for name in ("model", "item"):
            if any(_is_missing(label) for label in self._indexed[name].labels):
                raise InputError(f"an evaluation log needs a {name} in each row; some rows have none")
        self._score = _scores(columns["score"])
        self._costs = {name: _amounts(columns[name]) for name in COSTS if name in columns}
        self._error = (
            [None if _is_missing(e) else str(e) for e in columns["error"]] if "error" in columns else None
        )
        for part in ("task", "group"):
            self._name_items_by(part)
        self._check_samples()

    def _name_items_by(self, part: str) -> None:
        """Add the task's or group's name to items' names if several tasks or groups use the same names."""
        if part not in self._indexed:
            return
        items, parts = self._indexed["item"], self._indexed[part]
        pairs = items.codes[self._scored] * len(parts.labels) + parts.codes[self._scored]
        if np.unique(pairs).size > np.unique(items.codes[self._scored]).size:
            both = zip(parts.codes.tolist(), items.codes.tolist(), strict=True)
            names = [f"{parts.labels[part]}:{items.labels[item]}" for part, item in both]
            self._indexed["item"] = IndexedColumn.of(names)

    @cached_property
    def _data(self) -> dict[str, list[Any]]:  # type: ignore[override]  # the columns, as the class Table keeps them
        found: dict[str, list[Any]] = {
            name: [column.labels[i] for i in column.codes.tolist()] for name, column in self._indexed.items()
        }
        for name, values in {"score": self._score, **self._costs}.items():
            found[name] = [None if x != x else x for x in values.tolist()]  # only NaN differs from itself
        if self._error is not None:
            found["error"] = list(self._error)
        return found

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the evaluation log."""
        return [*self._indexed, "score", *self._costs, *(["error"] if self._error is not None else [])]

    @property
    def models(self) -> list[Any]:
        """The models in the evaluation log, in the order of their first rows."""
        return list(self._indexed["model"].labels)

    @property
    def costs(self) -> list[str]:
        """The kinds of costs known for at least one score: tokens, seconds, dollars."""
        return [name for name, values in self._costs.items() if np.isfinite(values).any()]

    @cached_property
    def counts(self) -> Table:
        """Table with the numbers of scores, errors and samples that were not scored, for each model."""
        model = self._indexed["model"].codes
        errors = self._failed & ~self._scored
        kinds = {"scores": self._scored, "errors": errors, "unscored": ~self._scored & ~errors}
        count = {
            name: np.bincount(model[rows], minlength=len(self.models)).tolist()
            for name, rows in kinds.items()
        }
        return Table({"model": self.models, **count})

    @property
    def notes(self) -> list[str]:
        """Sentences on which rows of the evaluation log are left out, and why."""
        return [*self._missing_note(), *self.remarks]

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """Draw the score of each model against its cost; save the picture if a path is given."""
        if not self.costs:
            raise InputError(f"the evaluation log has no costs: it needs a column {join_names(COSTS, 'or')}")
        options = AnalysisOptions(columns=ColumnOptions(guess=True))
        found = analyze_log(self, options)
        panel = quality_cost_panel(found.fit, found.guardrails)
        if panel is None:
            raise InputError(f"models cannot be compared: {found.fit.verdict}")
        return save_if_requested(Picture(found.fit.verdict, [panel]), path)

    def complete_options(self, options: AnalysisOptions) -> AnalysisOptions:
        """Fill in the column names and defaults of an evaluation log, unless the user chose others."""
        asked, statistics = options.columns, options.statistics
        if not self._is_plain(options):
            return options
        unit = asked.unit or ("group" if "group" in self._indexed else None)
        reward = asked.reward or "score"
        columns = replace(asked, arm="model", environment="item", reward=reward, unit=unit)
        paired = statistics.about == "similar" and statistics.scale in ("auto", "difference")
        if statistics.variance == "auto":
            if paired:
                statistics = replace(statistics, variance="paired", scale="difference")
            else:
                scale = "difference" if statistics.scale == "auto" else statistics.scale
                statistics = replace(statistics, scale=scale)
        comparisons = options.comparisons
        if asked.guess and not comparisons.guardrails:
            costs = tuple(name for name in self.costs if name != columns.reward)
            comparisons = replace(comparisons, guardrails=costs, low=(*comparisons.low, *costs))
        return replace(options, columns=columns, statistics=statistics, comparisons=comparisons)

    def read_log(self, options: AnalysisOptions) -> LogReading | None:
        """Return score statistics of each model on each item; None if the options name other columns."""
        if not self._is_plain(options):
            return None
        asked, comparisons = options.columns, options.comparisons
        reward = asked.reward or "score"
        unit = asked.unit if asked.unit != "item" else None
        if unit is not None and unit not in self._indexed:
            raise UnknownName.with_suggestion("column", unit, self._indexed)
        cells = self._cells(reward, unit)
        segments = {}
        if comparisons.by is not None:
            if comparisons.by not in self._indexed:
                raise UnknownName.with_suggestion("column", comparisons.by, self._indexed)
            by = self._indexed[comparisons.by]
            segments = {label: self._cells(reward, unit, by.codes == i) for i, label in enumerate(by.labels)}
        guardrails = {name: self._cells(name, unit) for name in comparisons.guardrails}
        named = LogColumns("model", "item", reward, others=(("group", unit),) if unit else ())
        return LogReading(named, CellReading(cells, segments, None), guardrails, notes=tuple(self.notes))

    @property
    def _failed(self) -> Any:
        """Array that says, for each row of the evaluation log, whether it has an error."""
        if self._error is None:
            return np.zeros(self._rows, bool)
        return np.array([error is not None for error in self._error])

    @cached_property
    def _scored(self) -> Any:
        """Array that says, for each row of the evaluation log, whether it has a score."""
        return np.isfinite(self._score)

    def _is_plain(self, options: AnalysisOptions) -> bool:
        """Return whether an analysis has models as arms, items as environments, and only simple options."""
        columns = options.columns
        own = columns.arm in (None, "model") and columns.environment in ("", "item")
        others = (columns.time, columns.n, columns.successes, columns.wide, columns.covariates, columns.table)
        known = columns.reward in (None, "score", *COSTS)
        return own and known and not any(others) and options.statistics.winsorize is None

    def _cells(self, reward: str, unit: str | None, rows: Any = None) -> Cells:
        """Return statistics by model and item of a column of numbers; `rows` selects rows."""
        if reward != "score" and reward not in self._costs:
            raise UnknownName.with_suggestion("column", reward, ["score", *self._costs])
        values = self._score if reward == "score" else self._costs[reward]
        known = np.isfinite(values) & (self._scored | (reward != "score"))
        if rows is not None:
            known &= rows
        everything = bool(known.all())
        columns = {
            name: column if everything else column.select(known) for name, column in self._indexed.items()
        }
        if not known.any():
            raise InputError(
                f"the evaluation log has no {'score' if reward == 'score' else reward}: all are missing"
            )
        models = columns["model"]
        if rows is not None:  # segments have the arms of the whole log
            models = IndexedColumn(self.models, self._indexed["model"].codes[known])
        elif len(models.labels) < 2:
            raise InputError(
                f"an evaluation needs scores of at least two models; the log has only those of "
                f"{models.labels[0]!r}"
            )
        clusters = None if unit is None else columns[unit]
        if clusters is not None:
            self._check_groups(clusters, unit)
        found = evaluation_cells(models, columns["item"], values[known], columns.get("grader"), clusters)
        if rows is None and not found.compares.any():
            named = join_names(list(map(repr, models.labels[:4])))
            raise InputError(
                f"models without a common item cannot be compared: {named}. Items have names such as "
                f"{found.environments[0]!r} and {found.environments[-1]!r}; give an item the same name in "
                f"the logs of all models"
            )
        return found

    def _check_groups(self, groups: IndexedColumn, unit: str | None) -> None:
        """Raise an error if test items have no group, or if there are too few groups of items."""
        if any(_is_missing(label) for label in groups.labels):
            raise InputError(f"some items have no {unit}; name a group for each item, or use unit='item'")
        if len(groups.labels) < _FEWEST_GROUPS:
            raise InputError(
                f"column {unit!r} has {format_count(len(groups.labels), 'group')} of items; a statement "
                f"about groups like these takes {_FEWEST_GROUPS}. Use unit='item' (--unit item), if items "
                f"are independent"
            )

    def _missing_note(self) -> list[str]:
        """Return a sentence that counts errors and samples without a score, by model."""
        rows = self.counts.to_dicts()
        parts = []
        for kind, name in (("errors", "error"), ("unscored", "unscored sample")):
            total = sum(row[kind] for row in rows)
            if total:
                worst = sorted((row for row in rows if row[kind]), key=lambda row: -row[kind])[:_MOST_NAMED]
                named = ", ".join(f"{quote_if_needed(row['model'])} {row[kind]}" for row in worst)
                parts.append(
                    f"{format_count(total, name)} ({named}{', …' if len(worst) == _MOST_NAMED else ''})"
                )
        if not parts:
            return []
        return [f"Not analyzed, and not counted as 0: {join_names(parts)}."]

    def _check_samples(self) -> None:
        """Raise an error if an evaluation log seems to contain the same score twice."""
        rows = np.flatnonzero(self._scored)
        names = [name for name in ("model", "item", "grader", "sample") if name in self._indexed]
        key, keys = np.zeros(rows.size, np.int64), 1
        for name in names:
            column = self._indexed[name]
            if keys > _MOST_KEYS // len(column.labels):
                seen, key = np.unique(key, return_inverse=True)
                keys = seen.size
            key, keys = key * len(column.labels) + column.codes[rows], keys * len(column.labels)
        distinct, count = np.unique(key, return_counts=True)
        if distinct.size == rows.size:
            return
        if "sample" not in self._indexed and np.count_nonzero(count > 1) >= 0.5 * distinct.size:
            note = f"Items have up to {int(count.max())} scores of a model, taken as repeated samples."
            self.remarks = (*self.remarks, note)
            return
        row = int(rows[np.flatnonzero(key == distinct[np.argmax(count > 1)])[1]])
        columns = {name: self._indexed[name] for name in names}
        said = ", ".join(f"{name} {c.labels[c.codes[row]]!r}" for name, c in columns.items())
        raise InputError(
            f"duplicate score: {said}. If a model was run with several prompts or as several agents, name "
            f"them: read_evals({{'short': 'a.eval', 'long': 'b.eval'}}), or short=a.eval long=b.eval in the "
            f"terminal. If these are repeated samples, use repeats=True (--repeats), or number them in a "
            f"column named sample"
        )


def _plain(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values of a column as a sequence of Python objects."""
    if hasattr(values, "tolist"):
        return list(values.tolist())
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _is_missing(value: Any) -> bool:
    """Return whether a label is missing: None, NaN or an empty text."""
    return value is None or value == "" or value != value


def _scores(values: Sequence[Any]) -> Floats:
    """Return scores as numbers, NaN for missing ones; raise an error for other values and for infinity."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        found = values.astype(np.float64)
        wrong = values[np.isinf(found)].tolist()
    else:
        plain = _plain(values)
        numbers = [read_score(value) for value in plain]
        both = zip(numbers, plain, strict=True)
        wrong = [value for number, value in both if number is None and not _is_missing(value)]
        found = np.array([np.nan if x is None else x for x in numbers], np.float64)
    if wrong:
        raise InputError(
            f"a score must be a finite number, a truth value, or one of C, I, P and N, not {wrong[0]!r}"
        )
    if not np.isfinite(found).any():
        raise InputError("the evaluation log has no score: all are missing or NaN")
    return found


def _amounts(values: Sequence[Any]) -> Floats:
    """Return numbers of tokens, seconds or dollars as an array, with NaN for unknown ones."""
    return np.array(
        [np.nan if (x := read_amount(value)) is None else x for value in _plain(values)], np.float64
    )
