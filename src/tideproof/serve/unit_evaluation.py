"""Which arm a unit gets: what it has already, or a reservation."""

from __future__ import annotations

from tideproof.experiment.experiment import Experiment
from tideproof.experiment.pull import Label, Pull
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.experiment_commands import do, signed
from tideproof.serve.problem_details import Problem


def evaluated(
    run: Experiment, key: Key, unit: str | int, environment: Label | None, most: int
) -> tuple[Pull, bool]:
    """Return the pull of a unit, and whether it is new; blocking.

    A public client is refused another one where `most` pulls await an exposure.
    """
    known = run.pull_of(unit)
    if known is not None:
        return known, False
    if not key.may(Right.REPORT) and run.reservations >= most:
        raise Problem(
            429, f"{most:,} pulls await an exposure: no more are given out", headers={"Retry-After": "60"}
        )
    return do(run, key, None, "ask", unit=unit, environment=environment, by=signed(key, None)), True
