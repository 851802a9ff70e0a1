"""Methods of an experiment with planned looks: make the next look, which alone can name the best arm."""

from __future__ import annotations

from dataclasses import replace

from tideproof.errors import Finished, InputError
from tideproof.experiment.locking import writes_events
from tideproof.experiment.queries import QueryMethods
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.recommendation_text import selection_text
from tideproof.experiment.stopping.look_rule import LookStopRule, repeats_look


class LookMethods(QueryMethods):
    """Base class of `Experiment` with the method that makes a planned look."""

    def look(self, look: float | None = None, by: str | None = None) -> Recommendation:
        """Make a planned look: record it with the error probability that it spends, and decide.

        The experiment must have `looks`. If the look names one arm the best, the experiment is `done`, and
        this arm is `shipped`. After the last look it is `done`, too. A repeated call spends nothing while no
        further reward was recorded; a corrected reward changes the result of the last look.

        Parameters
        ----------
        look
            How far the plan is, such as 4.6 for a look before the fifth of 14 is due. By default it is the
            next whole number. A look that was missed may be left out. Which number a look gets must not
            depend on rewards.
        by
            Name of the caller, recorded in the event log.

        Returns
        -------
        Recommendation
            The same as that of `recommend`, with the interval at this look.
        """
        self._look(look, by)
        return self.recommend()

    @writes_events
    def _look(self, look: float | None, by: str | None) -> None:
        rule, book = self._rule, self._state.book
        if not isinstance(rule, LookStopRule):
            raise InputError("this experiment has no planned looks: create it with looks=, such as looks=14")
        if book.sure is not None and not rule.is_current(book):
            raise Finished(f"no further look is needed: {selection_text(self._selected())}")
        plan = rule.resolve(book, look)
        fit = replace(self._copy_fit_inputs(), looks=plan).fit(confidence=rule.confidence)
        event = rule.look_event(book, plan, fit, self._now(), by)
        if not repeats_look(book, event):
            self._state.add(event)
