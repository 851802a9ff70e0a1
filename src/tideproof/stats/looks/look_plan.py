"""Plan of the repeated analyses (looks) of a growing log: how many there are, and which one this is."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.looks.spending_functions import SpendingName, require_spending, spent_alpha

MOST_LOOKS = 100  # looks that can be made; the time to compute a boundary grows with their square
PairVariances = Mapping[tuple[Any, Any], float]


@dataclass(frozen=True)
class Looks:
    """Planned repeated analyses (looks) of a growing log, at all of which results hold jointly.

    Use it if you know when the test ends at the latest. `anytime=True` needs no plan, and more data.

    Parameters
    ----------
    looks
        The planned end of the test, usually the number of looks: 14 if you look after each of 14 days. It may
        also be a number of visitors or another amount of information.
    look
        How far the test is now, in the same unit: 5 after the fifth day, 4.6 if you look early. The first
        look at the planned end or beyond is the last one.
    spending
        How the error probability is divided. "pocock": about the same critical value at all looks, which
        ends tests earliest. "obrien-fleming": hardly any early, so the last look is almost like a single one.
    past
        How far the test was at the earlier looks. By default they were at all whole numbers below `look`.
        Leave out the looks that were missed, and the bounds of this one are narrower.
    file
        A JSON file that stores the plan and each look. It is created at the first look. With it, `past` is
        known, information at past looks is exact, and a changed plan is an error. `look` may then be left
        out: it is the next whole number.
    past_variances
        Variances of the differences between arms at the past looks, which `file` holds.

    Examples
    --------
    >>> Looks(14, look=5)
    Looks(14, look=5, spending='pocock')
    >>> Looks(14, look=5, past=[1, 3]).error_spent(0.05).round(4)
    array([0.0058, 0.0157, 0.0239])
    """

    looks: float
    look: float | None = None
    spending: SpendingName = "pocock"
    past: Sequence[float] | None = None
    file: str | os.PathLike[str] | None = None
    past_variances: tuple[PairVariances, ...] | None = None

    def __post_init__(self) -> None:
        _require_amount("looks", self.looks, "the planned number of looks, such as 14")
        require_spending(self.spending)
        if self.look is None:
            return
        _require_amount("look", self.look, f"how far the test is, from 1 to {self.looks:g}")
        if self.past is not None:
            self._check_past(self.past, self.look)
        elif self.file is None and math.ceil(self.look) > MOST_LOOKS:
            raise InputError(
                f"say at which points before {self.look:g} you looked: past=[...] (--past-looks)"
            )
        if self.file is None and self.made.size > 1 and self.made[-2] >= self.looks:
            last = self.made[self.made >= self.looks][0]
            raise InputError(
                f"look {self.look:g} is beyond the plan of {self.looks:g}: all of the error probability is "
                f"spent since look {last:g}; plan another test, or use anytime=True (--anytime)"
            )

    def _check_past(self, past: Sequence[float], look: float) -> None:
        for amount in past:
            _require_amount("a past look", amount, f"a number above 0 and below {look:g}")
        found = [*past, look]
        for before, after in itertools.pairwise(found):
            if before >= after:
                raise InputError(
                    f"looks are out of order: {after:g} comes after {before:g}; past looks ascend and are "
                    "below the current one"
                )
        if len(past) >= MOST_LOOKS:
            raise InputError(f"at most {MOST_LOOKS} looks can be made, not {len(past) + 1}")

    def __repr__(self) -> str:
        look = "" if self.look is None else f", look={self.look:g}"
        past = "" if self.past is None else f", past={[float(f'{x:g}') for x in self.past]}"
        return f"Looks({self.looks:g}{look}, spending={self.spending!r}{past})"

    @property
    def made(self) -> Floats:
        """Size that the test had reached at each look so far, the current one last: (L,)."""
        if self.look is None:
            raise InputError(
                f"say which look this is, such as tp.Looks({self.looks:g}, look=1) (--looks {self.looks:g} "
                "--look 1)"
            )
        before = range(1, math.ceil(self.look)) if self.past is None else self.past
        return np.array([*before, self.look], np.float64)

    @property
    def shares(self) -> Floats:
        """Share of the planned size that the test had reached at each look so far: (L,)."""
        return self.made / self.looks

    def error_spent(self, alpha: float) -> Floats:
        """Return how much of the error probability `alpha` the test has spent by each look so far: (L,)."""
        return spent_alpha(self.spending, np.array(alpha), self.shares)

    def to_dict(self, alpha: float) -> dict[str, Any]:
        """Return the plan of looks and the current look as plain values for JSON.

        `alpha` is the total error probability.
        """
        return {
            "looks": self.looks,
            "look": float(self.made[-1]),
            "spending": self.spending,
            "past": self.made[:-1].tolist(),
            "spent": self.error_spent(alpha).tolist(),
        }

    @property
    def text(self) -> str:
        """Number of the current analysis as text, such as "look 5 of 14"."""
        return f"look {self.made[-1]:g} of {self.looks:g}"


def check_looks(looks: object, anytime: bool, adaptive: bool) -> Looks:
    """Return a plan of repeated analyses, or raise an error if the value is not a valid plan."""
    if not isinstance(looks, Looks):
        raise InputError(f"looks must be planned looks such as tp.Looks(14, look=5), not {looks!r}")
    if anytime:
        raise InputError(
            "choose planned looks (looks=, --looks) or looks at any time (anytime=True, --anytime), not both"
        )
    if adaptive:
        raise InputError(
            "planned looks (looks=, --looks) need traffic that does not follow rewards; after an adaptive "
            "policy use anytime=True (--anytime)"
        )
    if looks.look is None and looks.file is None:
        _ = looks.made  # it says what is missing
    return looks


def without_record(looks: Looks) -> Looks:
    """Return the plan of looks without recorded variances, for use with another kind of reward."""
    return replace(looks, past_variances=None)


def _require_amount(name: str, value: object, allowed: str) -> None:
    """Raise an error unless a value is a finite number above 0."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not 0.0 < float(value) < math.inf:  # type: ignore[arg-type]
        raise InputError(f"{name} must be {allowed}, not {value!r}")
