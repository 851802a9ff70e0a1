"""What `ask` and `select` may answer, checked where kernels run interpreted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tideproof.core.function_references import locate
from tideproof.errors import KernelError


class CheckedKernel:
    """The interpreted twin of `ask` or `select`, which raises unless it returns an arm.

    Compiled twins are not checked: the contract of `tideproof.testing` runs the interpreted one first.
    """

    def __init__(self, what: str, owner: str, kernel: Any, twin: Callable[..., Any]) -> None:
        self._what, self._owner, self._kernel, self._twin = what, owner, kernel, twin

    def __call__(self, params: Any, state: Any, data: Any, *rest: Any) -> Any:
        """Return what the kernel returns, once that is known to be an arm."""
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
