"""Choice of the scale on which arms are compared: differences, ratios or odds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from tideproof.stats.cells import Cells
from tideproof.stats.scales.scale_test import Scale, WrongScale, noise_grows, wrong_scale

Compared = Literal["difference", "ratio", "odds", "log"]  # a scale, or that of ratios seen in logarithms

DOUBT = 0.05  # p below which a scale is wrong
_MANY = 500  # arms, beyond which testing scales takes longer than all else
_RARE = 0.1  # mean chance of an event below which nobody tells odds from ratios

_SAME: dict[Scale, str] = {"difference": "differences", "ratio": "ratios", "odds": "odds ratios"}


class Choice(NamedTuple):
    """Scale on which arms are compared, with the tests behind the choice.

    Attributes
    ----------
    name : "difference", "ratio", "odds" or "log".
    tests : for each possible scale, its test with the smallest p-value; with two rivals p is doubled.
    told : whether the data reject another scale; if not, the choice is a convention.
    sentence : explanation of the choice.
    possible : the scales that were tested and not rejected, including `name`. A winner must win on each of
        them, and confidence intervals must cover each of them.
    """

    name: Compared
    tests: dict[Scale, WrongScale]
    told: bool
    sentence: str
    possible: tuple[Compared, ...] = ()


def choose_scale(cells: Cells) -> Choice:
    """Return the scale on which differences between arms are equal in all environments.

    If the tests do not decide: ratios for 0/1 rewards (conversions usually change by factors) and for noise
    that grows with the level, as multiplicative noise does; differences otherwise.

    All scales are tested under one distribution of the rewards: 0 or 1 if they are, otherwise a variance that
    is a power of the mean, as measured inside the cells. Odds are tested for 0/1 rewards with an overall rate
    above 0.1: below it, ratios and odds are nearly equal.
    """
    if np.any(cells.mean < 0.0):
        test = wrong_scale(cells, "difference", "ratio")
        said = "Rewards below 0 are compared by differences."
        if test.p < DOUBT:
            said += f" These are not the same at every level of the environments ({_p(test.p)})."
        return Choice("difference", {"difference": test}, False, said)
    if cells.K > _MANY:
        conventional: Scale = "ratio" if cells.binary or noise_grows(cells) else "difference"
        said = f"With more than {_MANY} arms scales are not tested; {_SAME[conventional]} are shown."
        return Choice(conventional, {}, False, said, (conventional,))
    rare = float(np.average(cells.mean, weights=cells.n)) < _RARE
    multiplies = cells.binary or noise_grows(cells)
    scales: list[Scale] = ["ratio", "difference"] if multiplies else ["difference", "ratio"]
    if cells.binary and not rare:
        scales.append("odds")
    tests = {scale: _worst(cells, scale, [other for other in scales if other != scale]) for scale in scales}
    wrong = [scale for scale in scales if tests[scale].p < DOUBT]
    right = [scale for scale in scales if scale not in wrong]
    name: Scale = right[0] if right else max(scales, key=lambda scale: tests[scale].p)
    possible = tuple(scale for scale in scales if scale == name or DOUBT <= tests[scale].p < 1.0)
    sentence = _sentence(name, tests, wrong, right)
    if len(possible) > 1:
        sentence += f" Limits allow for {_listed(possible, name)}, too."
    return Choice(name, tests, bool(wrong) and bool(right), sentence, possible)


def _worst(cells: Cells, scale: Scale, rivals: list[Scale]) -> WrongScale:
    """Return the test of a scale against the rival with the smallest p-value, with a Bonferroni correction.

    Differences are tested against odds alone if odds are possible: from differences, odds and ratios look
    almost equal.
    """
    if scale == "difference":
        rivals = rivals[-1:]
    found = min((wrong_scale(cells, scale, other) for other in rivals), key=lambda test: test.p)
    return WrongScale(found.z, min(1.0, len(rivals) * found.p))


def _sentence(name: Scale, tests: dict[Scale, WrongScale], wrong: list[Scale], right: list[Scale]) -> str:
    """Return the sentence that explains which scale was chosen and which scales were rejected."""
    every = "at every level of the environments"
    if not wrong:
        doubt = f"The data cannot tell whether {_SAME[name]} or {_listed(tests, name)} are the same {every}"
        return f"{doubt}; {_SAME[name]} are shown."
    said = [f"{_SAME[scale]} ({_p(tests[scale].p)})" for scale in wrong]
    if not right:
        return f"Neither {' nor '.join(said)} are the same {every}; {_SAME[name]} are nearest to it."
    verb = "grow with it" if wrong == ["difference"] and tests["difference"].z > 0.0 else "are not"
    return f"{_SAME[name].capitalize()} between arms are the same {every}; {' and '.join(said)} {verb}."


def of_misfits(choice: Choice) -> str:
    """Return the sentence on the chosen scale, adapted if that scale does not fit either."""
    wrong = [scale for scale, test in choice.tests.items() if test.p < DOUBT]
    if not choice.told or not wrong or choice.name == "log":
        return choice.sentence
    worse = " and ".join(f"{_SAME[scale]} ({_p(choice.tests[scale].p)})" for scale in wrong)
    return f"{_SAME[choice.name].capitalize()} between arms fit better than {worse}, but do not fit either."


def _listed(scales: Iterable[Scale], name: Scale) -> str:
    """Return the names of the scales other than `name`, joined by "and"."""
    return " and ".join(_SAME[scale] for scale in scales if scale != name)


def _p(p: float) -> str:
    """Return a p-value as text for a sentence."""
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
