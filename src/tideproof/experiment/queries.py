"""Reading an experiment: what it needs is copied under the lock, and computed outside."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from tideproof import checks
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.scale_selection import ScaleChoice
from tideproof.draw.svg_picture import Picture, save_if_requested
from tideproof.errors import InputError, NotComparable
from tideproof.experiment.events import event_records as e
from tideproof.experiment.experiment_diagnostics import Diagnostics, diagnose
from tideproof.experiment.history_table import Record
from tideproof.experiment.locking import Handle, locked
from tideproof.experiment.pull import CANCELLED, Pull
from tideproof.experiment.recommendation import COARSE, Recommendation
from tideproof.experiment.recommendation_builder import judge
from tideproof.experiment.state.hidden_tide_fit import TideFit, tide_fit
from tideproof.experiment.state.hidden_tide_state import HiddenTideState
from tideproof.experiment.stopping.anytime_intervals import always_apart
from tideproof.experiment.tide_options import fitting
from tideproof.experiment.unit_assignments import checked_unit, hashed
from tideproof.experiment.usage_warnings import Facts, facts
from tideproof.files import check_writable, require_path, write_text_atomically
from tideproof.stats.best.p_best import Prior, checked_prior
from tideproof.stats.cells import Cells, group_members
from tideproof.stats.variance.variance_models import Variance
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
        """Whether no further pull can be asked for: the budget is spent, or an arm is surely the best."""
        return self._done()

    @locked
    def _done(self) -> bool:
        self._look()
        book = self._state.book
        if book.remaining == 0 or book.stopped or book.sure is not None:
            return True
        return bool(self.policy.policy.stops) and self._next_arm(self._label) < 0

    def _look(self) -> None:
        """Ask the rule, if there is one and something was told since it was asked last; under the lock."""
        rule, state = self._rule, self._state
        if rule is None or state.book.sure is not None or not self._looks.due(state):
            return
        found = rule.look(state, lambda: self._fitted(self._cells(state.numbers.active)()))
        if found.arm is not None:
            self._state.add(e.Sure(self._now(), None, found.arm, found.rule, rule.confidence))
        self._looks.note(state, found)

    @locked
    def pulls_out(self) -> list[Pull]:
        """Return the pulls whose rewards are awaited, the oldest first."""
        return [self._state.book.pulls[number] for number in self._state.book.out]

    @locked
    def pull_of(self, unit: str | int) -> Pull | None:
        """Return the pull of a unit, None if it has none."""
        name, book = checked_unit(unit), self._state.book
        number = book.units.get(hashed(name, book.salt)) if book.salt else None
        return None if number is None or book.status[number] == CANCELLED else book.pulls[number]

    @property
    def reservations(self) -> int:
        """How many pulls that are out no unit has seen yet, if it must."""
        return self._reserved()

    @locked
    def _reserved(self) -> int:
        return len(self._state.book.reserved)

    def fit(
        self,
        *,
        variance: Variance = "auto",
        scale: ScaleChoice | None = None,
        level: float = 0.95,
        anytime: bool = False,
    ) -> Fit | Any:
        """Return the fit of everything told so far, as `tp.fit` would make it.

        Where the tide is followed (`tide`) it is a `TideFit`, what the filter knows of the arms that are
        played, and `level` the only choice. Else it is on the scale of the experiment, unless another is
        given; by differences while rewards say nothing on it, all of them being 0, and where another
        `variance` than "auto" needs it. With a policy that allows for unequal noise, interactions or wrong
        cells, "auto" does so, too; any other `variance` only as it says. Its limits are for one look at the
        end of a budget; with `anytime` for all looks.
        """
        if self._follows:
            if (variance, scale, anytime) != ("auto", None, False):
                raise InputError(f"variance, scale and anytime need labels: tide={self.tide!r} takes a level")
            return self._followed(checks.require_level(level))
        return self._fitted(self._cells(range(len(self.arms)))(), variance, scale, level, anytime=anytime)

    def _fitted(
        self,
        cells: Cells,
        variance: Variance = "auto",
        scale: ScaleChoice | None = None,
        level: float = 0.95,
        prior: Prior = "exchangeable",
        anytime: bool = False,
    ) -> Fit:
        made = partial(
            Fit,
            cells,
            direction=self.direction,
            adaptive=self.policy.policy.adaptive,
            level=level,
            prior=prior,
            anytime=anytime,
        )
        ours = [{"scale": self.scale}] if self.scale != "difference" else fitting(self.policy)
        for options in ours if scale is None and variance == "auto" else ():
            if anytime and "variance" in options:
                raise InputError(
                    f"anytime=True is not known to hold with what {self.policy.label} allows for; "
                    f"fit(variance='common', anytime=True) takes noise for equal and one tide for all"
                )
            with suppress(InputError):  # too little to go by: all rewards are 0, of odds 1, or alone
                return made(**options)
        return made(variance=variance, scale=scale or "difference")

    @locked
    def _cells(self, arms: Sequence[int]) -> Callable[[], Cells]:
        """Copy what the cells of these arms are made of, where nobody waits for it."""
        places, book = self._state.numbers.places, self._state.book
        if not places.told:
            raise NotComparable("nothing has been told yet")
        cells = places.cells([self.arms[arm] for arm in arms], arms)
        if self._state.created.options.get("rewards") == "conversions":  # their means say all
            return lambda: cells
        pulls = self._singles.copied(book)
        return lambda: self._singles.added(cells, pulls)

    def recommend(self, *, prior: Prior = "exchangeable") -> Recommendation:
        """Say which arm the policy would select now, its margin, how sure that is, and what looks wrong.

        Margin, interval and probability are those of `fit()`, of the arms that are played. With a
        `confidence` the interval holds at all looks. `prior` is what the probability takes for granted of the
        arms, as in `tp.fit`.
        """
        found, known = self._judged(prior)
        noticed = self._watch.remarks(self._state.events, known, found.groups)
        return replace(found, remarks=found.remarks + noticed)

    def _judged(self, prior: Prior = "exchangeable") -> tuple[Recommendation, Facts]:
        checked_prior(prior)
        found, made, limits, known = self._evidence(prior)
        found = replace(found, prior=prior)
        return (found if made is None else judge(found, made(), limits)), known

    @locked
    def _evidence(self, prior: Prior) -> tuple[Recommendation, Any, Any, Facts]:
        self._look()
        selected, state = self._selected(), self._state
        if selected.arm is None:
            return selected, None, None, facts(state)
        if self._follows:
            fit = self._followed(prior=prior)
            return selected, lambda: fit, None, facts(state)
        numbers, number = state.numbers, {arm: place for place, arm in enumerate(state.book.arms)}
        ever = always_apart(numbers) if selected.anytime else None
        limits = None if ever is None else lambda arm, rival: ever(number[arm], number[rival])
        cells, ever_by_fit = self._cells(numbers.active), selected.anytime and limits is None

        def made() -> Fit:
            return self._fitted(cells(), prior=prior, anytime=ever_by_fit)

        return selected, made, limits, facts(state)

    @property
    def _follows(self) -> bool:
        return isinstance(self._state.numbers, HiddenTideState)

    @property
    def _coarse(self) -> bool:
        """Whether the tide is followed by rewards that cannot show it."""
        numbers = self._state.numbers
        return isinstance(numbers, HiddenTideState) and numbers.coarse()

    @locked
    def _followed(self, level: float = 0.95, prior: Prior = "exchangeable") -> TideFit:
        """Return what the filter knows, where the tide is followed."""
        self._state.settle()
        numbers = self._state.numbers
        assert isinstance(numbers, HiddenTideState)
        if not numbers.known()[0]:
            raise NotComparable("nothing has been told yet")
        if self._coarse:
            raise NotComparable(COARSE)
        return tide_fit(numbers, self._state.book.arms, self.direction, level, prior)

    @locked
    def _selected(self) -> Recommendation:
        """Return what would be selected; nobody who is refused waits for more."""
        self._state.settle()
        numbers, book = self._state.numbers, self._state.book
        told, component = numbers.known()
        names = [book.arms[arm] for arm in numbers.active]
        groups = tuple(tuple(names[i] for i in group) for _, group in group_members(component))
        arm = None
        if book.sure is not None:
            arm = book.arms[book.sure.arm]
        elif told and len(groups) == 1:
            arm = book.arms[numbers.select(numbers.scaled())]
        adaptive, coarse = self.policy.policy.adaptive, self._coarse
        arm = None if coarse else arm
        found = Recommendation(
            arm, None, None, None, None, told, groups, adaptive, (COARSE,) if coarse else (),
            direction=self.direction, scale=self.scale, tide="labels" if book.tide == "auto" else book.tide,
        )  # fmt: skip
        return found if self._rule is None else replace(found, **self._rule.said(book))

    def history(self) -> Table:
        """Return rewards from before, every pull in the order of asking, every summary in that of telling.

        A row has `n` rewards, 0 if none was told by itself, with that mean and variance, and the times of
        the clock at which it was asked and told. Its status is "out", "told", "cancelled", "expired",
        "defaulted" (expired, with the default reward), "late" (the same, and told after its window had
        closed), "summarised" (its reward is in a summary), "summary" or "warm" (from before).
        `tp.fit(run.history(), arm="arm", environment="environment", reward="reward", n="n",
        sample_variance="variance")` reads it.
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
        fit = None if not known.environments or self._coarse else self.fit()
        said = found.remarks + noticed
        if fit is None or isinstance(fit, Fit):
            return diagnose(fit, known, lost, oldest, said)
        return diagnose(None, known, lost, oldest, said, fit.said())

    @locked
    def _waiting(self) -> tuple[int, float | None]:
        book = self._state.book
        first = next(iter(book.out), None)
        return book.lost, None if first is None else self._now() - book.asked_at[first]

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        variance: Variance = "auto",
        scale: ScaleChoice | None = None,
        level: float = 0.95,
    ) -> None:
        """Write an HTML report of `fit(...)`, as `tideproof analyze --html` does of a log."""
        from tideproof.report.experiment_report import live_report

        check_writable(require_path(path))
        fit = self.fit(variance=variance, scale=scale, level=level)
        if not isinstance(fit, Fit):
            raise InputError(f"a report needs labels: with tide={self.tide!r}, recommend() and fit() say all")
        write_text_atomically(path, live_report(fit, self.diagnostics(), self.policy.label))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """Draw who is ahead, the arms, the tide and who got which share; save it if a path is given.

        What comes back shows itself in a notebook, and `.save(path)` keeps it, as `.svg` or `.html`.
        """
        from tideproof.report.plots import run_picture, tide_picture

        found, _ = self._judged()
        fit = self.fit()
        if isinstance(fit, Fit):
            return save_if_requested(run_picture(fit, str(found)), path)
        raw: dict[Any, list[float]] = {}
        for row in self.history():
            if row["reward"] is not None:
                raw.setdefault(row["arm"], []).append(row["reward"])
        means = {arm: sum(rewards) / len(rewards) for arm, rewards in raw.items()}
        return save_if_requested(tide_picture(fit, means, str(found)), path)

    @locked
    def events(self) -> list[e.Event]:
        """Return everything that happened, in order."""
        return e.without_old_salts(self._state.events)
