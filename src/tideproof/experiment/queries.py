"""Methods of an experiment that read it: data are copied under the lock and evaluated outside of it."""

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
from tideproof.experiment.history_table import HistoryData
from tideproof.experiment.locking import ExperimentBase, locked
from tideproof.experiment.pull import Pull, PullStatus
from tideproof.experiment.recommendation import COARSE, Recommendation
from tideproof.experiment.recommendation_builder import add_evidence
from tideproof.experiment.state.hidden_tide_fit import TideFit, tide_fit
from tideproof.experiment.state.hidden_tide_state import HiddenTideState
from tideproof.experiment.stopping.anytime_intervals import anytime_bounds
from tideproof.experiment.tide_options import fit_options
from tideproof.experiment.unit_assignments import checked_unit, hash_unit
from tideproof.experiment.usage_warnings import UsageFacts, usage_facts
from tideproof.files import check_writable, require_path, write_text_atomically
from tideproof.stats.best.p_best import Prior, checked_prior
from tideproof.stats.cells import Cells, group_members
from tideproof.stats.variance.variance_models import Variance
from tideproof.table import Table


class QueryMethods(ExperimentBase):
    """Base class of `Experiment` with the methods that read results."""

    @property
    def remaining(self) -> int | None:
        """Number of pulls that may still be asked for; None without a budget."""
        return self._remaining()

    @locked
    def _remaining(self) -> int | None:
        return self._state.book.remaining

    @property
    def done(self) -> bool:
        """Whether the experiment is over: budget spent, stopped, or one arm proven best by the rule."""
        return self._done()

    @locked
    def _done(self) -> bool:
        self._check_stopping()
        book = self._state.book
        if book.remaining == 0 or book.stopped or book.sure is not None:
            return True
        return bool(self.policy.policy.stops) and self._next_arm(self._label) < 0

    def _check_stopping(self) -> None:
        """Check the stopping rule if there are new rewards, and record an event if it is met."""
        rule, state = self._rule, self._state
        if rule is None or state.book.sure is not None or not self._check_schedule.is_due(state):
            return
        found = rule.check(state, lambda: self._fit_cells(self._copy_cells(state.policy_state.active)()))
        if found.arm is not None:
            self._state.add(e.Sure(self._now(), None, found.arm, found.rule, rule.confidence))
        self._check_schedule.note(state, found)

    @locked
    def pulls_out(self) -> list[Pull]:
        """Return the pending pulls, the oldest first."""
        return [self._state.book.pulls[number] for number in self._state.book.pending]

    @locked
    def pull_of(self, unit: str | int) -> Pull | None:
        """Return the pull of a unit, or None if the unit has none."""
        name, book = checked_unit(unit), self._state.book
        number = book.units.get(hash_unit(name, book.salt)) if book.salt else None
        return None if number is None or book.status[number] == PullStatus.CANCELLED else book.pulls[number]

    @property
    def reservations(self) -> int:
        """Number of pending pulls that a unit must see before they count, and has not seen yet."""
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
        """Return the fit of all rewards recorded so far, as `tp.fit` computes it.

        With a hidden tide (`tide`) the result is a `TideFit` of the active arms, and `level` is the only
        choice. Otherwise the fit uses the scale of the experiment, unless `scale` is given. It uses
        differences while the rewards say nothing on that scale (all are 0), and where a `variance` other than
        "auto" requires it. With a policy that allows for unequal noise, interactions or outlying cells,
        "auto" does so, too. Confidence intervals are valid for one inspection at the end of a budget; with
        `anytime` they are valid at all inspections.
        """
        if self._has_hidden_tide:
            if (variance, scale, anytime) != ("auto", None, False):
                raise InputError(
                    f"variance, scale and anytime need environment labels: with tide={self.tide!r} "
                    "only level can be given"
                )
            return self._hidden_tide_fit(checks.require_level(level))
        return self._fit_cells(
            self._copy_cells(range(len(self.arms)))(), variance, scale, level, anytime=anytime
        )

    def _fit_cells(
        self,
        cells: Cells,
        variance: Variance = "auto",
        scale: ScaleChoice | None = None,
        level: float = 0.95,
        prior: Prior = "exchangeable",
        anytime: bool = False,
    ) -> Fit:
        make_fit = partial(
            Fit,
            cells,
            direction=self.direction,
            adaptive=self.policy.policy.adaptive,
            level=level,
            prior=prior,
            anytime=anytime,
        )
        own_options = [{"scale": self.scale}] if self.scale != "difference" else fit_options(self.policy)
        for options in own_options if scale is None and variance == "auto" else ():
            if anytime and "variance" in options:
                raise InputError(
                    f"anytime=True is not known to be valid with the noise model of {self.policy.label}; "
                    f"fit(variance='common', anytime=True) assumes equal noise and one tide for all arms"
                )
            with suppress(InputError):  # too few rewards for this model, or all of them are 0 or 1
                return make_fit(**options)
        return make_fit(variance=variance, scale=scale or "difference")

    @locked
    def _copy_cells(self, arms: Sequence[int]) -> Callable[[], Cells]:
        """Return a function that builds the cells of these arms outside the lock."""
        environments, book = self._state.policy_state.environments, self._state.book
        if not environments.with_rewards:
            raise NotComparable("no reward has been recorded yet")
        cells = environments.cells([self.arms[arm] for arm in arms], arms)
        if self._state.settings.rewards == "conversions":  # the mean determines all moments of 0/1 rewards
            return lambda: cells
        pulls = self._single_rewards.copy_rewards(book)
        return lambda: self._single_rewards.add_moments(cells, pulls)

    def recommend(self, *, prior: Prior = "exchangeable") -> Recommendation:
        """Return the arm that the policy would select now, with its margin, confidence and usage warnings.

        Margin, interval and probability are those of `fit()` for the active arms. With a `confidence` level
        the interval is valid at all inspections. `prior` is the prior of the probability, as in `tp.fit`.
        """
        found, known = self._recommend(prior)
        noticed = self._usage_monitor.remarks(self._state.events, known, found.groups)
        return replace(found, remarks=found.remarks + noticed)

    def _recommend(self, prior: Prior = "exchangeable") -> tuple[Recommendation, UsageFacts]:
        checked_prior(prior)
        found, made, limits, known = self._evidence(prior)
        found = replace(found, prior=prior)
        return (found if made is None else add_evidence(found, made(), limits)), known

    @locked
    def _evidence(self, prior: Prior) -> tuple[Recommendation, Any, Any, UsageFacts]:
        self._check_stopping()
        selected, state = self._selected(), self._state
        if selected.arm is None:
            return selected, None, None, usage_facts(state)
        if self._has_hidden_tide:
            fit = self._hidden_tide_fit(prior=prior)
            return selected, lambda: fit, None, usage_facts(state)
        policy_state, number = state.policy_state, {arm: index for index, arm in enumerate(state.book.arms)}
        bounds = anytime_bounds(policy_state) if selected.anytime else None
        limits = None if bounds is None else lambda arm, rival: bounds(number[arm], number[rival])
        cells, anytime_by_fit = self._copy_cells(policy_state.active), selected.anytime and limits is None

        def made() -> Fit:
            return self._fit_cells(cells(), prior=prior, anytime=anytime_by_fit)

        return selected, made, limits, usage_facts(state)

    @property
    def _has_hidden_tide(self) -> bool:
        return isinstance(self._state.policy_state, HiddenTideState)

    @property
    def _is_coarse(self) -> bool:
        """Whether a hidden tide cannot be estimated from rewards of this kind, such as 0/1 rewards."""
        policy_state = self._state.policy_state
        return isinstance(policy_state, HiddenTideState) and policy_state.coarse()

    @locked
    def _hidden_tide_fit(self, level: float = 0.95, prior: Prior = "exchangeable") -> TideFit:
        """Return the fit of the hidden-tide filter."""
        self._state.update_policy_state()
        policy_state = self._state.policy_state
        assert isinstance(policy_state, HiddenTideState)
        if not policy_state.known()[0]:
            raise NotComparable("no reward has been recorded yet")
        if self._is_coarse:
            raise NotComparable(COARSE)
        return tide_fit(policy_state, self._state.book.arms, self.direction, level, prior)

    @locked
    def _selected(self) -> Recommendation:
        """Return the recommendation without the evidence of a fit, which takes longer."""
        self._state.update_policy_state()
        policy_state, book = self._state.policy_state, self._state.book
        told, component = policy_state.known()
        names = [book.arms[arm] for arm in policy_state.active]
        groups = tuple(tuple(names[i] for i in group) for _, group in group_members(component))
        arm = None
        if book.sure is not None:
            arm = book.arms[book.sure.arm]
        elif told and len(groups) == 1:
            arm = book.arms[policy_state.select(policy_state.rescaled())]
        adaptive, coarse = self.policy.policy.adaptive, self._is_coarse
        arm = None if coarse else arm
        found = Recommendation(
            arm, None, None, None, None, told, groups, adaptive, (COARSE,) if coarse else (),
            direction=self.direction, scale=self.scale, tide="labels" if book.tide == "auto" else book.tide,
        )  # fmt: skip
        return found if self._rule is None else replace(found, **self._rule.recommendation_fields(book))

    def history(self) -> Table:
        """Return a table of all warm-start rewards, pulls and summaries.

        Warm-start rewards come first, then pulls in the order of asking, then summaries in the order of
        telling. A row has `n` rewards with that mean and variance (0 for a pull without a reward of its own),
        and the times at which it was asked for and told. The status is "out" (pending), "told", "cancelled",
        "expired", "defaulted" (expired, with the default reward), "late" (defaulted, and told after the
        window had closed), "summarised" (its reward is in a summary), "summary" or "warm" (from before the
        experiment). `tp.fit(run.history(), arm="arm", environment="environment", reward="reward", n="n",
        sample_variance="variance")` reads the table.
        """
        return self._history_data().table()

    @locked
    def _history_data(self) -> HistoryData:
        return HistoryData(self._state)

    def diagnostics(self) -> Diagnostics:
        """Return the progress of the experiment, tests of its assumptions, and usage warnings."""
        found, known = self._recommend()
        lost, oldest = self._lost_and_oldest()
        noticed = self._usage_monitor.remarks(self._state.events, known, found.groups, looking=False)
        fit = None if not known.environments or self._is_coarse else self.fit()
        remarks = found.remarks + noticed
        if fit is None or isinstance(fit, Fit):
            return diagnose(fit, known, lost, oldest, remarks)
        return diagnose(None, known, lost, oldest, remarks, fit.said())

    @locked
    def _lost_and_oldest(self) -> tuple[int, float | None]:
        book = self._state.book
        first = next(iter(book.pending), None)
        return book.lost, None if first is None else self._now() - book.asked_at[first]

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        variance: Variance = "auto",
        scale: ScaleChoice | None = None,
        level: float = 0.95,
    ) -> None:
        """Write an HTML report of `fit(...)`, like `tideproof analyze --html` for a log."""
        from tideproof.report.experiment_report import live_report

        check_writable(require_path(path))
        fit = self.fit(variance=variance, scale=scale, level=level)
        if not isinstance(fit, Fit):
            raise InputError(
                f"a report needs environment labels: with tide={self.tide!r}, use recommend() and fit()"
            )
        write_text_atomically(path, live_report(fit, self.diagnostics(), self.policy.label))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """Draw the comparison, arm means, shifts and shares of the arms; save the picture if `path` is given.

        The returned picture shows itself in a notebook. Its method `.save(path)` writes an `.svg` or `.html`
        file.
        """
        from tideproof.report.plots import run_picture, tide_picture

        found, _ = self._recommend()
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
        """Return the event records of the experiment, in order."""
        return e.without_old_salts(self._state.events)
