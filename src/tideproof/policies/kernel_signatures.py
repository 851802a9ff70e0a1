"""Type signatures of the kernels and functions that make up a policy.

`params` and `state` are NamedTuples that the policy defines. Kernels are called with positional arguments,
so their parameters may have other names. Only `data` and `slot` should keep their names, because the check
of `reads` recognises them by name.
"""

from __future__ import annotations

from typing import Any, Protocol

from tideproof.kernels.fit.policy_data import Data, Slot
from tideproof.kernels.simulate.threefry import Draw


class Ask(Protocol):
    """Signature of the kernel that chooses the next arm. It must not write to anything but `Scratch`."""

    def __call__(self, params: Any, state: Any, data: Data, slot: Slot, draw: Draw, /) -> Any:
        """Return the arm to pull in the environment of `slot`, or -1 to stop."""


class Tell(Protocol):
    """Signature of the kernel that updates the state of a policy after a pull or a reward."""

    def __call__(
        self, params: Any, state: Any, data: Data, slot: Slot, arm: int, n: int, draw: Draw, /
    ) -> None:
        """Update `state` for `n` pulls of `arm`, which `data` already includes and `slot` does not yet."""


class Weigh(Protocol):
    """Signature of the kernel that weights a reward in the sums of `data.moments`. It must not write."""

    def __call__(self, params: Any, state: Any, data: Data, arm: int, /) -> Any:
        """Return the weight of a new reward of `arm`; called before `data` includes the reward."""


class Active(Protocol):
    """Signature of the kernel that says whether a policy has eliminated an arm. It must not write."""

    def __call__(self, params: Any, state: Any, arm: int, /) -> Any:
        """Return whether the policy may still pull the arm."""


class Select(Protocol):
    """Signature of the kernel that selects one arm as the best. It must not write."""

    def __call__(self, params: Any, state: Any, data: Data, draw: Draw, /) -> Any:
        """Return the arm that would be selected if the experiment ended now."""


class Identified(Protocol):
    """Signature of the kernel that says whether the data allow a selection. It must not write."""

    def __call__(self, data: Data, /) -> Any:
        """Return whether shared environments connect all arms, so that they can be compared."""


class Configure(Protocol):
    """Signature of the plain function whose keyword-only parameters are the options of a policy."""

    def __call__(self, arms: int, horizon: Any, selection: str, /, *args: Any, **options: Any) -> Any:
        """Return the parameters of the policy's kernels, a NamedTuple of numbers.

        `horizon` is the budget in pulls, or None if there is none. `selection` is the name of the selection
        rule.
        """


class Minimum(Protocol):
    """Signature of the plain function that returns the smallest budget a policy accepts."""

    def __call__(self, arms: int, params: Any, /) -> int:
        """Return the smallest allowed budget, in pulls."""


class FromWorld(Protocol):
    """Signature of the plain function that derives options of a policy from a simulated world."""

    def __call__(self, world: Any, /) -> dict[str, Any]:
        """Return the options to use in simulations of this `tp.World`, by name."""
