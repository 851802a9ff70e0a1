"""Texts about a recommendation: a full sentence, a headline for a page, and a short status for lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideproof.analysis.words.decision_text import (
    STOP_DIGITS,
    chance_text,
    confidence_text,
    confirmation_text,
    environments_text,
    interval_name,
    lead_text,
    leader_text,
    level_text,
    no_selection_text,
    validity_text,
    winner_text,
)
from tideproof.experiment.reward_kinds import REWARD_KINDS
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES
from tideproof.text import PLAIN, NumberFormat, format_probability, join_names, quote_if_needed

if TYPE_CHECKING:
    from tideproof.experiment.recommendation import Recommendation

_OTHER_REWARDS = join_names((repr(name) for name, kind in REWARD_KINDS.items() if not kind.normal), "or")
COARSE = (
    "a hidden tide cannot be estimated from single rewards that are 0/1, mostly equal or skewed, and so no "
    f"lead is given. Start a new experiment with tide='labels', rewards={_OTHER_REWARDS}, and labels from "
    "time_zone=... or ask(environment=...). To analyze these rewards in time bins, call "
    "tp.fit(run.history(), arm='arm', reward='reward', time='asked_at', missing='drop', adaptive=True)"
)
_HIDDEN = "no labels were given, so the tide is estimated from the rewards alone"
_NAMED = 3  # number of excluded cells that are named


def full_sentence(found: Recommendation) -> str:
    """Return a whole recommendation as text: arm, confidence, margin, interval, probability, remarks.

    The text has several sentences. It begins in lower case and has no full stop at its end, so that it can be
    part of a message.
    """
    hidden = [_HIDDEN] if found.tide == "hidden" and COARSE not in found.remarks else []
    first, *rest = [*_findings(found), *hidden, *_exclusions(found), *found.remarks]
    return ". ".join([first, *(text[0].upper() + text[1:] for text in rest)])


def selection_text(found: Recommendation) -> str:
    """Return the selected arm, or the reason why there is none, as the end of a message."""
    if missing := _missing_arm(found, with_groups=True):
        return f"no arm is selected ({missing})"
    return f"the selected arm is {quote_if_needed(found.arm)}{_confidence_text(found)}"


def shipping_text(shipped: str | None) -> str:
    """Return in words which arm every visitor gets after a stop.

    >>> shipping_text("B"), shipping_text(None)
    ('the arm B is shipped', 'no arm is shipped')
    """
    return "no arm is shipped" if shipped is None else f"the arm {quote_if_needed(shipped)} is shipped"


def headline(
    found: Recommendation, figures: NumberFormat = PLAIN, progress: str = "", state: str = "running"
) -> str:
    """Return the state of an experiment in one sentence, such as "B leads: +0.31 over A".

    `figures` formats the margin. `progress` says how far an experiment without a winner is, and `state` is
    the state of the experiment.
    """
    if missing := _missing_arm(found, with_groups=True):
        return missing[0].upper() + missing[1:]
    text = _winner(found) if found.sure else leader_text(found.arm)
    if found.margin is not None:
        # The stopping rule uses a stronger test, so an interval that contains 0 would seem to contradict it.
        text += f": {_lead(found, figures, with_interval=not found.sure or (found.low or 0.0) > 0.0)}"
    elif not found.sure:
        text = leader_text(found.arm, found.runner_up)
    if found.looks is not None and not found.sure:
        text += f"; {found.looks.text}"
    if progress and not found.sure:
        text += f"; {progress}"
    return text + (f"; {state}" if state in ("paused", "stopped") else "")


def short_status(found: Recommendation) -> str:
    """Return the state of an experiment in a few words, such as "B leads, best with probability 0.982"."""
    if _missing_arm(found):
        return _missing_arm(found)
    if found.sure:
        return _winner(found)
    chance = "" if found.p_best is None else f", {chance_text(found.p_best)}"
    return f"{leader_text(found.arm)}{chance}"


def shortest_status(found: Recommendation, state: str) -> str:
    """Return the selected arm with its probability and the state, such as "B (0.982) paused", for a table."""
    text = _missing_arm(found) or str(found.arm)
    if found.arm is not None and found.sure:
        text += f" (confidence {level_text(found.confidence or 0.0, STOP_DIGITS)})"
    elif found.arm is not None and found.p_best is not None:
        text += f" ({format_probability(found.p_best)})"
    return text if state == "running" else f"{text} {state}"


def _missing_arm(found: Recommendation, with_groups: bool = False) -> str:
    """Return the reason why no arm is selected, or an empty text if an arm is selected."""
    if found.recorded and found.arm is not None:
        return ""
    return no_selection_text(found.recorded, found.groups, with_groups)


def _winner(found: Recommendation) -> str:
    sure = confidence_text(found.confidence or 0.0, digits=STOP_DIGITS)
    return winner_text(found.arm, sure, environments_text(found.about))


def _lead(found: Recommendation, figures: NumberFormat, with_interval: bool) -> str:
    """Return the selected arm's lead over the runner-up as text.

    The words are those of the verdict on a log. A recommendation stores advantages, which are positive for a
    better arm in both directions. The text shows the difference of the rewards, which is negative where low
    rewards are better.
    """
    difference, low, high = found.margin or 0.0, found.low, found.high
    if found.direction == "minimize":
        difference, low, high = -difference, _negated(high), _negated(low)
    confidence = 0.95 if found.looks is None else found.confidence or 0.95
    validity = validity_text(found.anytime, found.looks)
    interval = interval_name(confidence, validity) if with_interval else ""
    rival = quote_if_needed(found.runner_up)
    return lead_text(figures, found.direction, rival, difference, (low, high), interval)


def _negated(x: float | None) -> float | None:
    return None if x is None else -x


def _findings(found: Recommendation) -> list[str]:
    """Return the sentences of a recommendation on the selected arm, its lead and its probability."""
    if missing := _missing_arm(found, with_groups=True):
        return [missing]
    texts = [f"select {quote_if_needed(found.arm)}{_confidence_text(found)}"]
    figures = SCALE_PROPERTIES[found.scale].margin_format
    if found.margin is not None:
        both = found.low is not None and found.high is not None
        texts.append(f"estimated lead: {_lead(found, figures, with_interval=both)}")
    if found.sure and found.low is not None and found.high is not None and found.low <= 0.0:
        texts.append("the stopping rule uses a stronger test than this interval")
    if found.looks is not None and not found.sure:
        texts.append(found.looks.text)
    if found.p_best is not None:
        texts.append(f"the arm is {chance_text(found.p_best, found.prior)}")
    return texts


def _confidence_text(found: Recommendation) -> str:
    if found.confidence is None:
        return ""
    where = environments_text(found.about)
    return f", {confirmation_text(found.confidence, found.sure, found.promise, where)}"


def _exclusions(found: Recommendation) -> list[str]:
    more = f" and {len(found.left_out) - _NAMED:,} more" if len(found.left_out) > _NAMED else ""
    text = f"excluded outlying cells: {', '.join(found.left_out[:_NAMED])}{more}"
    return [text] if found.left_out else []
