"""Data for the web page of one experiment, cached until the experiment has new events."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.analysis.words.decision_text import raw_mean_comparison
from tideproof.analysis.words.fit_text import ADAPTIVE
from tideproof.experiment.events import event_records as e
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.locking import locked
from tideproof.experiment.look_progress import LookProgress
from tideproof.experiment.options.tide_options import allowed_for
from tideproof.experiment.read_model import ExperimentStatus, ReadModel
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.experiment.stopping.stop_progress import StopProgress, read_stop_progress
from tideproof.report.event_text import describe_events
from tideproof.report.experiment_report import decision_sentences, experiment_verdict
from tideproof.report.hidden_tide_report import TIDE_LEGEND, OrderedRewards, tide_card, tide_columns
from tideproof.report.hidden_tide_report import best_raw_arm as followed_raw_pick
from tideproof.report.lead_history import best_raw_arm
from tideproof.report.plots import fit_cards
from tideproof.report.report_tables import arm_columns, format_chance
from tideproof.report.table_layout import Column
from tideproof.serve import serializers
from tideproof.serve.pages.option_labels import name_by_methods
from tideproof.serve.pages.page_vocabulary import (
    cards_with_variants,
    columns_with_variants,
    with_variants,
)
from tideproof.text import as_sentence, format_count

HISTORY_EVENTS = 30  # events that the history shows
LISTED_PULLS = 8  # pending pulls that are listed
ARM_EVENTS = ("Created", "ArmAdded", "ArmRetired")  # kinds whose descriptions contain the word "arm"
MAX_VIEWS = 50  # maximum number of experiments whose page data are cached


class Progress(NamedTuple):
    """Progress of an experiment towards its end, as a fraction and in words."""

    name: str
    share: float
    said: str

    def text(self) -> str:
        """Return the progress of an experiment in a few words, such as "budget at 66 %"."""
        return f"{self.name} at {math.floor(100.0 * self.share)} %"


class ViewCache:
    """Cache of the page data of recently viewed experiments; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def get(self, run: Experiment, name: str) -> dict[str, Any]:
        """Return the current data for the page of an experiment."""
        moment = _moment(run.internals.status())
        with self._lock:
            cached = self._views.get(name)
        if cached is not None and cached["moment"] == moment:
            return cached
        found = view(run, name)
        with self._lock:
            self._views[name] = found
            self._views.move_to_end(name)
            while len(self._views) > MAX_VIEWS:
                self._views.popitem(last=False)
        return found


def _moment(status: ExperimentStatus) -> tuple[str, str, int]:
    """Return a key of the experiment's state, by which a web page knows if its data are outdated."""
    return status.created.session, status.state, status.events


class ViewInputs(NamedTuple):
    """Data of an experiment for its web page, all read at one point in time.

    Attributes
    ----------
    found : the experiment at that point in time.
    stopping : progress towards the stopping rule; None without one.
    history, noted : descriptions of the last events, and all notes, the newest first.
    """

    found: ReadModel
    stopping: StopProgress | None
    history: list[dict[str, Any]]
    noted: list[e.Noted]


@locked
def _read_inputs(run: Experiment) -> ViewInputs:
    """Read the data of an experiment that its web page needs."""
    found, rule, state = run.internals.read(), run.internals.rule, run.internals.state
    stopping = None if rule is None else read_stop_progress(rule, state)
    noted = [event for event in state.events if isinstance(event, e.Noted)]
    return ViewInputs(found, stopping, describe_events(state, HISTORY_EVENTS)[::-1], noted[::-1])


def view(run: Experiment, name: str) -> dict[str, Any]:
    """Return the data for the web page of an experiment, which calls the arms "variants".

    This does not count as an interim analysis.
    """
    parts, fit = _collect_parts(run, name)
    names = [*parts["info"]["arms"], *(fit.cells.environments if isinstance(fit, Fit) else ())]
    for each in ("sentence", "shipping", "allows_for"):
        parts[each] = with_variants(parts[each], names)
    for each in ("warnings", "answers"):
        parts[each] = [with_variants(text, names) for text in parts[each]]
    parts["columns"] = columns_with_variants(parts["columns"], names)
    parts["cards"] = cards_with_variants(parts["cards"], names)
    parts["history"] = [
        event | {"said": with_variants(event["said"], names)} if event["kind"] in ARM_EVENTS else event
        for event in parts["history"]
    ]
    return parts


def _collect_parts(run: Experiment, name: str) -> tuple[dict[str, Any], Fit | TideFit | None]:
    """Return the data for the web page of an experiment, and the fit of its rewards."""
    model, stopping, history, noted = _read_inputs(run)
    found, fit, status = model.recommendation, model.fit, model.status
    progress = _progress(status, stopping, fit, found.looks)
    said = progress[0].text() if progress and found.looks is None else ""
    verdict = experiment_verdict(model, said)
    shipping, stopped = decision_sentences(status)
    parts: dict[str, Any] = {
        "moment": _moment(status),
        "info": serializers.experiment(status, name),
        "allows_for": allowed_for(model.inputs.spec),
        "sentence": verdict.sentence,
        "standing": verdict.standing,
        "shipping": shipping,
        "stopped": stopped,
        "chance": format_chance(found.p_best) if found.p_best is not None else "",
        "arm": found.arm,
        "sharper": found.sure and isinstance(fit, Fit) and len(fit.candidates) > 1,
        "anytime": found.anytime,
        "progress": progress,
        "warnings": [as_sentence(remark) for remark in model.warnings],
        "columns": [],
        "tide_legend": "",
        "cards": [],
        "answers": [],
        "raw": "",
        "raw_differs": False,
        "history": history,
        "noted": noted,
        "lost": status.lost,
        "late": status.late,
        "pending": [
            {"id": pull.id, "arm": pull.arm, "where": pull.environment, "age": age}
            for pull, age in model.pending_pulls(LISTED_PULLS)
        ],
    }
    if isinstance(fit, TideFit) and found.arm is not None:
        parts |= _hidden_tide_parts(fit, OrderedRewards(*model.inputs.rewards_in_order()))
    if not isinstance(fit, Fit):
        return parts, fit
    analysis = describe_fit(fit)
    parts["warnings"] += [name_by_methods(text) for text in analysis.warnings]
    parts["columns"] = narrow_first(arm_columns(analysis))
    parts |= compare_with_raw(best_raw_arm(fit), found.arm)
    answers = [name_by_methods(text) for text in analysis.answers + analysis.notes]
    parts["answers"] = answers + ([as_sentence(ADAPTIVE)] if fit.adaptive else [])
    parts["cards"] = fit_cards(analysis)
    return parts, fit


def narrow_first(columns: list[Column]) -> list[Column]:
    """Move the table column "can be best" to the front, where it is visible on a narrow screen."""
    first = columns[:2]
    return first + sorted(columns[2:], key=lambda column: not column.header.startswith("can be best"))


def _hidden_tide_parts(fit: TideFit, told: OrderedRewards) -> dict[str, Any]:
    """Return the table of arms and a chart of the shifts, both estimated without environment names."""
    raw = told.raw_means(len(fit.names))
    card = tide_card(fit, told)
    return {
        "columns": tide_columns(fit, raw),
        "cards": [card] if card is not None else [],
        "tide_legend": with_variants(TIDE_LEGEND),
    } | compare_with_raw(followed_raw_pick(fit, raw), fit.best)


def compare_with_raw(raw: str, arm: str | None) -> dict[str, Any]:
    """Return a sentence that compares the selected arm with the arm that has the best raw mean.

    Also return whether the two arms differ.
    """
    return {"raw": raw_mean_comparison(raw, arm), "raw_differs": arm is not None and raw != arm}


def format_pulls_used(used: int, budget: int | None, lost: int) -> str:
    """Return in words how many pulls an experiment has used.

    The text also says what the budget is, and how many pulls were cancelled or expired.

    >>> format_pulls_used(251, 400, 1), format_pulls_used(1, None, 0)
    ('251 of 400 pulls used (1 cancelled or expired)', '1 pull')
    """
    said = f"{used:,} of {format_count(budget, 'pull')} used" if budget else format_count(used, "pull")
    return f"{said} ({lost:,} cancelled or expired)" if lost else said


def _progress(
    status: ExperimentStatus, stopping: StopProgress | None, fit: Any, looks: LookProgress | None
) -> list[Progress]:
    """Return how close an experiment is to satisfying its stopping rule and to using up its budget."""
    found = []
    if looks is not None:
        share = min(1.0, looks.made[-1] / looks.planned) if looks.made else 0.0
        found.append(Progress("planned looks", share, looks.text))
    elif stopping is not None:
        near = stopping.share(fit)
        said = "share of the required evidence that has been collected (approximate)"
        said = "not enough rewards yet" if near is None else "satisfied" if near == 1.0 else said
        found.append(Progress("stopping rule", near or 0.0, said))
    if status.budget:
        said = format_pulls_used(status.asked, status.budget, status.lost)
        found.append(Progress("budget", min(1.0, status.asked / status.budget), said))
    return found
