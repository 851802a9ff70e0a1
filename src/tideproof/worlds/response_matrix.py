"""World in which the reward of each pair of an arm and an environment is known: a response matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.worlds.world import World
from tideproof.worlds.world_part import set_fields

_ROUNDING = 1e-12  # means that differ by less are equal
_KIND = "ResponseMatrix"


@dataclass(frozen=True, eq=False, repr=False)
class ResponseMatrix:
    """World made from a response matrix: the score of every arm in every environment.

    For example, the arms are models and the environments are test items. `tp.simulate` plays rules that
    choose which pair to ask for, each pair at most once.

    Parameters
    ----------
    scores
        A row for each environment and a column for each arm, without gaps; high scores are good. The best
        arms are those with the largest mean.

    Examples
    --------
    >>> world = ResponseMatrix([[1, 0, 1], [0, 0, 1]])
    >>> world.environments, world.arms, world.best
    (2, 3, (2,))
    >>> ResponseMatrix([[1, 0], [0, float("nan")]])
    Traceback (most recent call last):
    tideproof.errors.InputError: scores must be finite, but that of environment 1 and arm 1 is nan
    """

    scores: Sequence[Sequence[float]] | Floats

    def __post_init__(self) -> None:
        try:
            scores = np.array(self.scores, np.float64)
        except (TypeError, ValueError):
            raise InputError("scores must be a table of numbers with rows of equal length") from None
        if scores.ndim != 2 or scores.shape[0] < 1 or scores.shape[1] < 2:
            raise InputError(
                f"scores must have a row for each environment and a column for each of at least two arms, "
                f"not the shape {scores.shape}"
            )
        wrong = np.argwhere(~np.isfinite(scores))
        if len(wrong):
            row, arm = wrong[0].tolist()
            raise InputError(
                f"scores must be finite, but that of environment {row} and arm {arm} is {scores[row, arm]}"
            )
        scores.setflags(write=False)
        set_fields(self, scores=scores)

    @property
    def environments(self) -> int:
        """The number of environments."""
        return len(self.scores)

    @property
    def arms(self) -> int:
        """The number of arms."""
        return len(self.scores[0])

    @property
    def gaps(self) -> Floats:
        """The cost of selecting each arm, as an array: the best arm's mean score minus the arm's own."""
        means = np.asarray(self.scores).mean(axis=0)
        gaps: Floats = means.max() - means
        return np.where(gaps < _ROUNDING, 0.0, gaps)

    @property
    def best(self) -> tuple[int, ...]:
        """The indices of the best arms; more than one if they tie."""
        return tuple(np.flatnonzero(self.gaps == 0.0).tolist())

    def to_dict(self) -> dict[str, Any]:
        """Return the response matrix as a dict of strings and lists."""
        return {"kind": _KIND, "scores": np.asarray(self.scores).tolist()}

    def __repr__(self) -> str:
        return f"ResponseMatrix of {self.environments:,} environments and {self.arms} arms"


def world_from_dict(plain: Mapping[str, Any]) -> World | ResponseMatrix:
    """Return the world from the dict that its method `to_dict` returned."""
    return ResponseMatrix(plain["scores"]) if plain.get("kind") == _KIND else World.from_dict(plain)
