"""Compute curves of a simulation study, such as the error rate of each policy against the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideproof.draw.policy_curves import PolicyCurve

if TYPE_CHECKING:
    from tideproof.draw.policy_curves import Measure
    from tideproof.lab.study import Study


def curves(study: Study, of: Measure, confidence: float) -> list[PolicyCurve]:
    """Return a curve for each policy of a study: a measure at every budget, with its confidence interval."""
    read = {"pics": study.pics, "eoc": study.eoc, "samples": study.samples}[of]
    return [
        PolicyCurve(label, study.budgets, read(label), *study.interval(label, confidence, of))
        for label in study.policies
    ]
