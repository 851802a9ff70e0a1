"""Summaries of the experiments in a store (a database), as plain values for terminals, web pages and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tideproof.analysis import Fit
from tideproof.errors import TideproofError
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.read_model import ReadModel
from tideproof.experiment.recommendation_text import shortest_status
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.report.event_text import describe_events
from tideproof.report.experiment_report import decision_sentences
from tideproof.report.hidden_tide_report import OrderedRewards
from tideproof.stats.cells import sum_by_index
from tideproof.store.backend import Backend, ExperimentListing
from tideproof.store.read_only_view import find_log, read_only_copy
from tideproof.table import to_json_values


def list_row(backend: Backend, each: ExperimentListing) -> dict[str, Any]:
    """Return a row that summarizes one experiment, for a list of experiments.

    If the experiment cannot be read, the row contains the error.
    """
    row: dict[str, Any] = {
        "name": each.name,
        "arms": [],
        "policy": None,
        "pulls": each.pulls,
        "pending": None,
        "recorded": None,
        "budget": None,
        "verdict": "",
        "last": each.at,
    }
    try:
        row |= each.settings
        run = read_only_copy(find_log(backend, each.name))
        found = run.internals.read()
        verdict = shortest_status(found.recommendation, found.status.state)
    except (TideproofError, ValueError, KeyError, TypeError) as error:
        return row | {"verdict": f"cannot be read: {error}"}
    return row | {"pending": found.status.pending, "recorded": found.status.recorded, "verdict": verdict}


def experiment_details(run: Experiment, name: str, events: int) -> dict[str, Any]:
    """Return the settings, results and last events of an experiment as a dictionary of plain values."""
    stored = run.internals.state  # read first, because reading the rest may record that leases have ended
    happened, last = len(stored.events), describe_events(stored, events)
    found = run.internals.read()
    status, recommended = found.status, found.recommendation_with_warnings
    fit = found.fit if isinstance(found.fit, Fit) else None
    return {
        "name": name,
        "policy": status.policy,
        "direction": status.created.direction,
        "scale": status.scale,
        "budget": status.budget,
        "standing": status.state,
        "shipped": status.shipped,
        "decision": " ".join(text for text in decision_sentences(status) if text),
        "pulls": found.facts.pulls,
        "recorded": status.recorded,
        "lost": status.lost,
        "environments": found.facts.labels,
        "sentence": str(recommended),
        "recommendation": to_json_values(recommended.to_dict()),
        "rates": fit is not None and fit.cells.binary,
        "arms": list(_arms(found, fit)),
        "pending": [pull.to_dict() | {"age": age} for pull, age in found.pending_pulls()],
        "events": happened,
        "last_events": last,
    }


def _arms(found: ReadModel, fit: Fit | None) -> Iterator[dict[str, Any]]:
    """Yield the estimates and counts of each arm of an experiment as a table row, the best arm first."""
    rows = {} if fit is None else {row["arm"]: row for row in fit.arms}
    if isinstance(found.fit, TideFit):
        raw = OrderedRewards(*found.inputs.rewards_in_order()).raw_means(len(found.fit.names)).tolist()
        parts = zip(found.fit.names, found.fit.counts.tolist(), raw, strict=True)
        rows = {arm: {"n": int(n), "raw_mean": mean if n else None} for arm, n, mean in parts}
    cells = found.inputs.cells
    if found.inputs.has_no_intervals and cells is not None:  # there is no fit, but there are rewards
        counts = sum_by_index(cells.arm, cells.n, len(cells.arms)).tolist()
        rows = {arm: {"n": int(n)} for arm, n in zip(cells.arms, counts, strict=True)}
    arms, pending = found.status.arms, Counter(pull.arm for pull, _ in found.pending_pulls())
    for arm in arms if fit is None else (arm for group in fit.ranking for arm in group):
        row = rows.get(arm, {})
        yield {
            "arm": arm,
            "retired": arm in found.status.retired,
            "mean": row.get("mean"),
            "low": None if fit is None or fit.exact else row["low"],
            "high": None if fit is None or fit.exact else row["high"],
            "raw_mean": row.get("raw_mean"),
            "rewards": row.get("n", 0),
            "pulls": found.asked_by_arm[arms.index(arm)],
            "pending": pending[arm],
        }
