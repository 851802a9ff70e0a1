"""Sentences on units, such as visitors or aggregated rows, whose rewards may depend on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tideproof.analysis.words.decision_text import TO_NAME_BEST, winsorizing_text
from tideproof.stats.pairs.pair_tests import FEWEST_EVENTS
from tideproof.stats.pairs.unit_pairs import FEWEST_UNITS, UnitPairTests, count_unit_events
from tideproof.text import format_count, quote_if_needed

if TYPE_CHECKING:
    from tideproof.analysis.fit_result import Fit


def unit_notes(fit: Fit) -> list[str]:
    """Return the note on what counts as a unit, and by how much dependent rewards increase the variance."""
    tests, units = fit.unit_tests, fit.cells.units
    if tests is None or units is None or fit.decision.standing == "not_comparable":
        return []
    i, k = (fit.cells.arms.index(arm) for arm in (fit.decision.best, fit.decision.runner_up))
    effect = f"{float(tests.design_effect[i, k]):.2g} times that of independent rewards"
    both = f"{quote_if_needed(fit.decision.best)} and {quote_if_needed(fit.decision.runner_up)}"
    count = int(np.unique(units.unit).size)
    if not units.rows:
        return [
            f"Rewards of the same unit may depend on each other ({format_count(count, 'unit')}): the "
            f"variance of the difference between {both} is {effect}."
        ]
    return [
        f"Several aggregated rows have the same arm and environment, so each of the "
        f"{format_count(count, 'row')} counts as a unit: the variance of the difference between {both} is "
        f"{effect}. If rows are parts that all arms share, such as countries or hours, and there are "
        f"many, name their column by unit= (--unit)."
    ]


def too_few_units_text(fit: Fit, tests: UnitPairTests, can_winsorize: bool) -> str:
    """Return the verdict that too few units were observed to name a best arm, and what is needed.

    `can_winsorize` says whether the option `winsorize` is possible and not in use.
    """
    too_few, arms = f"too few units {TO_NAME_BEST}", [quote_if_needed(arm) for arm in fit.cells.arms]
    best, *others = (fit.cells.arms.index(arm) for arm in fit.decision.candidates)
    other = next(k for k in others if not tests.enough_units(best, k))
    rare = min(best, other, key=lambda arm: float(tests.units[arm]))
    if tests.units[rare] < FEWEST_UNITS:
        return (
            f"{too_few}: the effective number of units of {arms[rare]} is {tests.units[rare]:.2g}, because "
            f"there are few or one has most of the rewards; at least {FEWEST_UNITS:g} are needed"
        )
    return (
        f"{too_few}: a few units with large total rewards decide the difference between {arms[best]} and "
        f"{arms[other]}; collect rewards of more units{winsorizing_text(can_winsorize)}"
    )


def too_few_unit_events_text(fit: Fit) -> str:
    """Return the verdict that too few units had events, such as purchases, to name a best arm."""
    events, arms = count_unit_events(fit.cells), [quote_if_needed(arm) for arm in fit.cells.arms]
    best, *others = (fit.cells.arms.index(arm) for arm in fit.decision.candidates)
    other = next(k for k in others if not events.enough(best, k))
    if events.kinds is not None:
        both, kind = min(
            (float(events.kinds[best, kind] + events.kinds[other, kind]), kind) for kind in (0, 1)
        )
        what = f"rewards equal to {1 - kind}"
    else:
        both, what = events.worth(best, other)[0], "nonzero rewards"
    needed = f"at least {FEWEST_EVENTS} are needed"
    if both >= FEWEST_EVENTS:
        needed = f"the expected share of {arms[events.rarer(best, other)]} is too small; it needs more units"
    return (
        f"too few {what} {TO_NAME_BEST}: several rewards of one unit count less, so the effective number of "
        f"{arms[best]} and {arms[other]} together is {both:.2g}; {needed}"
    )
