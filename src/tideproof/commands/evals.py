"""The command `tideproof evals run`, which finds the best of several models on a set of test items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import (
    AsJson,
    NoProgress,
    flag_option,
    number_option,
    read_whole,
    text_option,
    whole_option,
)
from tideproof.errors import InputError
from tideproof.text import escape_control_characters

if TYPE_CHECKING:
    from tideproof.evaluations.evaluation_result import Evaluation

EXITS = {0: "one model is the best with confidence, or all pairs were answered", 3: "no model is certain yet"}
WHAT, STOP, CALLS = "Models and items", "When to stop", "Calls"
_RUN = "run"


def evals_command(
    words: Annotated[list[str], typer.Argument(metavar="ACTION...", help="run, then -- and the command.")],
    models: Annotated[str | None, text_option("Models, separated by commas.", WHAT, "NAMES")] = None,
    items: Annotated[Path | None, text_option("Items: lines of JSON.", WHAT, "FILE")] = None,
    id_field: Annotated[
        str,
        typer.Option("--id", metavar="FIELD", help="Field with the ID of an item.", rich_help_panel=WHAT),
    ] = "id",
    budget: Annotated[str | None, text_option("Number of calls, or a share: 10%.", STOP)] = None,
    sure: Annotated[float | None, number_option("Stop at this confidence, such as 0.95.", STOP)] = None,
    within: Annotated[float | None, number_option("Difference that does not matter.", STOP)] = None,
    limits: Annotated[str | None, text_option("Lowest and highest score: 0,1.", STOP)] = None,
    minimize: Annotated[bool, flag_option("--minimize", "Low scores are good.", STOP)] = False,
    workers: Annotated[int, whole_option("Calls at the same time.", CALLS)] = 8,
    retries: Annotated[int, whole_option("Repetitions of a failed call.", CALLS)] = 2,
    timeout: Annotated[float, number_option("Seconds until a call is ended.", CALLS)] = 600.0,
    store: Annotated[Path, text_option("Keeps the experiment.", CALLS, "FILE")] = Path("evaluation.db"),
    seed: Annotated[int, whole_option("Seed of the order of the items.", CALLS)] = 0,
    as_json: AsJson = False,
    no_progress: NoProgress = False,
) -> None:
    """Find the best of several models, prompts or agents on test items with a part of all calls.

    The command is run for pairs of a model and an item, each at most once. The last line that it prints is
    the score: a number, or a JSON object with "score" and "cost". Its standard input is the item as JSON.
    After an interruption, the same command line continues from its files, and no answer is paid for twice.
    """
    from tideproof.evaluations.command_calls import CommandCalls
    from tideproof.evaluations.evaluate import budget_of, evaluate
    from tideproof.evaluations.item_file import read_items

    if words[0] != _RUN:
        raise InputError(f"unknown action {words[0]!r} of tideproof evals; known: {_RUN!r}")
    if models is None or items is None:
        missing = "--models" if models is None else "--items"
        raise InputError(f"tideproof evals run needs {missing}; see tideproof evals --help")
    names = [name.strip() for name in models.split(",")]
    found = read_items(items, id_field)
    pairs = len(names) * len(found)
    calls = CommandCalls(words[1:], found, _checked_timeout(timeout))
    wanted = budget_of(_read_budget(budget), pairs)
    with _progress(wanted, no_progress or as_json) as report:
        result = evaluate(
            names,
            list(found),
            calls,
            budget=wanted,
            confidence=sure,
            tolerance=within,
            limits=None if limits is None else _read_limits(limits),
            direction="minimize" if minimize else "maximize",
            workers=workers,
            retries=retries,
            seed=seed,
            store=f"sqlite:///{store}",
            answers=store.with_suffix(".answers.jsonl"),
            report=report,
        )
    typer.echo(json.dumps(_as_json(result)) if as_json else escape_control_characters(repr(result)))
    if not (result.sure or result.answered == pairs):
        raise typer.Exit(3)


COMMAND = Command(
    "evals",
    evals_command,
    exits=EXITS,
    examples=(
        "tideproof evals run --models a,b --items q.jsonl -- ask {model} {item}",
        "tideproof evals run --models a,b --items q --sure 0.95 -- ask {model} {item}",
    ),
)


def _read_budget(text: str | None) -> int | float | None:
    """Parse a number of calls, or a percentage of all calls."""
    if text is None:
        return None
    if text.strip().endswith("%"):
        try:
            share = float(text.strip().rstrip("% ")) / 100.0
        except ValueError:
            share = -1.0
        if not 0.0 < share <= 1.0:
            raise InputError(f"--budget must be a number of calls or a share such as 10%, not {text!r}")
        return None if share == 1.0 else share
    whole = read_whole(text)
    if whole is None:
        raise InputError(f"--budget must be a number of calls or a share such as 10%, not {text!r}")
    return whole


def _read_limits(text: str) -> tuple[float, float]:
    """Parse the lowest and the highest possible score, separated by a comma."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--limits must be two numbers such as 0,1, not {text!r}") from None
    return low, high


def _checked_timeout(seconds: float) -> float:
    if not 0.0 < seconds <= 1e9:
        raise InputError(f"--timeout must be a number of seconds above 0, not {seconds:g}")
    return seconds


def _progress(total: int, hidden: bool) -> Any:
    """Return a context manager that shows how many model calls of an evaluation are done, and their cost."""
    from contextlib import contextmanager

    from tideproof.progress import progress_bar

    @contextmanager
    def show() -> Any:
        if hidden:
            yield lambda counts: None
            return
        with progress_bar("asking", total, "pairs") as bar:

            def report(counts: Any) -> None:
                cost = f", cost {counts.cost:,.4g}" if counts.cost else ""
                failed = f", {len(counts.failed)} failed" if counts.failed else ""
                leader = f": {escape_control_characters(counts.leader)}" if counts.leader else ""
                bar(counts.calls + counts.reused, f"asking{cost}{failed}{leader}")

            yield report

    return show()


def _as_json(result: Evaluation) -> dict[str, Any]:
    found, counts = result.recommendation, result.counts
    return {
        "best": found.arm,
        "sure": found.sure,
        "runner_up": found.runner_up,
        "estimated_lead": found.margin,
        "answered": result.answered,
        "pairs": result.pairs,
        "cost": counts.cost,
        "retries": counts.retries,
        "failed": [{"model": model, "item": item, "error": why} for model, item, why in counts.failed],
        "models": result.models.to_dicts(),
    }
