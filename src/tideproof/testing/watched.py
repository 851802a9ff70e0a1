"""A policy's interpreted program that watches what its kernels read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tideproof.core.link import interpreted, link, quietly
from tideproof.kernels.replicate import replicate
from tideproof.policies.reads import needed_words, undeclared
from tideproof.policies.spec import PolicySpec

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
    watched = {
        name: _Watching(link(fill[name], interpreted, fill), places, spec.reads)
        for name, places in _PLACES.items()
    }
    return quietly(link(replicate, interpreted, fill | watched))


class _Watching:
    """A kernel that receives `data` and slot watched."""

    def __init__(self, f: Callable[..., Any], places: dict[int, str], reads: frozenset[str]) -> None:
        self._f, self._places, self._reads = f, places, reads

    def __call__(self, *arguments: Any) -> Any:
        given = list(arguments)
        for place, what in self._places.items():
            given[place] = _Watched(what, given[place], self._reads, ())
        return self._f(*given)


class _Watched:
    """`data` or a slot, of which only what was declared can be read.

    A state inside it, such as `data.fit`, is watched too; an array is handed out as it is.
    """

    def __init__(self, what: str, view: Any, reads: frozenset[str], path: tuple[str, ...]) -> None:
        self._what, self._view, self._reads, self._path = what, view, reads, path

    def __getattr__(self, name: str) -> Any:
        path = (*self._path, name)
        value = getattr(self._view, name)
        if isinstance(value, tuple):
            return _Watched(self._what, value, self._reads, path)
        words = needed_words(self._what, path, self._reads)
        if words:
            caller = sys._getframe(1)
            raise undeclared(caller.f_code, caller.f_lineno, ".".join((self._what, *path)), words)
        return value
