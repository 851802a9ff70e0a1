"""File that stores a plan of repeated analyses (looks) of a growing log, and the looks made so far.

With the file a look knows which looks were made before it, and how much information each of them had. The
same log may be analyzed again at the same look: nothing is spent twice.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tideproof.errors import InputError
from tideproof.files import read_text, write_text_atomically
from tideproof.stats.looks.look_plan import Looks, PairVariances
from tideproof.text import quote_if_needed

_FORMAT = "tideproof looks 1"
_EQUAL = 1e-9  # relative difference of variances of the same log, by rounding


@dataclass(frozen=True)
class RecordedLook:
    """One past analysis (look) of a growing log, as stored in a file.

    Attributes
    ----------
    look : how far the test was.
    spent : error probability that was spent up to this look.
    variances : variance of the estimated difference of each pair of arms.
    """

    look: float
    spent: float
    variances: PairVariances

    def has_same_data(self, variances: PairVariances) -> bool:
        """Return whether a log has the same amount of information as at this earlier analysis."""
        return self.variances.keys() == variances.keys() and all(
            math.isclose(value, variances[pair], rel_tol=_EQUAL) for pair, value in self.variances.items()
        )


@dataclass(frozen=True)
class LookRecord:
    """A plan of repeated analyses (looks) of a growing log and the looks made so far, as a file stores them.

    Attributes
    ----------
    looks, spending : the plan, as in `Looks`.
    confidence : confidence level of all statements at all looks.
    made : the looks that were made, in their order.
    """

    looks: float
    spending: str
    confidence: float
    made: tuple[RecordedLook, ...] = ()

    @classmethod
    def open(cls, plan: Looks, confidence: float) -> LookRecord:
        """Read the file of a plan of repeated analyses or begin a new one; raise an error if plans differ."""
        path = plan.file
        assert path is not None
        asked = cls(float(plan.looks), plan.spending, confidence)
        if not Path(path).exists():
            return asked
        found = read_record(path)
        if replace(found, made=()) != asked:
            raise InputError(
                f"the plan in {quote_if_needed(os.fspath(path))} is {found.text}, not {asked.text}: a plan "
                "is not changed after a look"
            )
        return found

    @property
    def text(self) -> str:
        """The plan of repeated analyses as text."""
        return f"{self.looks:g} looks, spending {self.spending!r}, confidence {self.confidence:g}"

    def resolve(self, plan: Looks, variances: PairVariances) -> Looks:
        """Return the plan of repeated analyses together with the current and the past analyses.

        `variances` are those of the differences of arms in the log. If they are those of the last look, the
        log is analyzed again.
        """
        again = bool(self.made) and self.made[-1].has_same_data(variances)
        last = self.made[-1].look if self.made else 0.0
        look = plan.look
        if look is None:
            look = last if again else math.floor(last) + 1.0
        past = self.made[:-1] if again and look == last else self.made
        if past and look <= past[-1].look:
            after = f"the next one is above {past[-1].look:g} and at most {self.looks:g}"
            raise InputError(
                f"look {look:g} was made already, or comes before look {past[-1].look:g}, with other data: "
                f"{after}"
            )
        return replace(
            plan,
            look=look,
            past=[each.look for each in past],
            past_variances=tuple(each.variances for each in past),
        )

    def with_look(self, plan: Looks, variances: PairVariances) -> LookRecord:
        """Return a copy of the record of planned analyses to which the current one is added."""
        look, spent = float(plan.made[-1]), float(plan.error_spent(1.0 - self.confidence)[-1])
        before = tuple(each for each in self.made if each.look < look)
        return replace(self, made=(*before, RecordedLook(look, spent, variances)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record of planned analyses to a JSON file, replacing the file in one step."""
        made = [
            {
                "look": each.look,
                "spent": each.spent,
                "variances": [[*k, v] for k, v in each.variances.items()],
            }
            for each in self.made
        ]
        plan = {"looks": self.looks, "spending": self.spending, "confidence": self.confidence}
        write_text_atomically(path, json.dumps({"format": _FORMAT, **plan, "made": made}) + "\n")


def read_record(path: str | os.PathLike[str]) -> LookRecord:
    """Read a file of planned looks (repeated analyses); raise an error that says what is wrong with it."""
    try:
        found: dict[str, Any] = json.loads(read_text(path))
        if found["format"] != _FORMAT:
            raise ValueError
        made = tuple(
            RecordedLook(
                float(each["look"]),
                float(each["spent"]),
                {(str(a), str(b)): float(v) for a, b, v in each["variances"]},
            )
            for each in found["made"]
        )
        return LookRecord(float(found["looks"]), str(found["spending"]), float(found["confidence"]), made)
    except (ValueError, KeyError, TypeError) as error:
        name = quote_if_needed(os.fspath(path))
        raise InputError(f"{name} is not a file of planned looks, as --look-file writes it") from error
