"""The function `evaluate`: find the best of several models on a set of items with few calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tideproof.checks import Direction, require_finite, require_list, require_whole_number
from tideproof.errors import InputError, describe_value
from tideproof.evaluations.answer_file import AnswerFile
from tideproof.evaluations.evaluation_result import Evaluation, read_evaluation
from tideproof.evaluations.evaluation_runner import CallCounts, EvaluationRunner, is_asynchronous
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.pull import Label
from tideproof.experiment.settings import Rule

MOST_WORKERS = 1000


def evaluate(
    models: Iterable[str] | Mapping[str, Any],
    items: Iterable[Any] | Mapping[Label, Any],
    score: Callable[[Any, Any], Any],
    *,
    budget: int | float | None = None,
    confidence: float | None = None,
    rule: Rule | None = None,
    tolerance: float | None = None,
    limits: tuple[float, float] | None = None,
    direction: Direction = "maximize",
    workers: int = 8,
    retries: int = 2,
    seed: int = 0,
    store: str | None = None,
    name: str = "evaluation",
    answers: str | os.PathLike[str] | None = None,
    report: Callable[[CallCounts], None] = lambda counts: None,
) -> Evaluation:
    """Find the best of several models, prompts or agents on a set of test items.

    It chooses which model to ask which item next, asks each pair at most once, and stops when the budget is
    used up or when one model is the best with the required confidence. Without both, it asks all pairs.

    Parameters
    ----------
    models
        Names of the models, or a mapping from names to what `score` needs to call them.
    items
        IDs of the items, dictionaries with an `"id"`, or a mapping from IDs to items.
    score
        Function `score(model, item)` that asks the model and returns a number, or a mapping with `"score"`
        and `"cost"`. It may be asynchronous. If it raises an error, it is called again.
    budget
        Number of pairs, or a share of all pairs such as 0.1.
    confidence, rule, tolerance
        Stop as soon as one model is the best on all items with this confidence, by a `"proven"` (the
        default) or a `"calibrated"` rule; with a tolerance, as soon as no other model can be better by more
        than that.
    limits
        Lowest and highest possible score; with `confidence` they are 0 and 1 unless they are given.
    direction
        `"minimize"` if low scores are good.
    workers, retries
        Number of calls at the same time; how often a failed call is repeated.
    seed
        Seed of the random order of the items.
    store, name
        URL of a store such as `"sqlite:///evals.db"` and the name of the evaluation in it. A second call with
        the same arguments continues where the first one ended, even after a crash; it may have a larger
        budget.
    answers
        File to which each answer is written before it counts. Answers in it are used instead of calls.
    report
        Function that is called after each answer with the counts so far and the model that leads.

    Examples
    --------
    >>> skill = {"small": 0.4, "medium": 0.6, "large": 0.8}
    >>> def score(skill, item):
    ...     return item % 10 < 10 * skill
    >>> found = evaluate(skill, range(200), score, confidence=0.95)
    >>> found.best, found.sure
    ('large', True)
    """
    names, of_name = _named(models)
    labels, of_label = _labelled(items)
    every = len(names) * len(labels)
    workers = require_whole_number("workers", workers, 1, MOST_WORKERS)
    retries = require_whole_number("retries", retries, 0, 100)
    if not callable(score):
        raise InputError(f"score must be a function score(model, item), not {describe_value(score)}")
    options: dict[str, Any] = {
        "environments": labels,
        "budget": budget_of(budget, every),
        "seed": seed,
        "direction": direction,
    }
    given = {"confidence": confidence, "rule": rule, "tolerance": tolerance, "limits": limits}
    options |= {option: value for option, value in given.items() if value is not None}
    file = None if answers is None else AnswerFile(answers)
    try:
        run = _open_experiment(names, options, store, name)
        try:
            call = _with_objects(score, of_name, of_label)
            runner = EvaluationRunner(
                run, call, workers=workers, retries=retries, answers=file, report=report
            )
            return read_evaluation(run, runner.play())
        finally:
            run.close()
    finally:
        if file is not None:
            file.close()


def _open_experiment(names: list[str], options: dict[str, Any], store: str | None, name: str) -> Experiment:
    """Create the experiment behind an evaluation, or open the stored one and update its budget."""
    if store is None:
        return Experiment(names, **options)
    others = {option: value for option, value in options.items() if option != "budget"}
    run = Experiment.open(store, name, names, **others)
    try:
        run.extend(options["budget"])
    except BaseException:
        run.close()
        raise
    return run


def budget_of(budget: Any, pairs: int) -> int:
    """Return the budget of an evaluation as a number of model-item pairs, at most all of them.

    >>> budget_of(0.1, 250), budget_of(40, 250), budget_of(None, 250)
    (25, 40, 250)
    """
    if budget is None:
        return pairs
    if isinstance(budget, float) and not budget.is_integer():
        share = require_finite("budget", budget)
        if not 0.0 < share < 1.0:
            raise InputError(f"budget must be a number of pairs or a share between 0 and 1, not {budget!r}")
        return max(1, round(share * pairs))
    whole = int(budget) if isinstance(budget, float) else budget
    return min(require_whole_number("budget", whole, 1), pairs)


def _named(models: Any) -> tuple[list[str], Mapping[str, Any]]:
    if isinstance(models, Mapping):
        return list(models), models
    if isinstance(models, str):
        raise InputError(f"models must be several names, such as a list, not {models!r}")
    names = require_list("models", models)
    return names, {name: name for name in names if isinstance(name, str)}


def _labelled(items: Any) -> tuple[list[Label], Mapping[Label, Any]]:
    if isinstance(items, Mapping):
        return list(items), items
    if isinstance(items, str):
        raise InputError(f"items must be several items, such as a list, not {items!r}")
    labels, found = [], {}
    for number, item in enumerate(require_list("items", items), 1):
        label = item
        if isinstance(item, Mapping):
            if "id" not in item:
                raise InputError(f"item {number} has no 'id', but {', '.join(map(repr, list(item)[:5]))}")
            label = item["id"]
        labels.append(label)
        if isinstance(label, (str, int)):
            found[label] = item
    return labels, found


def _with_objects(
    score: Callable[[Any, Any], Any], of_name: Mapping[str, Any], of_label: Mapping[Label, Any]
) -> Callable[[str, Label], Any]:
    """Wrap the user's scoring function of objects as a function of model names and item IDs."""
    if is_asynchronous(score):

        async def call_async(model: str, item: Label) -> Any:
            return await score(of_name[model], of_label[item])

        return call_async
    return lambda model, item: score(of_name[model], of_label[item])
