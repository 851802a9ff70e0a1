"""Check that the kernels `ask` and `select` of a policy return a valid arm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tideproof.core.function_references import locate
from tideproof.errors import KernelError


class CheckedKernel:
    """Interpreted `ask` or `select` kernel that raises `KernelError` unless it returns a valid arm.

    Compiled kernels are not checked, because the tests of `tideproof.testing` run the interpreted kernel
    first.
    """

    def __init__(self, what: str, owner: str, kernel: Any, twin: Callable[..., Any]) -> None:
        self._what, self._owner, self._kernel, self._twin = what, owner, kernel, twin

    def __call__(self, params: Any, state: Any, data: Any, *rest: Any) -> Any:
        """Call the kernel and return the arm it chose, after checking that the arm exists."""
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
