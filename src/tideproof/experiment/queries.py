"""Methods that read an experiment: they copy data while holding its lock, and compute results afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tideproof.analysis.fit_result import Fit
from tideproof.analysis.scale_choice import ScaleChoice
from tideproof.checks import Prior, require_prior
from tideproof.draw.svg_picture import Picture, save_if_requested
from tideproof.experiment.events import event_records as e
from tideproof.experiment.experiment_diagnostics import Diagnostics, diagnose
from tideproof.experiment.history_table import HistoryData
from tideproof.experiment.locking import ExperimentBase, locked
from tideproof.experiment.pull import Pull, PullStatus
from tideproof.experiment.read_model import ExperimentStatus, FitInputs, ReadModel
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.recommendation_text import COARSE
from tideproof.experiment.reward_kinds import REWARD_KINDS
from tideproof.experiment.state.environment_choice_state import EnvironmentChoiceState
from tideproof.experiment.state.hidden_tide_fit import tide_fit
from tideproof.experiment.state.hidden_tide_state import HiddenTideState
from tideproof.experiment.stopping.anytime_intervals import anytime_bounds
from tideproof.experiment.stopping.look_rule import LookStopRule
from tideproof.experiment.stopping.race_rule import RaceStopRule
from tideproof.experiment.unit_assignments import checked_unit, hash_unit
from tideproof.experiment.usage_warnings import usage_facts
from tideproof.files import check_writable, require_path, write_text_atomically
from tideproof.stats.cells import group_members
from tideproof.stats.variance.variance_models import Variance
from tideproof.table import Table


class QueryMethods(ExperimentBase):
    """Base class of `Experiment` with the methods that read results."""

    @property
    def remaining(self) -> int | None:
        """Number of pulls that the experiment may still assign; None without a budget."""
        return self._remaining()

    @locked
    def _remaining(self) -> int | None:
        return self._state.book.remaining

    @property
    def done(self) -> bool:
        """Whether the experiment is over: budget spent, stopped, or one arm found best by a stopping rule."""
        return self._done()

    @locked
    def _done(self) -> bool:
        self._check_stopping()
        return self._is_over()

    @property
    def shipped(self) -> str | None:
        """The arm that every visitor gets because of a decision, or None if nothing is shipped.

        A person chose it with `stop(ship=...)`, or else the stopping rule found it to be the best.
        """
        return self._shipped()

    @locked
    def _shipped(self) -> str | None:
        self._check_stopping()
        return self._state.book.shipped

    def _is_over(self) -> bool:
        book = self._state.book
        if book.remaining == 0 or book.stopped or book.sure is not None:
            return True
        if isinstance(self._rule, LookStopRule) and self._rule.is_over(book):
            return True
        if isinstance(self._state.policy_state, EnvironmentChoiceState):
            return not book.pending and not self._state.choose_pairs(1)
        return bool(self.policy.policy.stops) and self._next_arm(self._label) < 0

    def _check_stopping(self) -> None:
        """Evaluate the stopping rule if there are new rewards, and record an event if the rule is met."""
        rule, state = self._rule, self._state
        if rule is None or state.book.sure is not None or isinstance(rule, LookStopRule):
            return
        if isinstance(rule, RaceStopRule):  # it processes only new scores
            won = state.read(lambda: rule.check(state))
            if won.arm is not None:
                state.add(e.Sure(self._now(), None, won.arm, won.rule, rule.confidence))
            return
        if not self._check_schedule.is_due(state):
            return
        found = rule.check(state, lambda: self._copy_fit_inputs().fit(only_active=True))
        if found.arm is not None:
            self._state.add(e.Sure(self._now(), None, found.arm, found.rule, rule.confidence))
        self._check_schedule.note(state, found)

    @locked
    def pending_pulls(self) -> list[Pull]:
        """Return the pending pulls, the oldest first."""
        return [self._state.book.pulls[number] for number in self._state.book.pending]

    @locked
    def pull_of(self, unit: str | int) -> Pull | None:
        """Return the pull of a unit such as a visitor, or None if the unit has none."""
        name, book = checked_unit(unit), self._state.book
        number = book.units.get(hash_unit(name, book.salt)) if book.salt else None
        return None if number is None or book.status[number] == PullStatus.CANCELLED else book.pulls[number]

    @property
    def reservations(self) -> int:
        """Number of pending pulls whose arm has not yet been shown to the visitor (or other unit).

        Their rewards are refused before that.
        """
        return self._reserved()

    @locked
    def _reserved(self) -> int:
        return len(self._state.book.reserved)

    def fit(
        self,
        *,
        variance: Variance = "auto",
        scale: ScaleChoice | None = None,
        confidence: float = 0.95,
        anytime: bool = False,
    ) -> Fit | Any:
        """Return the fit of all rewards recorded so far, as `tp.fit` computes it.

        With a hidden tide (`tide`) the result is a `TideFit` of the active arms, and `confidence` is the only
        choice. Otherwise the fit uses the scale of the experiment, unless `scale` is given. It uses
        differences while the rewards say nothing on that scale (all are 0), and where a `variance` other than
        "auto" requires it. With a policy that allows for unequal noise, interactions or outlying cells,
        "auto" does so, too. Confidence intervals are valid for one inspection at the end of a budget; with
        `anytime` they are valid at all inspections. In an experiment with planned looks they are those of a
        look: the last one, or the next one if there are new rewards. Only `look` records it and decides.
        """
        return self._copy_fit_inputs().fit(variance, scale, confidence, anytime=anytime)

    def recommend(self, *, prior: Prior = "exchangeable") -> Recommendation:
        """Return the arm that the policy would select now, with its margin, confidence and usage warnings.

        Margin, interval and probability are those of `fit()` for the active arms. With a `confidence` level
        the interval is valid at all inspections. `prior` is the prior of the probability, as in `tp.fit`.
        """
        return self._read(require_prior(prior), counts_as_look=True).recommendation_with_warnings

    @locked
    def _read(self, prior: Prior = "exchangeable", counts_as_look: bool = False) -> ReadModel:
        """Evaluate the stopping rule, and return a copy of the experiment's data at this point in time."""
        status, selection, inputs = self._status(), self._selected(), self._copy_fit_inputs()
        state, facts = self._state, usage_facts(self._state)
        if counts_as_look:
            self._usage_monitor.count_look(facts)
        return ReadModel(
            status=status,
            facts=facts,
            selection=selection,
            inputs=inputs,
            bounds=self._copy_bounds() if selection.anytime and selection.arm is not None else None,
            prior=prior,
            asked_by_arm=tuple(state.book.asked),
            at=self._now(),
            pending=tuple(state.book.pending),
            pulls=state.book.pulls,
            asked_at=state.book.asked_at,
            happened=state.events,
            monitor=self._usage_monitor,
            looks=self._usage_monitor.looks,
        )

    @locked
    def _status(self) -> ExperimentStatus:
        """Evaluate the stopping rule, and return settings, counts and state of the experiment."""
        self._check_stopping()
        book, created = self._state.book, self._state.created
        state = "paused" if book.paused else "running"
        if book.stopped or self._is_over():
            state = "stopped" if book.stopped else "done"
        return ExperimentStatus(
            state=state,
            created=created,
            policy=self.policy.label,
            scale=self.scale,
            tide=book.tide,
            arms=tuple(book.arms),
            retired=tuple(book.arms[arm] for arm in book.retired),
            budget=book.budget,
            remaining=book.remaining,
            asked=len(book.pulls) - book.lost,
            pending=len(book.pending),
            recorded=book.settled + book.surplus + book.warm,
            lost=book.lost,
            late=book.late,
            events=len(self._state.events),
            winner=None if book.sure is None else book.arms[book.sure.arm],
            stop=book.stop,
            shipped=book.shipped,
            archived_at=book.archived_at,
        )

    @locked
    def _copy_fit_inputs(self) -> FitInputs:
        """Copy the rewards and options of the experiment, from which fits are computed."""
        self._state.update_policy_state()
        state = self._state
        book, policy_state = state.book, state.policy_state
        environments, every = policy_state.environments, range(len(book.arms))
        hidden, coarse, cells, pulls = None, False, None, None
        no_intervals = isinstance(policy_state, EnvironmentChoiceState) and not policy_state.is_complete()
        if isinstance(policy_state, HiddenTideState):
            coarse = policy_state.coarse()
            if policy_state.known()[0] and not coarse:
                hidden = tide_fit(policy_state, book.arms, self.direction)
        elif environments.with_rewards:
            cells = environments.cells(list(book.arms), every)
        if not REWARD_KINDS[state.settings.rewards].binary and environments.with_rewards:
            pulls = self._single_rewards.copy_rewards(book)
        return FitInputs(
            spec=state.spec,
            direction=self.direction,
            scale=policy_state.scale,
            tide=book.tide,
            arms=tuple(book.arms),
            active=tuple(policy_state.active),
            has_hidden_tide=isinstance(policy_state, HiddenTideState),
            is_coarse=coarse,
            has_no_intervals=no_intervals,
            tide_fit=hidden,
            cells=cells,
            pulls=pulls,
            looks=self._rule.plan_for_reading(book) if isinstance(self._rule, LookStopRule) else None,
        )

    def _copy_bounds(self) -> Callable[[str, str], tuple[float, float]] | None:
        """Return a function that computes anytime-valid confidence bounds of the difference of two arms.

        It is None without a stopping rule for normal rewards.
        """
        bounds = anytime_bounds(self._state.policy_state)
        if bounds is None:
            return None
        number = {arm: index for index, arm in enumerate(self._state.book.arms)}
        return lambda arm, rival: bounds(number[arm], number[rival])

    @locked
    def _selected(self) -> Recommendation:
        """Return the recommendation without its margin, interval and probability.

        These take longer to compute.
        """
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
        coarse = isinstance(policy_state, HiddenTideState) and policy_state.coarse()
        found = Recommendation(
            None if coarse else arm, None, None, None, None, told, groups, self.policy.policy.adaptive,
            (COARSE,) if coarse else (), direction=self.direction, scale=self.scale,
            tide="labels" if book.tide == "auto" else book.tide,
        )  # fmt: skip
        if isinstance(policy_state, EnvironmentChoiceState) and arm is not None:
            found = _with_estimated_lead(found, policy_state, book.arms)
        return found if self._rule is None else replace(found, **self._rule.recommendation_fields(book))

    def history(self) -> Table:
        """Return a table of all pulls, reward summaries, and rewards from before the experiment.

        Warm-start rewards come first, then pulls in the order of asking, then summaries in the order of
        telling. A row has `n` rewards with that mean and variance (0 for a pull without a reward of its own),
        and the times at which it was asked for and told. The status is "pending", "told" (its reward is
        recorded), "cancelled", "expired", "defaulted" (expired, with the default reward), "late" (defaulted,
        and its reward arrived after the window had closed), "summarised" (its reward is in a summary),
        "summary" or "warm" (from before the experiment).
        `tp.fit(run.history(), arm="arm", environment="environment", reward="reward", n="n",
        sample_variance="variance")` reads the table.
        """
        return self._history_data().table()

    @locked
    def _history_data(self) -> HistoryData:
        return HistoryData(self._state)

    def diagnostics(self) -> Diagnostics:
        """Return the progress of the experiment, tests of its assumptions, and usage warnings."""
        return diagnose(self._read())

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        variance: Variance = "auto",
        scale: ScaleChoice | None = None,
        confidence: float = 0.95,
    ) -> None:
        """Write an HTML report about all rewards recorded so far.

        Its main statement is that of `recommend()` and of the page of the service: an arm is called the best
        only if the stopping rule has found it. Tables and charts are those that `tideproof analyze --html`
        makes for a log. `variance`, `scale` and `confidence` are options of `fit`.
        """
        from tideproof.report.experiment_report import live_report

        check_writable(require_path(path))
        found = self._read()
        fit, anytime = found.fit, found.selection.anytime
        if (variance, scale, confidence) != ("auto", None, 0.95):
            fit = found.inputs.fit(variance, scale, confidence, anytime=anytime)
        write_text_atomically(path, live_report(found, fit))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """Draw the means, differences and shares of the arms, and the shifts.

        The picture is saved if `path` is given. The returned picture shows itself in a notebook. Its method
        `.save(path)` writes an `.svg` or `.html` file.
        """
        from tideproof.report.plots import run_picture, tide_picture

        found = self._read()
        fit, said = found.inputs.fit(), str(found.recommendation)
        if isinstance(fit, Fit):
            return save_if_requested(run_picture(fit, said), path)
        return save_if_requested(tide_picture(fit, found.inputs.rewards_in_order(), said), path)

    @locked
    def events(self) -> list[e.Event]:
        """Return the event records of the experiment, in order."""
        return e.without_forgotten(self._state.events)


def _with_estimated_lead(
    found: Recommendation, policy_state: EnvironmentChoiceState, arms: list[str]
) -> Recommendation:
    """Return a recommendation with the estimated lead over the runner-up, but without an interval."""
    means = {arms[arm]: mean for arm, mean in policy_state.estimates().items()}
    sign = 1.0 if found.direction == "maximize" else -1.0
    rivals = [arm for arm in means if arm != found.arm]
    if not rivals or found.arm not in means:
        return found
    rival = max(rivals, key=lambda arm: sign * means[arm])
    return replace(found, runner_up=rival, margin=sign * (means[found.arm] - means[rival]))
