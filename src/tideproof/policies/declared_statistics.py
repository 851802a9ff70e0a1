"""Check that the functions of a policy (kernels) read only the statistics that `Policy.reads` declares.

Statistics that a policy does not declare are not computed.
"""

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

# These map each attribute of `data` and of the slot to the words that declare it. One of the words is enough.
_DATA_WORDS: dict[tuple[str, ...], tuple[str, ...]] = {
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
_SLOT_WORDS: dict[tuple[str, ...], tuple[str, ...]] = {("means",): ("cells", "period", "control")}


def check_words(owner: str, reads: Iterable[str]) -> frozenset[str]:
    """Return the names of statistics in a policy's `reads`; raise an error if a name is unknown."""
    if not isinstance(reads, (set, frozenset)):
        raise InputError(
            f"`reads` of {owner} must be a set of words, such as frozenset({{'fit'}}), not {reads!r}"
        )
    for word in reads:
        if word not in WORDS:
            raise UnknownName.with_suggestion("statistic", word, WORDS, f"in `reads` of {owner}")
    return frozenset(reads)


def needed_words(where: str, attributes: tuple[str, ...], reads: frozenset[str]) -> tuple[str, ...]:
    """List the statistics that contain an attribute; a policy that reads it must declare one of them.

    `where` is "data" or "slot", the kernel argument that has the attribute. The result is empty if the words
    in `reads` already allow the attribute.

    >>> needed_words("data", ("moments", "squares"), frozenset({"means"}))
    ('moments',)
    >>> needed_words("data", ("moments", "mean"), frozenset({"means"}))
    ()
    """
    known = _DATA_WORDS if where == "data" else _SLOT_WORDS
    for depth in (2, 1):
        words = known.get(attributes[:depth])
        if words is not None:
            return () if reads & set(words) else words
    return ()


def undeclared_read_error(
    f: types.FunctionType | types.CodeType, line: int, read: str, words: tuple[str, ...], owner: str
) -> KernelError:
    """Build the error for a kernel that reads a statistic that its policy does not declare in `reads`."""
    choices = join_names(map(repr, words), "or")
    return KernelError(
        f"kernel {locate(f, line)} reads {read}, which is not computed unless it is declared: "
        f"add {choices} to `reads` of {owner}"
    )


def check_reads(owner: str, kernels: Iterable[Callable[..., Any]], reads: frozenset[str]) -> None:
    """Raise `KernelError` if the functions of a policy read a statistic that its `reads` does not declare.

    The functions are kernels; kernels that they call are checked, too.

    `owner` names the policy or selection rule, in words for the error message.

    This check inspects the source code. It recognises `data` and `slot` by these names only, and it does not
    look into kernels that fill holes. `tideproof.testing` checks the rest while a policy runs.
    """
    for f in kernels:
        for g, where, attributes, line in _all_reads(f):
            words = needed_words(where, attributes, reads)
            if words:
                raise undeclared_read_error(g, line, ".".join((where, *attributes[:2])), words, owner)


@cache
def _all_reads(f: Any) -> tuple[tuple[Any, str, tuple[str, ...], int], ...]:
    """Return all attributes of `data` (statistics) and `slot` (environment) that a policy's function reads.

    Reads in kernels that the function calls are included.
    """
    return tuple(_reads(f, set()))


def _reads(f: Any, seen: set[Any]) -> Iterator[tuple[Any, str, tuple[str, ...], int]]:
    """Yield each attribute of `data` (statistics) and `slot` (environment) that a policy's function reads.

    Reads in kernels that the function calls are included. Each item is the kernel, "data" or "slot", the
    attribute path and the line number.
    """
    seen.add(f)
    for reference in find_references(f.__code__):
        if reference.local and reference.name in ("data", "slot") and reference.attributes:
            yield f, reference.name, reference.attributes, reference.line
        elif not reference.local:
            called = f.__globals__.get(reference.name)
            if is_kernel(called) and called not in seen:
                yield from _reads(called, seen)
