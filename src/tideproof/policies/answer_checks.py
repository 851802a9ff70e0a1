"""Run-time check that the functions `ask` and `select` of a policy (its kernels) return a valid arm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tideproof.core.function_references import locate
from tideproof.errors import KernelError


class CheckedKernel:
    """Wrapper of a policy's function `ask` or `select` that raises `KernelError` if the arm is not valid.

    Only interpreted kernels are checked: the tests of `tideproof.testing` run them before compiled ones.
    """

    def __init__(self, what: str, owner: str, kernel: Any, twin: Callable[..., Any]) -> None:
        self._what, self._owner, self._kernel, self._twin = what, owner, kernel, twin

    def __call__(self, params: Any, state: Any, data: Any, *rest: Any) -> Any:
        """Call the wrapped function of the policy, and return the arm it chose after checking it."""
        answer = self._twin(params, state, data, *rest)
        least, arms = (-1 if self._what == "ask" else 0), data.pulls.size
        is_whole = isinstance(answer, (int, np.integer)) and not isinstance(answer, bool)
        if not is_whole or not least <= answer < arms:
            stop = ", or -1 to stop" if self._what == "ask" else ""
            raise KernelError(
                f"{self._what} of {self._owner}, kernel {locate(self._kernel)}, returns {answer!r}: "
                f"it must return an arm, a whole number from 0 to {arms - 1}{stop}"
            )
        return answer
