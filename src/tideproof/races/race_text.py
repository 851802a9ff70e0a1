"""Sentences that describe the result of a race of commands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tideproof.races.race_options import CLOCK_NAMES
from tideproof.text import join_names

if TYPE_CHECKING:
    from tideproof.races.race_comparison import RaceComparison
    from tideproof.races.race_result import RaceResult

_LARGEST = 1e4  # times the reference; larger bounds say nothing
_FACTOR = 2.0  # from here on, "3.1 times as long" instead of "210 %"

_ENDS = {
    "max_time": "the time is up (--max-time)",
    "max_rounds": "the last round is over (--max-rounds)",
    "interrupted": "it was interrupted",
    "failed": "a command failed",
    "decided": "it is decided",
}


def format_percent(share: float, decimals: int = 1) -> str:
    """Return the absolute value of a relative difference as a percentage.

    >>> format_percent(-0.0123), format_percent(float("inf"))
    ('1.2 %', 'any amount')
    """
    return "any amount" if math.isinf(share) else f"{abs(100.0 * share):,.{decimals}f} %"


def _decimals(each: RaceComparison) -> int:
    """Return how many decimals to show for the difference of two commands, by the width of its interval."""
    width = 100.0 * (each.high - each.low)
    return 1 if not math.isfinite(width) or width >= 0.5 else 2 if width >= 0.05 else 3


def interval_text(each: RaceComparison) -> str:
    """Return the interval of a command's relative time difference from the reference as text."""
    decimals = _decimals(each)
    low = "no lower bound" if each.low <= -1.0 else f"{100.0 * each.low:+,.{decimals}f}"
    no_upper = each.high > _LARGEST
    high = "no upper bound" if no_upper else f"{100.0 * each.high:+,.{decimals}f} %"
    return f"{low} to {high}"


def difference_text(each: RaceComparison) -> str:
    """Return how much faster or slower a command is, such as "1.8 % faster (1.2 to 2.4 %)".

    Faster by 10 % means that it takes 10 % less time. From a factor of 2 on, the factor is given instead.
    """
    word = "slower" if each.estimate > 0.0 else "faster"
    ratio = 1.0 + each.estimate
    if not 1.0 / _FACTOR < ratio < _FACTOR:
        up = ratio >= _FACTOR
        size, ends = (ratio, (1.0 + each.low, 1.0 + each.high)) if up else (1.0 / ratio, _inverse(each))
        shown = " to ".join(f"{end:.3g}" for end in ends if math.isfinite(end))
        return f"{size:.3g} times as {'slow' if up else 'fast'} ({shown})"
    decimals = _decimals(each)
    bounds = interval_text(each)
    if each.low > 0.0 or each.high < 0.0:
        nearer, farther = sorted((each.low, each.high), key=abs)
        bounds = f"{abs(100.0 * nearer):,.{decimals}f} to {format_percent(farther, decimals)}"
    return f"{format_percent(each.estimate, decimals)} {word} ({bounds})"


def _inverse(each: RaceComparison) -> tuple[float, float]:
    """Return confidence bounds of the factor by which a command is faster than the reference."""
    return 1.0 / (1.0 + each.high), 1.0 / (1.0 + each.low) if each.low > -1.0 else math.inf


def comparison_text(each: RaceComparison, within: float) -> str:
    """Return a clause that says whether one command is faster or slower than the reference."""
    if each.slower or each.faster:
        return f"{each.command} is {_compared(each)}"
    if each.same:
        limit = _limit(within)
        return f"{each.command} and {each.reference} are the same within {limit} ({interval_text(each)})"
    return f"{each.command} and {each.reference} cannot be told apart yet ({interval_text(each)})"


def _limit(share: float) -> str:
    """Return a limit given by the user as a percentage, without needless decimals.

    >>> _limit(0.01), _limit(0.005)
    ('1 %', '0.5 %')
    """
    return f"{100.0 * share:g} %"


def result_sentence(result: RaceResult) -> str:
    """Return the result of a race in one sentence: the decision, and what the other clock shows."""
    if not result.comparisons:
        return f"No round was completed: {_ENDS[result.end]}."
    deciding = [each for each in result.comparisons if each.clock == result.clock]
    other = [each for each in result.comparisons if each.clock != result.clock]
    first = _gate_text(result, deciding) if result.options.gate is not None else _race_text(result, deciding)
    return f"{first}; {_other_clock_text(result, other)}."


def _race_text(result: RaceResult, deciding: list[RaceComparison]) -> str:
    """Return a clause that says which command is the fastest, or that this is not decided."""
    clock = f"in {CLOCK_NAMES[result.clock]}"
    within = result.options.same_within
    if result.standing == "fastest":
        if len(deciding) == 1:
            return f"{_of_fastest(deciding[0])} {clock}"
        nearest = min(deciding, key=lambda each: each.estimate)
        return f"{result.reference} is the fastest {clock}: {_of_fastest(nearest)}, the next"
    if result.standing == "same":
        text = (
            f"{join_names(result.fastest)} take the same {CLOCK_NAMES[result.clock]} within {_limit(within)}"
        )
        if len(deciding) == 1:
            text += f" ({deciding[0].command} {interval_text(deciding[0])})"
        return text if len(result.fastest) == len(result.names) else f"{text}, and the others are slower"
    if len(result.names) == 2:
        return f"{comparison_text(deciding[0], within)} {clock}: {_ENDS[result.end]}"
    return f"{join_names(result.fastest, 'or')} may be the fastest {clock}: {_ENDS[result.end]}"


def _of_fastest(slower: RaceComparison) -> str:
    """Return a clause that says by how much the faster of two commands, the reference, is faster."""
    turned = reversed_comparison(slower)
    return f"{turned.command} is {_compared(turned)}"


def _compared(each: RaceComparison) -> str:
    """Return how much faster or slower a command is than the named reference, with an interval."""
    text = difference_text(each)
    joint = "as" if "times as" in text else "than"
    return text.replace(" (", f" {joint} {each.reference} (", 1)


def reversed_comparison(each: RaceComparison) -> RaceComparison:
    """Return the comparison of two commands with the command and the reference exchanged."""
    return each._replace(
        command=each.reference,
        reference=each.command,
        estimate=_inverted(each.estimate),
        low=_inverted(each.high),
        high=_inverted(each.low),
        slower=each.faster,
        faster=each.slower,
    )


def _inverted(share: float) -> float:
    """Return the relative difference of b from a, given that of a from b: -0.5 becomes 1."""
    if math.isinf(share):
        return -1.0
    return math.inf if share <= -1.0 else 1.0 / (1.0 + share) - 1.0


def _gate_text(result: RaceResult, deciding: list[RaceComparison]) -> str:
    """Return a clause that says which commands are slower than the baseline by more than a limit."""
    clock, limit = f"in {CLOCK_NAMES[result.clock]}", _limit(result.options.gate or 0.0)
    slow = [each for each in deciding if each.over_limit]
    if slow:
        listed = ", ".join(f"{each.command} is {_compared(each)}" for each in slow)
        return f"Slower by more than {limit} {clock}: {listed}"
    if result.standing == "not slower":
        listed = ", ".join(f"{each.command} {interval_text(each)}" for each in deciding)
        return f"Not slower than {result.reference} by {limit} {clock}: {listed}"
    unclear = [each for each in deciding if not each.within_limit]
    listed = ", ".join(f"{each.command} {interval_text(each)}" for each in unclear)
    return (
        f"Undecided whether slower than {result.reference} by {limit} {clock}: {listed}; {_ENDS[result.end]}"
    )


def _other_clock_text(result: RaceResult, other: list[RaceComparison]) -> str:
    """Return a clause on the results by the clock (wall or CPU time) that did not decide the race."""
    name = CLOCK_NAMES[other[0].clock]
    if len(other) == 1:
        known = other[0]
        if known.slower or known.faster:
            turned = known if result.options.gate is not None or known.faster else reversed_comparison(known)
            return f"{name}: {turned.command} is {difference_text(turned)}"
        if known.same:
            return f"{name}: the same within {_limit(result.options.same_within)} ({interval_text(known)})"
        return f"{name}: not certain yet ({known.command} {interval_text(known)})"
    sure = [each for each in other if each.slower or each.faster]
    return f"{name}: {len(sure)} of {len(other)} comparisons are certain"
