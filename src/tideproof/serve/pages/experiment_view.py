"""Data for the page of one experiment, cached until the experiment has new events."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis import Fit
from tideproof.analysis.number_formats import contrast_format
from tideproof.analysis.words.fit_report import describe_fit
from tideproof.analysis.words.verdict_text import ADAPTIVE
from tideproof.errors import InputError, NotComparable
from tideproof.experiment.events import event_records as e
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.locking import locked
from tideproof.experiment.pull import PullStatus
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.recommendation_builder import add_evidence
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.experiment.stopping.stop_progress import stop_progress
from tideproof.experiment.tide_options import allowed_for
from tideproof.experiment.usage_warnings import UsageFacts
from tideproof.report.arms_table import arm_columns, format_chance
from tideproof.report.event_text import describe_events
from tideproof.report.hidden_tide_report import OrderedRewards, tide_card, tide_columns
from tideproof.report.hidden_tide_report import best_raw_arm as followed_raw_pick
from tideproof.report.lead_history import best_raw_arm
from tideproof.report.plots import fit_cards
from tideproof.report.terminal_tables import Column
from tideproof.serve import serializers
from tideproof.stats.cells import Cells
from tideproof.text import PLAIN, NumberFormat, format_count, join_groups

HISTORY_EVENTS = 30  # events that the history shows
LISTED_PULLS = 8  # pending pulls that are listed
MAX_VIEWS = 50  # views that are cached


class Progress(NamedTuple):
    """Progress towards the end of an experiment, as a share and in words."""

    name: str
    share: float
    said: str


class ViewCache:
    """Cache of the views of recently viewed experiments; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: OrderedDict[str, tuple[tuple[str, int], dict[str, Any]]] = OrderedDict()

    def get(self, run: Experiment, name: str) -> dict[str, Any]:
        """Return the current view of an experiment."""
        info = serializers.experiment(run, name)
        moment = info["state"], info["events"]
        with self._lock:
            cached = self._views.get(name)
        if cached is not None and cached[0] == moment:
            return cached[1]
        found = view(run, name)
        with self._lock:
            self._views[name] = (found["info"]["state"], found["info"]["events"]), found
            self._views.move_to_end(name)
            while len(self._views) > MAX_VIEWS:
                self._views.popitem(last=False)
        return found


class ViewInputs(NamedTuple):
    """Values of an experiment that are read at one point in time, so that all numbers of a page agree.

    Attributes
    ----------
    info : description of the experiment.
    found, fit, limits, known : the recommendation, and the evidence that it is judged by.
    every : function that returns the cells of all arms, including retired ones; None if there are no rewards.
    rewards : the recorded rewards in order of time, if the tide is hidden.
    progress, told : progress towards the end, and what the page shows of the events.
    """

    info: dict[str, Any]
    found: Recommendation
    fit: Any
    limits: Any
    known: UsageFacts
    every: Callable[[], Cells] | None
    rewards: OrderedRewards | None
    progress: list[Progress]
    told: dict[str, Any]


@locked
def _read_inputs(run: Experiment, name: str) -> ViewInputs:
    """Read all values of an experiment that its page needs."""
    found, fit, limits, known = run.internals.evidence("exchangeable")
    info = serializers.experiment(run, name)
    drawn = known.environments and not run.internals.has_hidden_tide  # with a hidden tide, there are no cells
    every = run.internals.copy_cells(range(len(run.arms))) if drawn else None
    rewards = _hidden_tide_rewards(run) if known.environments and run.internals.has_hidden_tide else None
    return ViewInputs(
        info, found, fit, limits, known, every, rewards, _progress(run, info), _event_parts(run)
    )


def _hidden_tide_rewards(run: Experiment) -> OrderedRewards:
    """Return the recorded rewards of active arms, in the order of their pulls."""
    book = run.internals.state.book
    index = {arm: i for i, arm in enumerate(book.arms[number] for number in book.active)}
    told = [
        (index[pull.arm], reward)
        for pull, reward, status in zip(book.pulls, book.rewards, book.status, strict=True)
        if status in (PullStatus.TOLD, PullStatus.DEFAULTED) and reward is not None and pull.arm in index
    ]
    arm, reward = zip(*told, strict=True) if told else ((), ())
    return OrderedRewards(np.array(arm, np.int64), np.array(reward, np.float64))


def view(run: Experiment, name: str) -> dict[str, Any]:
    """Return the values that the page of an experiment shows; does not count as an interim look."""
    info, found, judged_by, limits, known, every, rewards, progress, told = _read_inputs(run, name)
    judged = judged_by() if found.arm is not None else None
    if judged is not None:
        found = add_evidence(found, judged, limits)
    remarks = found.remarks + run.internals.usage_monitor.remarks(
        run.internals.state.events, known, found.groups, looking=False
    )
    fit = _fit(run, every, found.anytime)
    parts: dict[str, Any] = {
        "info": info,
        "allows_for": allowed_for(run.policy),
        "sentence": sentence(found, fit, info, progress),
        "standing": "winner" if found.sure else "open" if found.arm else "not_comparable",
        "chance": format_chance(found.p_best) if found.p_best is not None else "",
        "arm": found.arm,
        "sharper": found.sure and fit is not None and len(fit.candidates) > 1,
        "anytime": found.anytime,
        "progress": progress,
        "warnings": [_as_sentence(remark) for remark in remarks],
        "columns": [],
        "followed": False,
        "cards": [],
        "answers": [],
        "raw": "",
        **told,
    }
    if isinstance(judged, TideFit) and rewards is not None:
        parts |= _hidden_tide_parts(judged, rewards)
    if fit is None:
        return parts
    analysis = describe_fit(fit)
    parts["warnings"] += analysis.warnings
    parts["columns"] = narrow_first(arm_columns(analysis))
    parts["raw"] = raw_sentence(fit, found.arm)
    parts["answers"] = analysis.answers + analysis.notes + ([_as_sentence(ADAPTIVE)] if fit.adaptive else [])
    parts["cards"] = fit_cards(analysis)
    return parts


def narrow_first(columns: list[Column]) -> list[Column]:
    """Move the column "can be best" to the front, where it is visible on a narrow screen."""
    first = columns[:2]
    return first + sorted(columns[2:], key=lambda column: column.header != "can be best")


def _hidden_tide_parts(fit: TideFit, told: OrderedRewards) -> dict[str, Any]:
    """Return the table and pictures for an experiment with a hidden tide."""
    raw = told.raw_means(len(fit.names))
    card = tide_card(fit, told)
    return {
        "columns": tide_columns(fit, raw),
        "raw": compare_with_raw(followed_raw_pick(fit, raw), fit.best),
        "cards": [card] if card is not None else [],
        "followed": True,
    }


def sentence(found: Recommendation, fit: Fit | None, info: dict[str, Any], progress: list[Progress]) -> str:
    """Return the state of an experiment in one sentence, such as "B leads A by 0.31 (+0.12 to +0.50)"."""
    if not found.told:
        return "No rewards yet"
    if found.arm is None and len(found.groups) == 1:
        return "No arm can be selected"
    if found.arm is None:
        return f"Arms cannot be compared yet: {join_groups(found.groups)} have no environment in common"
    lead = "" if found.margin is None else _lead(found, PLAIN if fit is None else contrast_format(fit))
    rival = f" {found.runner_up}" if found.runner_up is not None else ""
    text = f"{found.arm} leads{rival}{' by ' if lead else ''}{lead}"
    if found.sure:
        text = f"{found.arm} is best, with {100.0 * (found.confidence or 0.0):.10g} % confidence"
        text += f": {lead} above{rival}" if lead else ""
    elif progress:
        text += f", {progress[0].name} at {math.floor(100.0 * progress[0].share)} %"
    return text + {"paused": "; paused", "stopped": "; stopped"}.get(info["state"], "")


def short_status(run: Experiment) -> str:
    """Return the state of an experiment in a few words, for a list; does not count as an interim look."""
    found = run.internals.recommend()[0]
    if not found.told:
        return "no rewards yet"
    if found.arm is None:
        return "no arm can be selected" if len(found.groups) == 1 else "not comparable yet"
    if found.sure:
        return f"{found.arm} is best, with {100.0 * (found.confidence or 0.0):.10g} % confidence"
    return f"{found.arm} leads" + (
        f", best with probability {format_chance(found.p_best)}" if found.p_best else ""
    )


def raw_sentence(fit: Fit, arm: str | None) -> str:
    """Return a sentence about the arm with the best raw mean."""
    return compare_with_raw(best_raw_arm(fit), arm)


def compare_with_raw(raw: str, arm: str | None) -> str:
    """Return a sentence that compares the arm with the best raw mean and the selected arm."""
    if arm is None or raw == arm:
        return f"{raw} has the best raw mean, too." if arm else f"{raw} has the best raw mean."
    return f"{raw} has the best raw mean, but only because of the tide. With the tide taken out, {arm} leads."


def _lead(found: Recommendation, figures: NumberFormat) -> str:
    """Return the margin and its confidence interval as text.

    After a stop, an interval that contains 0 is omitted. The stopping rule uses a stronger test, so the
    interval would seem to contradict it.
    """
    low, high = found.low, found.high
    said = figures.format_lead(found.margin or 0.0, low, high)
    if found.sure and (low or 0.0) <= 0.0:
        return said
    ends = figures.format_interval(low, high, "+")
    return f"{said} ({ends})" if ends else said


def _fit(run: Experiment, cells: Callable[[], Cells] | None, anytime: bool) -> Fit | None:
    """Return the fit of all rewards, or None; its intervals are anytime-valid if the rule requires it."""
    try:
        return None if cells is None else run.internals.fit_cells(cells(), anytime=anytime)
    except (NotComparable, InputError):
        return None


def _progress(run: Experiment, info: dict[str, Any]) -> list[Progress]:
    """Return the progress of the stopping rule and of the budget."""
    found, rule = [], run.internals.rule
    if rule is not None:
        near = stop_progress(rule, run.internals.state, run.fit)
        said = "approximate share of the evidence that the stopping rule requires"
        said = "not enough rewards yet" if near is None else "satisfied" if near == 1.0 else said
        found.append(Progress("stopping rule", near or 0.0, said))
    if info["budget"]:
        said = f"{info['asked']:,} of {format_count(info['budget'], 'pull')} assigned"
        found.append(Progress("budget", min(1.0, info["asked"] / info["budget"]), said))
    return found


def _event_parts(run: Experiment) -> dict[str, Any]:
    """Return the parts of the event log and of the pending pulls that the page shows."""
    state, now = run.internals.state, run.internals.now()
    book = state.book
    out = [(book.pulls[number], now - book.asked_at[number]) for number in [*book.pending][:LISTED_PULLS]]
    return {
        "history": describe_events(state, HISTORY_EVENTS)[::-1],
        "noted": [event for event in state.events if isinstance(event, e.Noted)][::-1],
        "lost": book.lost,
        "late": book.late,
        "out": [{"id": pull.id, "arm": pull.arm, "where": pull.environment, "age": age} for pull, age in out],
    }


def _as_sentence(text: str) -> str:
    """Return a text as a sentence, with a capital letter and a full stop."""
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
