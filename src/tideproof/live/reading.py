"""Reading an experiment: what it needs is copied under the lock, and computed outside."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from tideproof.errors import NotComparable
from tideproof.estimate.fitted import Fit
from tideproof.files import check_folder, checked_path, replace_text
from tideproof.live import events as e
from tideproof.live.diagnostics import Diagnostics, diagnose
from tideproof.live.handle import Handle, locked
from tideproof.live.history import Record
from tideproof.live.judgement import judge
from tideproof.live.pull import Pull
from tideproof.live.recommendation import Recommendation
from tideproof.live.remarks import Facts, facts
from tideproof.stats.noise import Variance
from tideproof.stats.prior import Prior
from tideproof.table import Table


class Reading(Handle):
    """What an experiment says of itself."""

    @property
    def remaining(self) -> int | None:
        """Pulls that may still be asked for; None without a budget."""
        return self._remaining()

    @locked
    def _remaining(self) -> int | None:
        return self._state.book.remaining

    @property
    def done(self) -> bool:
        """Whether no further pull can be asked for."""
        return self._done()

    @locked
    def _done(self) -> bool:
        book = self._state.book
        if book.remaining == 0 or book.stopped:
            return True
        return bool(self.policy.policy.stops) and self._next_arm(self._label) < 0

    @locked
    def pulls_out(self) -> list[Pull]:
        """Return the pulls whose rewards are awaited, the oldest first."""
        return [self._state.book.pulls[number] for number in self._state.book.out]

    def fit(self, *, variance: Variance = "common", level: float = 0.95) -> Fit:
        """Return the fit of everything told so far, as `tp.fit` would make it."""
        cells = self._cells()
        adaptive = self.policy.policy.adaptive
        return Fit(cells, direction=self.direction, adaptive=adaptive, level=level, variance=variance)

    @locked
    def _cells(self) -> Any:
        places = self._state.numbers.places
        if not places.told:
            raise NotComparable("nothing has been told yet")
        return places.cells(list(self.arms))

    def recommend(self, *, prior: Prior = "exchangeable") -> Recommendation:
        """Say which arm the policy would select now, its margin, how sure that is, and what looks wrong.

        `prior` is what the probability takes for granted of the arms, as in `tp.fit`.
        """
        found, known = self._judged(prior)
        noticed = self._watch.remarks(self._state.events, known, found.groups)
        return replace(found, remarks=found.remarks + noticed)

    def _standing(self) -> str:
        """Say what would be selected; nobody looks at the data for it, nor waits for a probability."""
        return str(judge(*self._evidence()[0], interval=False))

    def _judged(self, prior: Prior = "exchangeable") -> tuple[Recommendation, Facts]:
        evidence, known = self._evidence()
        return judge(*evidence, prior=prior), known

    @locked
    def _evidence(self) -> Any:
        state = self._state
        numbers, book = state.numbers, state.book
        scaled = numbers.scaled()
        chosen = numbers.select(scaled) if numbers.places.told else None
        evidence = (
            [book.arms[arm] for arm in numbers.active],
            None if chosen is None else numbers.active.index(chosen),
            numbers.estimate(scaled),
            numbers.largest(),
            numbers.sign,
            self.policy.policy.adaptive,
            "difference" if scaled is None else numbers.scale,
        )
        return evidence, facts(state)

    def history(self) -> Table:
        """Return rewards from before, every pull in the order of asking, every summary in that of telling.

        A row has `n` rewards, 0 if none was told by itself, with that mean and variance, and the times of
        the clock at which it was asked and told. Its status is "out", "told", "cancelled", "expired",
        "defaulted" (expired, with the default reward), "summarised" (its reward is in a summary), "summary"
        or "warm" (from before). `tp.fit(run.history(), arm="arm", environment="environment",
        reward="reward", n="n", sample_variance="variance")` reads it.
        """
        return self._record().table()

    @locked
    def _record(self) -> Record:
        return Record(self._state)

    def diagnostics(self) -> Diagnostics:
        """Say how it is doing: what is out and lost, whether the fit's assumptions hold, what looks wrong."""
        found, known = self._judged()
        lost, oldest = self._waiting()
        noticed = self._watch.remarks(self._state.events, known, found.groups, looking=False)
        fit = self.fit() if known.environments else None
        return diagnose(fit, known, lost, oldest, found.remarks + noticed)

    @locked
    def _waiting(self) -> tuple[int, float | None]:
        book = self._state.book
        first = next(iter(book.out), None)
        return book.lost, None if first is None else self._now() - book.asked_at[first]

    def report(
        self, path: str | os.PathLike[str], *, variance: Variance = "common", level: float = 0.95
    ) -> None:
        """Write an HTML report of everything told so far, as `tideproof analyze --html` does of a log."""
        from tideproof.report.live import live_report

        check_folder(checked_path(path))
        fit = self.fit(variance=variance, level=level)
        replace_text(path, live_report(fit, self.diagnostics(), self.policy.label))

    @locked
    def events(self) -> list[e.Event]:
        """Return everything that happened, in order."""
        return e.without_old_salts(self._state.events)
