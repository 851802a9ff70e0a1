"""The words of `Policy.reads`: what each makes ready, and whether kernels read only what they declared."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from tideproof.core.function_references import find_references, locate
from tideproof.core.kernel_linker import is_kernel
from tideproof.errors import InputError, KernelError, UnknownName
from tideproof.text import join_names

WORDS = ("means", "moments", "fit", "sums", "reward", "cells", "period", "control")

# What is read, and the words that make it ready: one of them is enough.
_DATA: dict[tuple[str, ...], tuple[str, ...]] = {
    ("fit",): ("fit",),
    ("moments",): ("means", "moments", "sums"),
    ("moments", "told"): ("means", "moments"),
    ("moments", "mean"): ("means", "moments"),
    ("moments", "squares"): ("moments",),
    ("moments", "sums"): ("sums",),
    ("moments", "weights"): ("sums",),
    ("moments", "epoch"): ("sums",),
    ("periods", "top"): ("period",),
    ("periods", "bottom"): ("period",),
    ("periods", "versus"): ("control",),
    ("periods", "share"): ("control",),
    ("told",): ("reward",),
    ("reward",): ("reward",),
    ("squares",): ("reward",),
}
_SLOT: dict[tuple[str, ...], tuple[str, ...]] = {("means",): ("cells", "period", "control")}


def known_words(what: str, reads: Iterable[str]) -> frozenset[str]:
    """Return the words as a set, or say which one nobody knows."""
    if not isinstance(reads, (set, frozenset)):
        raise InputError(
            f"`reads` of {what} must be a set of words, such as frozenset({{'fit'}}), not {reads!r}"
        )
    for word in reads:
        if word not in WORDS:
            raise UnknownName.with_suggestion("statistic", word, WORDS, f"in `reads` of {what}")
    return frozenset(reads)


def needed_words(where: str, attributes: tuple[str, ...], reads: frozenset[str]) -> tuple[str, ...]:
    """Return the words of which one must be declared to read this of `data` or the `slot`; none if it may.

    >>> needed_words("data", ("moments", "squares"), frozenset({"means"}))
    ('moments',)
    >>> needed_words("data", ("moments", "mean"), frozenset({"means"}))
    ()
    """
    known = _DATA if where == "data" else _SLOT
    for depth in (2, 1):
        words = known.get(attributes[:depth])
        if words is not None:
            return () if reads & set(words) else words
    return ()


def undeclared(
    f: types.FunctionType | types.CodeType, line: int, read: str, words: tuple[str, ...], whose: str
) -> KernelError:
    """Build the error for a kernel that reads what nobody made ready for it."""
    either = join_names(map(repr, words), "or")
    return KernelError(
        f"kernel {locate(f, line)} reads {read}, which stays empty unless it is declared: "
        f"add {either} to `reads` of {whose}"
    )


def check_reads(whose: str, kernels: Iterable[Callable[..., Any]], reads: frozenset[str]) -> None:
    """Raise unless the kernels, and those they call with the `data` and the `slot`, read what is declared.

    `whose` is the policy or the selection rule that has the kernels and declares what they read.

    It follows the names `data` and `slot`, not other names for them, nor kernels that fill holes:
    `tideproof.testing` watches what is read when a policy runs.
    """
    for f in kernels:
        for g, where, attributes, line in _all_reads(f):
            words = needed_words(where, attributes, reads)
            if words:
                raise undeclared(g, line, ".".join((where, *attributes[:2])), words, whose)


@cache
def _all_reads(f: Any) -> tuple[tuple[Any, str, tuple[str, ...], int], ...]:
    return tuple(_reads(f, set()))


def _reads(f: Any, seen: set[Any]) -> Iterator[tuple[Any, str, tuple[str, ...], int]]:
    """Yield what the kernel and all it calls read: kernel, `data` or `slot`, attributes, line."""
    seen.add(f)
    for reference in find_references(f.__code__):
        if reference.local and reference.name in ("data", "slot") and reference.attributes:
            yield f, reference.name, reference.attributes, reference.line
        elif not reference.local:
            called = f.__globals__.get(reference.name)
            if is_kernel(called) and called not in seen:
                yield from _reads(called, seen)
