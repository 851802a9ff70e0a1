"""Result of one evaluation of a stopping rule."""

from __future__ import annotations

from typing import NamedTuple


class StopCheck(NamedTuple):
    """Result of one evaluation of a stopping rule: the arm found to be the best, or None.

    It also has the name of the rule. `costly` says whether the check read all rewards or all environments.
    """

    arm: int | None
    rule: str
    costly: bool = False
