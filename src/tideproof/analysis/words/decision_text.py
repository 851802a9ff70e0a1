"""Phrases on a decision: which arm is best or leads, by how much, and which arms cannot be excluded.

Texts on logs, experiments, segments and metrics take these phrases from here, so that each has one wording.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tideproof.checks import Direction, Prior
from tideproof.stats.best.p_best import PRIOR_NAMES
from tideproof.stats.pairs.pair_tests import FEWEST_EVENTS, FEWEST_RARER_EVENTS
from tideproof.text import (
    PERCENT,
    NumberFormat,
    format_count,
    format_probability,
    join_groups,
    join_labels,
    join_names,
    quote_if_needed,
)

if TYPE_CHECKING:
    from tideproof.analysis.arm_comparisons import About, Doubt

Bounds = tuple[float | None, float | None]  # of a confidence interval; None where unknown
IS_BEST, CANNOT_BE_EXCLUDED, TO_NAME_BEST = "is best", "cannot be excluded", "to name a best arm"
STOP_DIGITS = 10  # a stopping rule may have a confidence level very close to 1
_PERIOD_MEAN = (
    "period-weighted mean (an average of its means in the environments, each weighted by all rewards there)"
)
_CONCLUSIONS = {"unclear": "no clear difference", "not comparable": "cannot be compared"}
_UNKNOWN_CONFIDENCE = {
    "no degrees of freedom": (
        "no degrees of freedom are left to estimate the noise, so the confidence is unknown"
    ),
    "exact": (
        "the fit is exact (arms and environments explain all rewards), so the noise and the confidence are "
        "unknown"
    ),
}

_ALARMS = {
    "unequal differences": "differences between arms vary from environment to environment",
    "moving shift": "the shift changes within environments",
    "wrong shares": "arms did not receive their intended shares of the traffic",
    "single row": "another arm would lead without a single one of the rows",
}


def level_text(confidence: float, digits: int = 6) -> str:
    """Return a confidence level as text, such as "95 %"."""
    return f"{100 * confidence:.{digits}g} %"


def confidence_text(confidence: float, validity: str = "", scope: str = "", digits: int = 6) -> str:
    """Return the confidence level of a statement as text.

    `scope` names the statements for which it holds together, and `validity` the looks.

    >>> confidence_text(0.95, validity_text(True)), confidence_text(0.9, scope="for all segments together")
    ('95 % confidence, valid at every inspection', '90 % confidence for all segments together')
    """
    return f"{level_text(confidence, digits)} confidence{scope and f' {scope}'}{validity and f', {validity}'}"


def interval_name(confidence: float, validity: str = "") -> str:
    """Return the name of a confidence interval, such as "95 % confidence interval"."""
    return f"{level_text(confidence)} confidence interval{validity and f', {validity}'}"


def validity_text(anytime: bool, looks: object | None = None) -> str:
    """Return text that says at which analyses of growing data statements hold; empty for a single one.

    >>> from tideproof.stats.looks.look_plan import Looks
    >>> validity_text(False, Looks(14, look=5))
    'valid at all planned looks'
    """
    if looks is not None:
        return "valid at all planned looks"
    return "valid at every inspection" if anytime else ""


def winner_text(arm: Any, sure: str = "", where: str = "") -> str:
    """Return the phrase that an arm is best, such as "B is best (95 % confidence)".

    >>> winner_text("B", "95 % confidence", "in both segments"), winner_text("B")
    ('B is best in both segments (95 % confidence)', 'B is best')
    """
    return f"{quote_if_needed(arm)} {IS_BEST}{where and f' {where}'}{sure and f' ({sure})'}"


def leader_text(arm: Any, rival: Any = None) -> str:
    """Return the phrase that an arm leads: "B leads", or "B leads A" with a rival."""
    return f"{quote_if_needed(arm)} leads{'' if rival is None else f' {quote_if_needed(rival)}'}"


def candidates_text(arms: Iterable[Any]) -> str:
    """Return the phrase that arms may be the best as well: "C and D cannot be excluded"."""
    return f"{join_labels(arms)} {CANNOT_BE_EXCLUDED}"


def environments_text(about: About, count: int | None = None) -> str:
    """Return the environments that a statement is about, such as "these 14 environments".

    `count` is their number, or None if it is not to be said.

    >>> environments_text("similar", 14), environments_text("these", 3), environments_text("these", 1)
    ('on average over environments like these', 'on average over these 3 environments', 'in this log')
    """
    if about == "similar":
        return "on average over environments like these"
    if count is None:
        return "on average over these environments"
    return "in this log" if count == 1 else f"on average over these {count:,} environments"


def other_environments_text(others: Iterable[Any], more: int | None) -> str:
    """Return the sentence that a winner in these environments may not be the best in others.

    `more` is the number of further environments that would probably tell; None if that is unknown.

    >>> other_environments_text(["C"], 9)
    'On average over other, similar environments, C cannot be excluded yet; 9 more environments may be enough to exclude it (rough estimate)'
    """  # noqa: E501  one sentence
    rest = list(others)
    said = f"On average over other, similar environments, {candidates_text(rest)} yet"
    return said + _more_environments_text(more, f"exclude {'it' if len(rest) == 1 else 'them'}")


def _more_environments_text(more: int | None, purpose: str) -> str:
    """Return the end of a sentence on how many further environments may serve a purpose; empty if unknown."""
    if more is None:
        return ""
    return f"; {format_count(more, 'more environment')} may be enough to {purpose} (rough estimate)"


def decision_text(
    best: Any,
    candidates: Iterable[Any],
    doubt: Doubt | None,
    lead: str = "",
    sure: str = "",
    where: str = "",
    more: int | None = None,
) -> str:
    """Return a decision in words: the winner, or the leader and the reason why it is not sure to be the best.

    `where` are the environments that a winner is about, and `more` the number of further environments that
    would tell whether it is the best in others, too.

    >>> decision_text("B", ["B"], None, "+1 over A", "95 % confidence", "in this log")
    'B is best in this log (95 % confidence): +1 over A'
    >>> decision_text("B", ["B", "C"], "several candidates", "+1 over C", "95 % confidence")
    'B leads: +1 over C, but C cannot be excluded (95 % confidence)'
    """
    by = f": {lead}" if lead else ""
    if doubt is None:
        return f"{winner_text(best, sure, where)}{by}"
    rest = [arm for arm in candidates if arm != best]
    if doubt == "other environments":
        return f"{winner_text(best, sure, where)}{by}. {other_environments_text(rest, more)}"
    if doubt in _ALARMS:
        said = f"{leader_text(best)}{by}, but {_ALARMS[doubt]}, so there is no winner yet"
        return said + _more_environments_text(more, "name one")
    if doubt in _UNKNOWN_CONFIDENCE:
        return f"{leader_text(best)}{by}; {_UNKNOWN_CONFIDENCE[doubt]}"
    return f"{leader_text(best)}{by}, but {candidates_text(rest)}{sure and f' ({sure})'}"


def chance_text(probability: float, prior: Prior | None = None) -> str:
    """Return the probability that an arm is the best, such as "best with probability 0.982"."""
    said = f"best with probability {format_probability(probability)}"
    return said if prior is None else f"{said} ({PRIOR_NAMES[prior]})"


def confirmation_text(confidence: float, sure: bool, promise: str, where: str) -> str:
    """Return whether a stopping rule has confirmed that the arm is the best in the environments `where`.

    `promise` describes the rule.
    """
    said = f"confirmed as the best {where} at confidence level {level_text(confidence, STOP_DIGITS)}"
    return f"{said} ({promise})" if sure else f"not yet {said}"


def lead_text(
    figures: NumberFormat,
    direction: Direction,
    rival: str,
    difference: float,
    bounds: Bounds,
    interval: str,
    lift: str = "",
) -> str:
    """Return the lead of an arm over `rival` as text, with the confidence interval of their difference.

    The difference is that of the mean rewards, or a lift. If low rewards are better, the difference is
    negative, and the text says how far the arm is below its rival. `interval` is the name of the interval;
    without a name, it only determines the number of decimals. `lift` is a further text for the parentheses.

    >>> lead_text(NumberFormat(), "maximize", "C", 1.06, (0.78, 1.35), "90 % interval", "lift +9 %")
    '+1.06 over C (90 % interval: +0.78 to +1.35; lift +9 %)'
    >>> lead_text(NumberFormat(), "minimize", "B", -1.8, (-3.1, -0.6), "95 % confidence interval")
    '1.8 below B (95 % confidence interval: 0.6 to 3.1 below)'
    >>> lead_text(NumberFormat(), "minimize", "B", -1.8, (None, None), "95 % confidence interval")
    '1.8 below B'
    """
    said = _lead_over(figures.format_lead, direction, rival, difference, bounds)
    ends = _lead_bounds(figures, direction, bounds) if interval else ""
    return said + _parentheses(f"{interval}: {ends}" if ends else "", lift)


def short_lead_text(
    figures: NumberFormat, direction: Direction, rival: str, difference: float, bounds: Bounds
) -> str:
    """Return the lead of an arm over `rival` as text for a list, with as many decimals as its interval has.

    >>> short_lead_text(NumberFormat(), "maximize", "B", 1.06, (0.78, 1.35))
    '+1.06 over B (+0.78 to +1.35)'
    """
    said = _lead_over(figures.format_estimate, direction, rival, difference, bounds)
    return said + _parentheses(_lead_bounds(figures, direction, bounds))


def runner_up_text(arm: Any) -> str:
    """Return the name of an arm that is second best, such as "A, the runner-up"."""
    return f"{quote_if_needed(arm)}, the runner-up"


def unbounded_lead_text(rival: str, because: str, interval: str, ends: str, in_odds: bool) -> str:
    """Return an infinite lead over `rival` as text, with its reason and the `ends` of the named interval."""
    said = f"unbounded lead{' in odds' if in_odds else ''} over {rival}{because and f', because {because}'}"
    return said + _parentheses(ends and f"{interval}: {ends}")


def _lead_over(
    format_number: Callable[..., str], direction: Direction, rival: str, difference: float, bounds: Bounds
) -> str:
    if direction == "maximize":
        return f"{format_number(difference, *bounds, '+')} over {rival}"
    return f"{format_number(-difference, *bounds)} below {rival}"


def _lead_bounds(figures: NumberFormat, direction: Direction, bounds: Bounds) -> str:
    """Return the interval of a lead as text: with signs, or with words if low rewards are better.

    >>> _lead_bounds(PERCENT, "minimize", (-0.87, 2.06)), _lead_bounds(NumberFormat(), "minimize", (-3, None))
    ('87 % below to 206 % above', '-3 or more')
    """
    low, high = bounds
    if direction == "maximize" or low is None or high is None:
        return figures.format_interval(low, high, "+")
    if high <= 0.0:
        return f"{figures.format_interval(-high, -low)} below"
    if low >= 0.0:
        return f"{figures.format_interval(low, high)} above"
    decimals = figures.interval_decimals(low, high)
    if decimals is None or math.isinf(low) or math.isinf(high):
        return figures.format_interval(low, high, "+")
    return f"{figures.format_number(-low, decimals)} below to {figures.format_number(high, decimals)} above"


def _parentheses(*parts: str) -> str:
    inside = "; ".join(filter(None, parts))
    return f" ({inside})" if inside else ""


def groups_text(groups: Iterable[Iterable[Any]], bridge: Iterable[Any] = ()) -> str:
    """Return the phrase that groups of arms cannot be compared; rewards of `bridge` would connect them.

    >>> groups_text(["AB", "C"])
    '(A, B) and (C) have no environment in common'
    """
    said = f"{join_groups(groups)} have no environment in common"
    named = join_labels(bridge)
    return f"{said}; to compare them, collect rewards of {named} in the same environment" if named else said


def no_best_text(groups: Iterable[Iterable[Any]], bridge: Iterable[Any] = ()) -> str:
    """Return the phrase that no arm of a log is the best, because groups of arms cannot be compared."""
    return f"no best arm: {groups_text(groups, bridge)}"


def no_selection_text(recorded: int, groups: Sequence[Sequence[Any]], with_groups: bool = False) -> str:
    """Return the reason why an experiment with `recorded` rewards selects no arm.

    >>> no_selection_text(0, ["AB"]), no_selection_text(3, ["A", "B"], with_groups=True)
    ('no rewards yet', 'not comparable yet: (A) and (B) have no environment in common')
    """
    if not recorded:
        return "no rewards yet"
    if len(groups) == 1:
        return "no arm can be selected"
    return f"not comparable yet{f': {groups_text(groups)}' if with_groups else ''}"


def too_few_equal_text(value: int, arms: Sequence[Any], counts: Sequence[tuple[int, int]]) -> str:
    """Return the phrase that two arms have too few rewards equal to `value`, which is 0 or 1, to name a best.

    `counts` has for each of them the number of these rewards and of all rewards.
    """
    one, other = map(quote_if_needed, arms)
    rewards = format_count(sum(count for count, _ in counts), "reward")
    each = " and ".join(f"{count:,} of {total:,}" for count, total in counts)
    return (
        f"too few rewards equal to {value} {TO_NAME_BEST}: {one} and {other} together have {rewards} "
        f"equal to {value} ({each}); at least {FEWEST_EVENTS} are needed"
    )


def too_few_nonzero_text(
    arms: Sequence[Any], both: float, rare: Any, rarer: float, can_winsorize: bool
) -> str:
    """Return the phrase that two arms have too few nonzero rewards; `both` is how many both have.

    If `both` is enough, `rare` is the arm with too little traffic, whose expected share of it is `rarer`.
    `can_winsorize` says whether the option `winsorize` is possible and not in use.
    """
    said, (one, other) = f"too few nonzero rewards {TO_NAME_BEST}", map(quote_if_needed, arms)
    if both < FEWEST_EVENTS:
        return (
            f"{said}: the effective number of nonzero rewards of {one} and {other} together is {both:.2g}, "
            f"because few are above 0 or a few large ones dominate; at least {FEWEST_EVENTS} are needed; "
            f"collect more rewards{winsorizing_text(can_winsorize)}"
        )
    return (
        f"{said}: {quote_if_needed(rare)} has too little traffic: if {one} and {other} were equally good, "
        f"its expected share of their effective number of nonzero rewards ({both:.2g}) would be {rarer:.2g}; "
        f"at least {FEWEST_RARER_EVENTS} are needed; assign more pulls to {quote_if_needed(rare)}"
    )


def winsorizing_text(possible: bool) -> str:
    """Return the end of an advice: to winsorize rewards instead, if that is possible and not in use."""
    return ", or try winsorize=0.999 (--winsorize 99.9%)" if possible else ""


def raw_mean_text(raw: Any, best: Any, period: Any = None) -> str:
    """Return the sentence on which arm has the best raw mean and, if known, the best period-weighted mean.

    It says "also" if this is the arm that is best after the shifts are removed. The period-weighted mean is
    left out if it agrees with both.

    >>> raw_mean_text("B", "C"), raw_mean_text("B", "B", "B")
    ('B has the best raw mean.', 'B also has the best raw mean.')
    """
    said = f"{quote_if_needed(raw)} {'also ' if raw == best else ''}has the best raw mean"
    if period is None or period == raw == best:
        return f"{said}."
    if period == raw:
        return f"{said} and the best {_PERIOD_MEAN}."
    return f"{said}. {quote_if_needed(period)} has the best {_PERIOD_MEAN}."


def raw_mean_comparison(raw: Any, best: Any) -> str:
    """Return sentences that compare the leading arm, if there is one, with the arm of the best raw mean."""
    differs = best is not None and raw != best
    after = f" After the shifts are removed, {leader_text(best)}." if differs else ""
    return raw_mean_text(raw, best) + after


def comparison_text(
    figures: NumberFormat, conclusion: str, estimate: float | None, bounds: Bounds, lift: str = ""
) -> str:
    """Return the comparison of an arm with the control as text: estimate, interval, lift, conclusion.

    >>> comparison_text(NumberFormat(), "unclear", 0.3, (-0.1, 0.7), "lift +3 %")
    '+0.30 (-0.10 to +0.70; lift +3 %), no clear difference'
    """
    said = _CONCLUSIONS.get(conclusion, conclusion)
    if estimate is None:
        return said
    inside = _parentheses(figures.format_interval(*bounds, "+"), lift)
    return f"{figures.format_estimate(estimate, *bounds, '+')}{inside}, {said}"


def lift_text(lift: float, bounds: Bounds, name: str = "lift") -> str:
    """Return a relative change of a mean as text, such as "lift +9 %"."""
    return f"{name} {PERCENT.format_estimate(lift, *bounds, '+')}"


def metric_text(
    metric: str,
    conclusion: str,
    estimate: float | None,
    bounds: Bounds,
    figures: NumberFormat,
    confidence: float,
) -> str:
    """Return the comparison of an arm with the control or the best other arm, in one metric, as text.

    >>> metric_text("clicks", "better", 0.02, (0.01, 0.03), PERCENT, 0.95)
    'better in clicks (+2.0 %; 95 % confidence interval: +1.0 % to +3.0 %)'
    """
    said = f"{_CONCLUSIONS.get(conclusion, conclusion)} in {metric}"
    if estimate is None:
        return said
    ends = figures.format_interval(*bounds, "+")
    number = figures.format_estimate(estimate, *bounds, "+")
    return said + _parentheses(number, ends and f"{interval_name(confidence)}: {ends}")


def control_text(control: Any, comparisons: Mapping[Any, str], more: int) -> str:
    """Return a sentence on how arms compare with the control; `more` is the number of arms it leaves out."""
    said = [f"{quote_if_needed(arm)} {text}" for arm, text in comparisons.items()]
    said += [f"{more:,} more in the table"] if more else []
    return f"Against {_rival(control)}: {'; '.join(said)}."


def guardrails_text(arm: Any, control: Any, comparisons: Iterable[str]) -> str:
    """Return how the best arm of the deciding metric compares with the control in the guardrail metrics."""
    return f"{quote_if_needed(arm)} compared with {_rival(control)}: {'; '.join(comparisons)}"


def leading_control_text(control: Any) -> str:
    """Return the reason why guardrails are not compared: the control itself leads."""
    return f"guardrails are not compared, because the control {leader_text(control)}"


def harm_text(arm: Any, control: Any, metrics: Sequence[str]) -> str:
    """Return a sentence that says in which guardrail metrics the best arm is worse than the control."""
    than = _rival(control) + ("" if control is None else ",")
    guardrails = f"guardrail{'s' if len(metrics) > 1 else ''} {join_names(map(repr, metrics))}"
    return f"{quote_if_needed(arm)} is worse than {than} in the {guardrails}."


def _rival(control: Any) -> str:
    return "the best other arm" if control is None else f"{quote_if_needed(control)}, the control"


def segments_text(winners: Mapping[Any, Sequence[Any]], count: int, sure: str) -> str:
    """Return which arm wins in which of `count` segments, as the beginning of a sentence.

    >>> segments_text({"B": ["n", "s"]}, 3, "95 % confidence")
    'winners (95 % confidence): B in n and s; no winner in the other segments'
    """
    said = "; ".join(f"{quote_if_needed(arm)} in {join_labels(where)}" for arm, where in winners.items())
    if len(winners) > 1:
        return f"the winner differs between segments ({sure}): {said}"
    if not winners:
        return f"no winner in any segment ({sure})"
    [(arm, where)] = winners.items()
    if len(where) == count:
        every = {1: "in the only segment", 2: "in both segments"}.get(count, f"in all {count:,} segments")
        return winner_text(arm, sure, every)
    return f"winners ({sure}): {said}; no winner in the other segments"
