"""Assign an arm to a unit, such as a visitor; a unit keeps its arm."""

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
    """Return the arm of a unit, such as a visitor; assign one if the unit has none.

    The arm is part of a pull. Also return whether this call assigned it. The call blocks.

    A client with the role evaluator gets no new pull while `max_reservations` pulls await an exposure.
    """
    existing = run.pull_of(unit)
    if existing is not None and not run.internals.state.book.stopped:
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
