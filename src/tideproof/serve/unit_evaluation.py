"""Assign an arm to a unit, such as a visitor; a unit keeps its arm."""

from __future__ import annotations

import time
from datetime import datetime
from typing import NamedTuple

from tideproof.experiment.experiment import Experiment
from tideproof.experiment.pull import Label, Pull
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.auth.visitor_limits import VisitorLimiter
from tideproof.serve.idempotent_calls import author_of, run_method
from tideproof.serve.problem_details import Problem
from tideproof.serve.service_settings import Settings, find_time_zone


class UnitRequest(NamedTuple):
    """Request for the arm that is assigned to a unit, such as a visitor.

    Attributes
    ----------
    experiment : name of the experiment.
    key, address : API key and address of the caller.
    unit : ID of the unit.
    environment : environment that the caller names, or None. That of a public key has no effect.
    """

    experiment: str
    key: Key
    address: str
    unit: str | int
    environment: Label | None


class UnitEvaluator:
    """Assigns arms to units (such as visitors) for requests to a service, within its limits.

    Its call blocks, and is thread-safe.
    """

    def __init__(self, settings: Settings, limiter: VisitorLimiter) -> None:
        self._max_reservations, self._limiter = settings.reservations, limiter
        self._zone = find_time_zone(settings.time_zone)

    def evaluate(self, run: Experiment, asked: UnitRequest, dated: bool = False) -> tuple[Pull, bool]:
        """Return the arm of a unit, such as a visitor; assign one if the unit has none.

        The arm is part of a pull. Also return whether this call assigned it.

        A client with the role evaluator gets no new pull while too many pulls await an exposure, and a
        public key brings a limited number of new units per minute, all in the environment of the current
        date. With `dated`, this date is also the environment of callers who name none.
        """
        key, existing = asked.key, run.pull_of(asked.unit)
        if existing is not None and not run.internals.state.book.stopped:
            return existing, False
        if not key.may(Right.REPORT) and run.reservations >= self._max_reservations:
            raise Problem(
                429,
                f"{run.reservations:,} reserved pulls have no recorded exposure yet, and at most "
                f"{self._max_reservations:,} are allowed: retry later",
                headers={"Retry-After": "60"},
            )
        if run.internals.state.book.remaining != 0:  # otherwise nobody is admitted
            self._limiter.check(asked.experiment, key, asked.address)
        environment = None if key.is_public else asked.environment
        if environment is None and (dated or key.is_public):
            environment = self.today(run)
        by = author_of(key, None)
        return run_method(run, key, None, "ask", unit=asked.unit, environment=environment, by=by), True

    def today(self, run: Experiment) -> str | None:
        """Return the current date in the service's time zone, or None if the experiment has its own."""
        if run.internals.state.settings.time_zone is not None:
            return None
        return datetime.fromtimestamp(time.time(), self._zone).date().isoformat()
