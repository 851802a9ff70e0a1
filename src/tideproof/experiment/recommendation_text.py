"""Texts about a recommendation: a full sentence, a headline for a page, and a short status for lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideproof.analysis.words.fit_text import lead_text
from tideproof.experiment.reward_kinds import REWARD_KINDS
from tideproof.stats.best.p_best import PRIOR_NAMES
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES
from tideproof.text import PLAIN, NumberFormat, format_probability, join_groups, join_names

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
    missing = _missing_arm(found)
    if missing:
        return f"no arm is selected ({missing}{_separate_groups(found)})"
    return f"the selected arm is {found.arm}{_confidence_text(found)}"


def headline(
    found: Recommendation, figures: NumberFormat = PLAIN, progress: str = "", state: str = "running"
) -> str:
    """Return the state of an experiment in one sentence, such as "B leads: +0.31 over A".

    `figures` formats the margin. `progress` says how far an experiment without a winner is, and `state` is
    the state of the experiment.
    """
    missing = _missing_arm(found)
    if missing:
        text = f"{missing}{_separate_groups(found)}"
        return text[0].upper() + text[1:]
    rival = f" {found.runner_up}" if found.runner_up is not None else ""
    text = _winner(found) if found.sure else f"{found.arm} leads"
    if found.margin is not None:
        # The stopping rule uses a stronger test, so an interval that contains 0 would seem to contradict it.
        text += f": {_lead(found, figures, with_interval=not found.sure or (found.low or 0.0) > 0.0)}"
    elif not found.sure:
        text += rival
    if progress and not found.sure:
        text += f"; {progress}"
    return text + (f"; {state}" if state in ("paused", "stopped") else "")


def short_status(found: Recommendation) -> str:
    """Return the state of an experiment in a few words, such as "B leads, best with probability 0.982"."""
    if _missing_arm(found):
        return _missing_arm(found)
    if found.sure:
        return _winner(found)
    chance = "" if found.p_best is None else f", best with probability {format_probability(found.p_best)}"
    return f"{found.arm} leads{chance}"


def shortest_status(found: Recommendation, state: str) -> str:
    """Return the selected arm with its probability and the state, such as "B (0.982) paused", for a table."""
    text = _missing_arm(found) or str(found.arm)
    if found.arm is not None and found.sure:
        text += f" (confidence {_confidence_level(found)})"
    elif found.arm is not None and found.p_best is not None:
        text += f" ({format_probability(found.p_best)})"
    return text if state == "running" else f"{text} {state}"


def _missing_arm(found: Recommendation) -> str:
    """Return the reason why no arm is selected, or an empty text if an arm is selected."""
    if not found.recorded:
        return "no rewards yet"
    if found.arm is not None:
        return ""
    return "no arm can be selected" if len(found.groups) == 1 else "not comparable yet"


def _separate_groups(found: Recommendation) -> str:
    """Return the end of a sentence that says which arms have no environment in common.

    It is empty if all arms can be compared.
    """
    if not found.recorded or len(found.groups) == 1:
        return ""
    return f": {join_groups(found.groups)} have no environment in common"


def _winner(found: Recommendation) -> str:
    return f"{found.arm} is best, with {_confidence_level(found)} confidence"


def _confidence_level(found: Recommendation) -> str:
    return f"{100.0 * (found.confidence or 0.0):.10g} %"


def _lead(found: Recommendation, figures: NumberFormat, with_interval: bool) -> str:
    """Return the selected arm's lead over the runner-up as text.

    The words are those of the verdict on a log. A recommendation stores advantages, which are positive for a
    better arm in both directions. The text shows the difference of the rewards, which is negative where low
    rewards are better.
    """
    difference, low, high = found.margin or 0.0, found.low, found.high
    if found.direction == "minimize":
        difference, low, high = -difference, _negated(high), _negated(low)
    always = ", valid at every inspection" if found.anytime else ""
    interval = f"95 % confidence interval{always}" if with_interval else ""
    return lead_text(figures, found.direction, str(found.runner_up), difference, low, high, interval)


def _negated(x: float | None) -> float | None:
    return None if x is None else -x


def _findings(found: Recommendation) -> list[str]:
    """Return the sentences of a recommendation on the selected arm, its lead and its probability."""
    missing = _missing_arm(found)
    if missing:
        return [f"{missing}{_separate_groups(found)}"]
    texts = [f"select {found.arm}{_confidence_text(found)}"]
    figures = SCALE_PROPERTIES[found.scale].margin_format
    if found.margin is not None:
        both = found.low is not None and found.high is not None
        texts.append(f"estimated lead: {_lead(found, figures, with_interval=both)}")
    if found.sure and found.low is not None and found.high is not None and found.low <= 0.0:
        texts.append("the stopping rule uses a stronger test than this interval")
    if found.p_best is not None:
        chance = f"best with probability {format_probability(found.p_best)} ({PRIOR_NAMES[found.prior]})"
        texts.append(f"the arm is {chance}")
    return texts


def _confidence_text(found: Recommendation) -> str:
    if found.confidence is None:
        return ""
    level = _confidence_level(found)
    if found.sure:
        return f", confirmed as the best at confidence level {level} ({found.promise})"
    return f", not yet confirmed as the best at confidence level {level}"


def _exclusions(found: Recommendation) -> list[str]:
    more = f" and {len(found.left_out) - _NAMED:,} more" if len(found.left_out) > _NAMED else ""
    text = f"excluded outlying cells: {', '.join(found.left_out[:_NAMED])}{more}"
    return [text] if found.left_out else []
