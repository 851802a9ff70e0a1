"""Summaries of the experiments in a store, as plain values for terminals, web pages and JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tideproof.analysis import Fit
from tideproof.errors import NotComparable, TideproofError
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.usage_warnings import usage_facts
from tideproof.report.arms_table import format_chance
from tideproof.report.event_text import describe_events
from tideproof.store.backend import Backend, ExperimentListing
from tideproof.store.read_only_view import find_log, read_only_copy
from tideproof.table import to_json_values


def list_row(backend: Backend, each: ExperimentListing) -> dict[str, Any]:
    """Return one row of a list of experiments; an experiment that cannot be read shows the error."""
    row: dict[str, Any] = {
        "name": each.name,
        "arms": [],
        "policy": None,
        "pulls": each.pulls,
        "out": None,
        "told": None,
        "budget": None,
        "verdict": "",
        "last": each.at,
    }
    try:
        row |= json.loads(each.about)
        run = read_only_copy(find_log(backend, each.name))
        verdict = " ".join(_short_verdict(run, run.internals.recommend()[0]))
        found = usage_facts(run.internals.state)
    except (TideproofError, ValueError) as error:
        return row | {"verdict": f"cannot be read: {error}"}
    return row | {"out": found.pending, "told": found.told, "verdict": verdict}


def run_state(run: Experiment) -> str:
    """Return the state of an experiment: "running", "paused", "stopped" or "done"."""
    return "".join(_run_state(run)) or "running"


def _short_verdict(run: Experiment, found: Recommendation) -> Iterator[str]:
    """Yield the words of a short verdict: recommended arm, its probability, state of the experiment."""
    if not found.told:
        yield "no rewards yet"
    elif found.arm is None:
        yield "no arm can be selected" if len(found.groups) == 1 else "not comparable yet"
    else:
        yield found.arm
        if found.sure:
            yield f"(confidence {100.0 * (found.confidence or 0.0):.10g} %)"
        elif found.p_best is not None:
            yield f"({format_chance(found.p_best)})"
    yield from _run_state(run)


def _run_state(run: Experiment) -> Iterator[str]:
    """Yield the state of an experiment, unless it is running."""
    book = run.internals.state.book
    if book.stopped:
        yield "stopped"
    elif book.paused:
        yield "paused"
    elif book.remaining == 0 or book.sure is not None:
        yield "done"


def experiment_page(run: Experiment, name: str, events: int) -> dict[str, Any]:
    """Return all data of the page of one experiment as a dictionary of plain values."""
    state = run.internals.state
    happened, last = (
        len(state.events),
        describe_events(state, events),
    )  # first, as calls below may expire leases in this view
    recommended = run.recommend()
    found, book, now = usage_facts(state), state.book, run.internals.now()
    fit = _fit(run)
    out = [(book.pulls[number], now - book.asked_at[number]) for number in book.pending]
    return {
        "name": name,
        "policy": run.policy.label,
        "direction": run.direction,
        "scale": run.scale,
        "budget": run.budget,
        "standing": run_state(run),
        "pulls": found.pulls,
        "told": found.told,
        "lost": book.lost,
        "environments": found.labels,
        "sentence": str(recommended),
        "recommendation": to_json_values(recommended.to_dict()),
        "rates": fit is not None and fit.cells.binary,
        "arms": list(_arms(run, fit)),
        "out": [pull.to_dict() | {"age": age} for pull, age in out],
        "events": happened,
        "last_events": last,
    }


def _fit(run: Experiment) -> Fit | None:
    """Return the fit of all received rewards; None if arms cannot be compared."""
    try:
        return run.fit()
    except NotComparable:
        return None


def _arms(run: Experiment, fit: Fit | None) -> Iterator[dict[str, Any]]:
    """Yield one row for each arm, the best first."""
    book = run.internals.state.book
    rows = {} if fit is None else {row["arm"]: row for row in fit.arms}
    out = Counter(book.pulls[number].arm for number in book.pending)
    order = book.arms if fit is None else [arm for group in fit.ranking for arm in group]
    for arm in order:
        row = rows.get(arm, {})
        number = book.arms.index(arm)
        yield {
            "arm": arm,
            "retired": number in book.retired,
            "mean": row.get("mean"),
            "low": None if fit is None or fit.exact else row["low"],
            "high": None if fit is None or fit.exact else row["high"],
            "raw_mean": row.get("raw_mean"),
            "rewards": row.get("n", 0),
            "pulls": book.asked[number],
            "out": out[arm],
        }
