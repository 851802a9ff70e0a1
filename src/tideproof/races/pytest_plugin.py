"""Plug-in for pytest whose fixture tests that one function is not slower than another.

The fixture returns a function that races two functions and ends the test: it passes if the new function is
not slower by more than the limit, fails if it is, and is skipped if neither is certain within the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from tideproof.races.race_result import RaceResult


class RaceFixture(Protocol):
    """Type of the pytest fixture `tideproof_bench`, a function that races two functions."""

    def __call__(
        self, base: Callable[[], Any], head: Callable[[], Any], /, *, slower_by: float = 0.02, **options: Any
    ) -> RaceResult:
        """Race two functions, and fail the test if the second is slower by more than a limit."""


@pytest.fixture
def tideproof_bench(record_property: Callable[[str, object], None]) -> RaceFixture:
    """Race two functions: pass if the second is not slower than the first, fail if it is, otherwise skip.

    `tideproof_bench(base, head, slower_by=0.02)` takes the options of `tp.bench`, and returns its result if
    the test passes.
    """

    def race(
        base: Callable[[], Any], head: Callable[[], Any], /, *, slower_by: float = 0.02, **options: Any
    ) -> RaceResult:
        from tideproof.races.callable_race import bench

        result = bench({"base": base, "head": head}, gate=slower_by, **options)
        record_property("tideproof_bench", result.sentence)
        if result.standing == "slower":
            pytest.fail(result.sentence, pytrace=False)
        if result.standing == "undecided":
            pytest.skip(result.sentence)
        return result

    return race
