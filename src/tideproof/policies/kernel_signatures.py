"""Type signatures of the functions that make up a policy, such as the one that chooses the next arm.

`params` and `state` are NamedTuples that the policy defines. Kernels are called with positional arguments,
so their parameters may have other names. Only `data` and `slot` should keep their names, because the check
of `reads` recognises them by name.
"""

from __future__ import annotations

from typing import Any, Protocol

from tideproof.kernels.fit.policy_data import Data, Slot
from tideproof.kernels.simulate.threefry import Draw


class Ask(Protocol):
    """Signature of a policy's function that chooses the next arm to pull.

    It must not write to anything but `Scratch`.
    """

    def __call__(self, params: Any, state: Any, data: Data, slot: Slot, draw: Draw, /) -> Any:
        """Return the arm to pull next in the current environment, `slot`, or -1 to stop the run."""


class Tell(Protocol):
    """Signature of a policy's function that updates its state after a pull or a reward."""

    def __call__(
        self, params: Any, state: Any, data: Data, slot: Slot, arm: int, n: int, draw: Draw, /
    ) -> None:
        """Update the state of a policy for `n` pulls of `arm`.

        `data` already includes the pulls, and `slot` does not yet.
        """


class Weigh(Protocol):
    """Signature of a policy's function that returns the weight of a reward in the weighted sums of rewards.

    The sums are those of `data.moments`. The kernel must not write.
    """

    def __call__(self, params: Any, state: Any, data: Data, arm: int, /) -> Any:
        """Return the weight of a new reward of an arm.

        `data` (statistics) does not contain the reward yet.
        """


class Active(Protocol):
    """Signature of a policy's function that returns whether an arm may still be pulled.

    It must not write.
    """

    def __call__(self, params: Any, state: Any, arm: int, /) -> Any:
        """Return whether the policy may still pull the arm."""


class Select(Protocol):
    """Signature of a selection rule's function that selects one arm as the best.

    It must not write.
    """

    def __call__(self, params: Any, state: Any, data: Data, draw: Draw, /) -> Any:
        """Return the arm that would be selected if the experiment ended now."""


class Identified(Protocol):
    """Signature of a selection rule's function that returns whether the data allow comparing all arms.

    It must not write.
    """

    def __call__(self, data: Data, /) -> Any:
        """Return whether shared environments connect all arms, so that they can be compared."""


class Configure(Protocol):
    """Signature of the function that converts the options of a policy to the parameters of its functions.

    It is a plain function, and its keyword-only parameters are the options.
    """

    def __call__(self, arms: int, horizon: Any, selection: str, /, *args: Any, **options: Any) -> Any:
        """Return the parameters that the policy's functions receive, a NamedTuple of numbers.

        `horizon` is the budget in pulls, or None if there is none. `selection` is the name of the selection
        rule.
        """


class Minimum(Protocol):
    """Signature of the function that returns the smallest budget that a policy accepts.

    It is a plain function, not a kernel.
    """

    def __call__(self, arms: int, params: Any, /) -> int:
        """Return the smallest budget, in pulls, with which a policy can run."""


class FromWorld(Protocol):
    """Signature of the function that derives options of a policy from a simulated world.

    It is a plain function, not a kernel.
    """

    def __call__(self, world: Any, /) -> dict[str, Any]:
        """Return the options, by name, that suit the policy in a given simulated world."""
