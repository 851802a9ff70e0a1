"""Run a policy as plain Python, and check that it reads only the statistics that it declares."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

from tideproof.core.kernel_linker import ignore_overflow, link, use_interpreter
from tideproof.errors import KernelError
from tideproof.kernels.fit.policy_data import Data, Slot
from tideproof.kernels.simulate.replication_loop import replicate
from tideproof.policies.answer_checks import CheckedKernel
from tideproof.policies.declared_statistics import needed_words, undeclared_read_error
from tideproof.policies.policy_spec import PolicySpec

# Positions of `data` and of the slot among the arguments of each kernel of a policy.
_POSITIONS = {
    "ask": {2: "data", 3: "slot"},
    "tell": {2: "data", 3: "slot"},
    "weigh": {2: "data"},
    "select": {2: "data"},
    "identified": {0: "data"},
}


def watched_loop(spec: PolicySpec) -> Callable[..., Any]:
    """Return an interpreted simulation loop that raises an error if a policy reads undeclared statistics."""
    fill = dict(spec.fill(trace=True))
    watched: dict[str, Callable[..., Any]] = {}
    for name, positions in _POSITIONS.items():
        f = link(fill[name], use_interpreter, fill)
        if name in ("select", "identified"):
            watched[name] = _CheckedReader(f, positions, spec.selection.title, spec.selection.reads)
        else:
            with_rule = spec.policy.reads_with_rule & spec.selection.reads
            watched[name] = _CheckedReader(f, positions, spec.policy.title, spec.policy.reads | with_rule)
    for name, owner in (("ask", spec.policy.title), ("select", spec.selection.title)):
        watched[name] = CheckedKernel(name, owner, fill[name], watched[name])
    return ignore_overflow(link(replicate, use_interpreter, fill | watched))


class _CheckedReader:
    """Wrapper of a policy's function that checks which statistics the function reads.

    The arguments `data` and `slot` are passed as views, which check every read.
    """

    def __init__(
        self, f: Callable[..., Any], positions: dict[int, str], owner: str, reads: frozenset[str]
    ) -> None:
        self._f, self._positions, self._owner, self._reads = f, positions, owner, reads

    def __call__(self, *arguments: Any) -> Any:
        checked, pulls = list(arguments), 0
        for position, what in self._positions.items():
            if what == "data":
                pulls = checked[position].pulls.sum()
            kind = Data if what == "data" else Slot
            checked[position] = _CheckedView(self._owner, self._reads, kind, checked[position], (what,))
        try:
            return self._f(*checked)
        except KernelError as error:
            raise KernelError(f"after {pulls} pulls: {error}") from None


def _calling_frame() -> types.FrameType:
    """Return the stack frame of the policy function that is reading a statistic.

    It is the frame that called the method that calls this function.
    """
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    assert frame.f_back.f_back is not None
    return frame.f_back.f_back


class _CheckedView:
    """View of a policy's data that raises `KernelError` if the policy reads an undeclared statistic.

    Such a statistic is undeclared: the policy does not list it in `reads`. Reads by name, by index and by
    unpacking are checked. A NamedTuple inside the view, such as `data.fit`, becomes a checked view, too; an
    array is returned unchanged. `kind` is the type that the object has if all statistics are declared,
    because undeclared ones may be missing in the object itself.
    """

    def __init__(
        self, owner: str, reads: frozenset[str], kind: Any, view: Any, path: tuple[str, ...]
    ) -> None:
        self._owner, self._reads, self._kind, self._view, self._path = owner, reads, kind, view, path

    def __getattr__(self, name: str) -> Any:
        return self._read(name, _calling_frame())

    def __getitem__(self, index: int) -> Any:
        return self._read(self._kind._fields[index], _calling_frame())

    def __iter__(self) -> Iterator[Any]:
        caller = _calling_frame()
        return iter([self._read(name, caller) for name in self._kind._fields])

    def __len__(self) -> int:
        return len(self._kind._fields)

    def _read(self, name: str, caller: types.FrameType) -> Any:
        """Return a statistic that a policy reads, or raise an error with the line if it is undeclared."""
        path = (*self._path, name)
        value = getattr(self._view, name, None)
        if isinstance(value, tuple):
            return _CheckedView(
                self._owner, self._reads, get_type_hints(self._kind).get(name, type(value)), value, path
            )
        words = needed_words(path[0], path[1:], self._reads)
        if words:
            raise undeclared_read_error(caller.f_code, caller.f_lineno, ".".join(path), words, self._owner)
        return getattr(self._view, name)
