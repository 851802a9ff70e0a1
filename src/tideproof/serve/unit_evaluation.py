"""Assign an arm to a unit, such as a visitor: return the pull that the unit has, or reserve a new pull."""

from __future__ import annotations

from tideproof.experiment.experiment import Experiment
from tideproof.experiment.pull import Label, Pull
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.idempotent_calls import author_of, run_method
from tideproof.serve.problem_details import Problem


def evaluate_unit(
    run: Experiment, key: Key, unit: str | int, environment: Label | None, max_reservations: int
) -> tuple[Pull, bool]:
    """Return the pull of a unit, such as a visitor, and whether this call assigned it; a blocking call.

    A client with the role evaluator gets no new pull while `max_reservations` pulls await an exposure.
    """
    existing = run.pull_of(unit)
    if existing is not None:
        return existing, False
    if not key.may(Right.REPORT) and run.reservations >= max_reservations:
        raise Problem(
            429,
            f"{run.reservations:,} reserved pulls have no recorded exposure yet, and at most "
            f"{max_reservations:,} are allowed: retry later",
            headers={"Retry-After": "60"},
        )
    return run_method(
        run, key, None, "ask", unit=unit, environment=environment, by=author_of(key, None)
    ), True
