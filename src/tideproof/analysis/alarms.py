"""Alarms that void a decision: the data contradict an assumption without which no winner can be named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideproof.errors import InputError
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.diagnostics.share_drift import share_drift

if TYPE_CHECKING:
    from tideproof.analysis.arm_comparisons import Decision, Doubt
    from tideproof.analysis.fit_result import Fit

ALARM = 0.001  # p-values below it cause a warning; it is small because several tests are made


def failed_additivity(fit: Fit) -> Additivity | None:
    """Return the test for equal shifts of all arms, if the data contradict this assumption.

    Return None if they do not, or for a model without this assumption.
    """
    if "interaction" in fit.variance or fit.variance == "paired" or fit.tide is not None:
        return None
    try:
        test = fit.additivity(worst=1)
    except InputError:  # too little data
        return None
    return test if test.p < ALARM else None


def voiding_alarm(fit: Fit, decision: Decision) -> Doubt | None:
    """Return why the winner of a decision cannot be named although the tests of arms name it, or None.

    A statement about environments like these allows for arms that differ more in some environments than in
    others. One about these environments only does not, unless it was requested and the arms' shares of the
    traffic do not change: then estimates are averages over the traffic.
    """
    if not decision.names_winner:
        return None
    if fit.inside is not None and fit.inside.p < ALARM:
        return "moving shift"
    if decision.standing == "winner" or fit.adaptive:
        return None
    if fit.about_requested == "these" and share_drift(fit.cells).p >= ALARM:
        return None
    return None if fit.misfit is None else "unequal differences"
