"""Which arm a unit gets: what it has already, or a reservation."""

from __future__ import annotations

from tideproof.live.experiment import Experiment
from tideproof.live.pull import Label, Pull
from tideproof.serve.commands import do, signed
from tideproof.serve.keys import Key
from tideproof.serve.problems import Problem
from tideproof.serve.rights import Right


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
