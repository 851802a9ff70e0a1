"""Stopping rule of an experiment whose policy chooses environments: stop when only one arm is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from tideproof.experiment.settings import ExperimentSettings
from tideproof.experiment.state.environment_choice_state import EnvironmentChoiceState
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.pulls_book import Book
from tideproof.experiment.stopping.stop_check import StopCheck


class RaceStopRule(NamedTuple):
    """Rule that stops an experiment once one arm has been shown to be the best on its environments.

    Attributes
    ----------
    confidence, name : the confidence level and the name of the rule, as given.
    tolerance : difference of means that does not matter.
    """

    confidence: float
    name: str
    tolerance: float
    normal: bool = False

    def check(self, state: State, fit: Callable[[], Any] | None = None) -> StopCheck:
        """Check whether one arm has been shown to be the best, so that the experiment stops."""
        race = cast(EnvironmentChoiceState, state.policy_state).race()
        return StopCheck(None if race is None else race.winner, self.name)

    def recommendation_fields(self, book: Book) -> dict[str, Any]:
        """Return the fields of a recommendation that describe the stopping rule and whether it is met."""
        promise = (
            "bets on scores without replacement bound the error rate, however often the rule is checked"
            if self.name == "proven"
            else "the error rate was calibrated by simulation, with a check after every environment"
        )
        if self.tolerance > 0.0:
            promise += f"; another arm may be better by at most {self.tolerance:g}"
        return {
            "confidence": self.confidence,
            "rule": self.name,
            "sure": book.sure is not None,
            "anytime": True,
            "promise": promise,
        }


def race_rule_of(settings: ExperimentSettings) -> RaceStopRule | None:
    """Return the stopping rule of an experiment that chooses its environments; None if it has none."""
    if settings.confidence is None or settings.rule is None:
        return None
    return RaceStopRule(settings.confidence, settings.rule, settings.tolerance)
