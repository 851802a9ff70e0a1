"""A policy's interpreted program that watches what its kernels read."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

from tideproof.core.kernel_linker import ignore_overflow, link, use_interpreter
from tideproof.errors import KernelError
from tideproof.kernels.fit.environment_slot import Slot
from tideproof.kernels.fit.policy_data import Data
from tideproof.kernels.simulate.replication_loop import replicate
from tideproof.policies.answer_checks import CheckedKernel
from tideproof.policies.declared_reads import needed_words, undeclared
from tideproof.policies.policy_spec import PolicySpec

# Where `data` and the slot are among the arguments of a policy's kernels.
_PLACES = {
    "ask": {2: "data", 3: "slot"},
    "tell": {2: "data", 3: "slot"},
    "weigh": {2: "data"},
    "select": {2: "data"},
    "identified": {0: "data"},
}


def watched_loop(spec: PolicySpec) -> Callable[..., Any]:
    """Return the interpreted replication loop, with all watched that the policy's kernels receive."""
    fill = dict(spec.fill(trace=True))
    watched: dict[str, Callable[..., Any]] = {}
    for name, places in _PLACES.items():
        f = link(fill[name], use_interpreter, fill)
        if name in ("select", "identified"):
            watched[name] = _Watching(f, places, spec.selection.title, spec.selection.reads)
        else:
            with_rule = spec.policy.reads_with_rule & spec.selection.reads
            watched[name] = _Watching(f, places, spec.policy.title, spec.policy.reads | with_rule)
    for name, owner in (("ask", spec.policy.title), ("select", spec.selection.title)):
        watched[name] = CheckedKernel(name, owner, fill[name], watched[name])
    return ignore_overflow(link(replicate, use_interpreter, fill | watched))


class _Watching:
    """A kernel that receives `data` and slot watched."""

    def __init__(
        self, f: Callable[..., Any], places: dict[int, str], owner: str, reads: frozenset[str]
    ) -> None:
        self._f, self._places, self._owner, self._reads = f, places, owner, reads

    def __call__(self, *arguments: Any) -> Any:
        given, pulls = list(arguments), 0
        for place, what in self._places.items():
            if what == "data":
                pulls = given[place].pulls.sum()
            kind = Data if what == "data" else Slot
            given[place] = _Watched(self._owner, self._reads, kind, given[place], (what,))
        try:
            return self._f(*given)
        except KernelError as error:
            raise KernelError(f"after {pulls} pulls: {error}") from None


class _Watched:
    """`data` or a slot, of which only what was declared can be read, by name, by place or unpacked.

    A state inside it, such as `data.fit`, is watched too; an array is handed out as it is. `kind` is the
    type that it has where all is declared: what nobody reads may not be there at all.
    """

    def __init__(
        self, owner: str, reads: frozenset[str], kind: Any, view: Any, path: tuple[str, ...]
    ) -> None:
        self._owner, self._reads, self._kind, self._view, self._path = owner, reads, kind, view, path

    def __getattr__(self, name: str) -> Any:
        return self._read(name, sys._getframe(1))

    def __getitem__(self, place: int) -> Any:
        return self._read(self._kind._fields[place], sys._getframe(1))

    def __iter__(self) -> Iterator[Any]:
        caller = sys._getframe(1)
        return iter([self._read(name, caller) for name in self._kind._fields])

    def __len__(self) -> int:
        return len(self._kind._fields)

    def _read(self, name: str, caller: types.FrameType) -> Any:
        path = (*self._path, name)
        value = getattr(self._view, name, None)
        if isinstance(value, tuple):
            return _Watched(
                self._owner, self._reads, get_type_hints(self._kind).get(name, type(value)), value, path
            )
        words = needed_words(path[0], path[1:], self._reads)
        if words:
            raise undeclared(caller.f_code, caller.f_lineno, ".".join(path), words, self._owner)
        return getattr(self._view, name)
