"""Table of all pulls, rewards and reward summaries of an experiment, built without holding its lock."""

from __future__ import annotations

from typing import Any

from tideproof.experiment.events import event_records as e
from tideproof.experiment.pull import PullStatus
from tideproof.experiment.state.experiment_state import State
from tideproof.table import Table

Row = tuple[str | None, str, Any, int, float | None, float | None, str, float | None, float | None]
COLUMNS = ("pull", "arm", "environment", "n", "reward", "variance", "status", "asked_at", "told_at")


class HistoryData:
    """Copy of an experiment's data at one point in time, from which the history table is built.

    Lists whose items can change are copied at once. Lists that only grow are shared, and read up to their
    length at that moment when the table is built outside the lock.
    """

    def __init__(self, state: State) -> None:
        book = state.book
        self.status, self.rewards = list(book.status), list(book.rewards)
        self.arms = list(book.arms)
        self._summarised, self._summary_count = book.summaries, len(book.summaries)
        self._pulls_asked, self._times = book.pulls, book.asked_at
        self._events, self._event_count = state.events, len(state.events)
        self._window = state.settings.has_window
        self._labels = state.book.tide != "hidden"

    @property
    def events(self) -> list[e.Event]:
        """Events of the experiment up to the time of the copy."""
        return list(self._events[: self._event_count])

    def table(self) -> Table:
        """Return a table of all pulls and rewards of the experiment.

        Its rows are rewards from before the experiment, then pulls, then reward summaries. Pulls are in the
        order of asking.

        The column `n` is the number of rewards of a row. It is 0 for a pull without a reward of its own.
        """
        rows = [*self._warm(), *self._pulls(), *self._summaries()]
        return Table(dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)) if rows else _EMPTY)

    def _warm(self) -> list[Row]:
        found: list[Row] = []
        for event in self.events:
            if isinstance(event, e.Warmed):
                for arm, label, n, mean, squares in event.cells:
                    variance = squares / (n - 1) if n > 1 else None
                    found.append((None, self.arms[arm], label, n, mean, variance, "warm", None, event.at))
        return found

    def _pulls(self) -> list[Row]:
        told_at = self._told_at()
        count = len(self.status)
        known = zip(self._pulls_asked[:count], self.rewards, self.status, self._times[:count], strict=True)
        return [
            (
                pull.id,
                pull.arm,
                pull.environment if self._labels else None,
                0 if reward is None or status == PullStatus.PENDING else 1,
                None
                if status == PullStatus.PENDING
                else reward,  # a reward that is held back does not count yet
                None,
                status.value,
                at,
                told_at.get(number),
            )
            for number, (pull, reward, status, at) in enumerate(known)
        ]

    def _told_at(self) -> dict[int, float]:
        """Return the time at which each pull got its current reward, by pull number."""
        found: dict[int, float] = {}
        closed: set[int] = set()
        for event in self.events:
            if isinstance(event, (e.Told, e.Added)):
                found.update({pull: event.at for pull in event.pulls if pull not in closed})
            elif isinstance(event, e.Expired) and event.reward is not None:
                found.update(dict.fromkeys(event.pulls, event.at))
                closed.update(event.pulls if self._window else ())
            elif isinstance(event, e.Corrected):
                found[event.pull] = event.at
        return found

    def _summaries(self) -> list[Row]:
        return [
            (
                f"#{index}" if key is None else key,
                summary.arm,
                summary.environment,
                summary.n,
                summary.mean,
                summary.variance if summary.n > 1 else None,
                "summary",
                None,
                at,
            )
            for index, (key, summary, at) in enumerate(self._summarised[: self._summary_count], 1)
        ]


_EMPTY: dict[str, list[Any]] = {name: [] for name in COLUMNS}
