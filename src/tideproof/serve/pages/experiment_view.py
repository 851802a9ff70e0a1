"""What the page of one experiment shows, as plain values: worked out anew only when something happened."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis import Fit
from tideproof.analysis.number_formats import of_gaps
from tideproof.analysis.verdict_text import ADAPTIVE
from tideproof.errors import InputError, NotComparable
from tideproof.experiment.events import event_records as e
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.locking import locked
from tideproof.experiment.pull import DEFAULTED, TOLD
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.recommendation_builder import judge
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.experiment.stopping.stop_progress import nearness
from tideproof.experiment.tide_options import allowed_for
from tideproof.experiment.usage_warnings import Facts
from tideproof.report.analysis_report import analyse
from tideproof.report.arms_table import arm_columns, chance
from tideproof.report.event_text import story
from tideproof.report.hidden_tide_report import TimedTold, columns_of, tide_card
from tideproof.report.hidden_tide_report import raw_pick as followed_raw_pick
from tideproof.report.lead_history import raw_pick
from tideproof.report.plots import pictures
from tideproof.report.terminal_tables import Column
from tideproof.serve import serializers
from tideproof.stats.cells import Cells
from tideproof.text import PLAIN, NumberFormat, format_count, join_groups

EVENTS = 30  # of the history
OLDEST = 8  # pulls out that are named
KEPT = 50  # views


class Progress(NamedTuple):
    """How far something has come: in words, and as a share."""

    name: str
    share: float
    said: str


class Views:
    """The views of experiments that were looked at last; safe from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[tuple[str, int], dict[str, Any]]] = OrderedDict()

    def of(self, run: Experiment, name: str) -> dict[str, Any]:
        """Return the view of an experiment as it is now."""
        info = serializers.experiment(run, name)
        moment = info["state"], info["events"]
        with self._lock:
            kept = self._kept.get(name)
        if kept is not None and kept[0] == moment:
            return kept[1]
        found = view(run, name)
        with self._lock:
            self._kept[name] = (found["info"]["state"], found["info"]["events"]), found
            self._kept.move_to_end(name)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found


class Moment(NamedTuple):
    """What is copied of an experiment at one moment, so that all numbers of a page agree.

    Attributes
    ----------
    info : what it is.
    found, fit, limits, known : what it would select, and what that is judged by.
    every : makes the cells of all arms, of retired ones too; None if nothing was told.
    rewards : those told so far, where the tide is followed.
    progress, told : how far it has come, and what its events say.
    """

    info: dict[str, Any]
    found: Recommendation
    fit: Any
    limits: Any
    known: Facts
    every: Callable[[], Cells] | None
    rewards: TimedTold | None
    progress: list[Progress]
    told: dict[str, Any]


@locked
def _moment(run: Experiment, name: str) -> Moment:
    found, fit, limits, known = run._evidence("exchangeable")
    info = serializers.experiment(run, name)
    drawn = known.environments and not run._follows  # a tide that is followed has no cells
    every = run._cells(range(len(run.arms))) if drawn else None
    rewards = _rewards(run) if known.environments and run._follows else None
    return Moment(info, found, fit, limits, known, every, rewards, _progress(run, info), _told_of(run))


def _rewards(run: Experiment) -> TimedTold:
    """Return the told rewards of arms that are played, in the order of their pulls."""
    book = run._state.book
    place = {arm: i for i, arm in enumerate(book.arms[number] for number in book.active)}
    told = [
        (place[pull.arm], reward)
        for pull, reward, status in zip(book.pulls, book.rewards, book.status, strict=True)
        if status in (TOLD, DEFAULTED) and reward is not None and pull.arm in place
    ]
    arm, reward = zip(*told, strict=True) if told else ((), ())
    return TimedTold(np.array(arm, np.int64), np.array(reward, np.float64))


def view(run: Experiment, name: str) -> dict[str, Any]:
    """Return everything of an experiment that somebody who looks wants to know; counts as no look."""
    info, found, judged_by, limits, known, every, rewards, progress, told = _moment(run, name)
    judged = judged_by() if found.arm is not None else None
    if judged is not None:
        found = judge(found, judged, limits)
    remarks = found.remarks + run._watch.remarks(run._state.events, known, found.groups, looking=False)
    fit = _fit(run, every, found.anytime)
    made: dict[str, Any] = {
        "info": info,
        "allows_for": allowed_for(run.policy),
        "sentence": sentence(found, fit, info, progress),
        "standing": "winner" if found.sure else "open" if found.arm else "not_comparable",
        "chance": chance(found.p_best) if found.p_best is not None else "",
        "arm": found.arm,
        "sharper": found.sure and fit is not None and len(fit.candidates) > 1,
        "anytime": found.anytime,
        "progress": progress,
        "warnings": [_capital(remark) for remark in remarks],
        "columns": [],
        "followed": False,
        "cards": [],
        "answers": [],
        "raw": "",
        **told,
    }
    if isinstance(judged, TideFit) and rewards is not None:
        made |= _of_followed(judged, rewards)
    if fit is None:
        return made
    analysis = analyse(fit)
    made["warnings"] += analysis.warnings
    made["columns"] = narrow_first(arm_columns(analysis))
    made["raw"] = raw_sentence(fit, found.arm)
    made["answers"] = analysis.answers + analysis.notes + ([_capital(ADAPTIVE)] if fit.adaptive else [])
    made["cards"] = pictures(analysis)
    return made


def narrow_first(columns: list[Column]) -> list[Column]:
    """Put who can be best before the interval, where a phone shows it."""
    first = columns[:2]
    return first + sorted(columns[2:], key=lambda column: column.header != "can be best")


def _of_followed(fit: TideFit, told: TimedTold) -> dict[str, Any]:
    """Return what is shown of arms and tide where the tide is followed."""
    raw = told.raw_means(len(fit.names))
    card = tide_card(fit, told)
    return {
        "columns": columns_of(fit, raw),
        "raw": said_of_raw(followed_raw_pick(fit, raw), fit.best),
        "cards": [card] if card is not None else [],
        "followed": True,
    }


def sentence(found: Recommendation, fit: Fit | None, info: dict[str, Any], progress: list[Progress]) -> str:
    """Say in one sentence how it stands, such as "B leads A by 0.31 (+0.12 to +0.50), stop rule at 82 %"."""
    if not found.told:
        return "Nothing has been told yet"
    if found.arm is None and len(found.groups) == 1:
        return "No arm can be selected"
    if found.arm is None:
        return f"Arms cannot be compared yet: {join_groups(found.groups)} never ran in the same environment"
    lead = "" if found.margin is None else _lead(found, PLAIN if fit is None else of_gaps(fit))
    rival = f" {found.runner_up}" if found.runner_up is not None else ""
    text = f"{found.arm} leads{rival}{' by ' if lead else ''}{lead}"
    if found.sure:
        text = f"{found.arm} is best, sure at {100.0 * (found.confidence or 0.0):.10g} %"
        text += f": {lead} above{rival}" if lead else ""
    elif progress:
        text += f", {progress[0].name} at {math.floor(100.0 * progress[0].share)} %"
    return text + {"paused": "; paused", "stopped": "; stopped"}.get(info["state"], "")


def in_short(run: Experiment) -> str:
    """Say in a few words how an experiment stands, for a list; counts as no look."""
    found = run._judged()[0]
    if not found.told:
        return "nothing told yet"
    if found.arm is None:
        return "no arm can be selected" if len(found.groups) == 1 else "not comparable yet"
    if found.sure:
        return f"{found.arm} is best, sure at {100.0 * (found.confidence or 0.0):.10g} %"
    return f"{found.arm} leads" + (f", best with probability {chance(found.p_best)}" if found.p_best else "")


def raw_sentence(fit: Fit, arm: str | None) -> str:
    """Say what the raw mean would have picked."""
    return said_of_raw(raw_pick(fit), arm)


def said_of_raw(raw: str, arm: str | None) -> str:
    """Say what the raw mean would have picked where another is selected, or not."""
    if arm is None or raw == arm:
        return f"The raw mean would pick {raw}, too." if arm else f"The raw mean would pick {raw}."
    return f"The raw mean would pick {raw}: it falls for the tide. With the tide taken out {arm} leads."


def _lead(found: Recommendation, figures: NumberFormat) -> str:
    """Return a margin and its interval; where the rule is sharper, an interval beside it would puzzle."""
    low, high = found.low, found.high
    said = figures.format_lead(found.margin or 0.0, low, high)
    if found.sure and (low or 0.0) <= 0.0:
        return said
    ends = figures.format_interval(low, high, "+")
    return f"{said} ({ends})" if ends else said


def _fit(run: Experiment, cells: Callable[[], Cells] | None, anytime: bool) -> Fit | None:
    """Return the fit of everything told, if there is one; its limits hold at all looks where a rule stops."""
    try:
        return None if cells is None else run._fitted(cells(), anytime=anytime)
    except (NotComparable, InputError):
        return None


def _progress(run: Experiment, info: dict[str, Any]) -> list[Progress]:
    found, rule = [], run._rule
    if rule is not None:
        near = nearness(rule, run._state, run.fit)
        said = "about so much of the evidence that it asks for"
        said = "not enough told yet" if near is None else "it holds" if near == 1.0 else said
        found.append(Progress("stop rule", near or 0.0, said))
    if info["budget"]:
        said = f"{info['asked']:,} of {format_count(info['budget'], 'pull')} asked for"
        found.append(Progress("budget", min(1.0, info["asked"] / info["budget"]), said))
    return found


def _told_of(run: Experiment) -> dict[str, Any]:
    """Return what the events say, at one moment."""
    state, now = run._state, run._now()
    book = state.book
    out = [(book.pulls[number], now - book.asked_at[number]) for number in [*book.out][:OLDEST]]
    return {
        "history": story(state, EVENTS)[::-1],
        "noted": [event for event in state.events if isinstance(event, e.Noted)][::-1],
        "lost": book.lost,
        "late": book.late,
        "out": [{"id": pull.id, "arm": pull.arm, "where": pull.environment, "age": age} for pull, age in out],
    }


def _capital(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
