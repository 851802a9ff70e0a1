"""What each kernel of a policy receives and returns.

Params and state are the policy's own NamedTuples. Kernels are called by position, so their parameters may
have other names; `data` and `slot` are best called so, because `reads` is checked by these names.
"""

from __future__ import annotations

from typing import Any, Protocol

from tideproof.kernels.fit.environment_slot import Slot
from tideproof.kernels.fit.policy_data import Data
from tideproof.kernels.simulate.threefry import Draw


class Ask(Protocol):
    """Which arm next. A kernel that reads and never writes, but for `Scratch`."""

    def __call__(self, params: Any, state: Any, data: Data, slot: Slot, draw: Draw, /) -> Any:
        """Return the arm to pull in the environment of `slot`, or -1 to stop."""


class Tell(Protocol):
    """What a policy remembers. A kernel that writes the state."""

    def __call__(
        self, params: Any, state: Any, data: Data, slot: Slot, arm: int, n: int, draw: Draw, /
    ) -> None:
        """Take in `n` pulls of `arm`: `data` has them already, the slot not yet."""


class Weigh(Protocol):
    """How much a reward counts in the weighted sums of `data.moments`. A kernel that only reads."""

    def __call__(self, params: Any, state: Any, data: Data, arm: int, /) -> Any:
        """Return the weight of a reward of `arm`, before `data` has it."""


class Active(Protocol):
    """Which arms are still in the race. A kernel that only reads."""

    def __call__(self, params: Any, state: Any, arm: int, /) -> Any:
        """Tell whether the arm may still be played."""


class Select(Protocol):
    """Which arm in the end. A kernel that only reads."""

    def __call__(self, params: Any, state: Any, data: Data, draw: Draw, /) -> Any:
        """Return the arm to select now."""


class Identified(Protocol):
    """Whether a selection compares what can be compared. A kernel that only reads."""

    def __call__(self, data: Data, /) -> Any:
        """Tell whether the arms can be compared."""


class Configure(Protocol):
    """The options: keyword-only parameters with defaults. A plain function, no kernel."""

    def __call__(self, arms: int, horizon: Any, selection: str, /, *args: Any, **options: Any) -> Any:
        """Return the params, a NamedTuple of numbers. The horizon is None if the budget is open."""


class Minimum(Protocol):
    """The smallest budget that makes sense. A plain function, no kernel."""

    def __call__(self, arms: int, params: Any, /) -> int:
        """Return the number of pulls."""


class FromWorld(Protocol):
    """Options that the lab fills in. A plain function, no kernel."""

    def __call__(self, world: Any, /) -> dict[str, Any]:
        """Return options for that `tp.World`."""
