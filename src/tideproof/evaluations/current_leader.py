"""Text on the model that leads while an evaluation runs, and on how certain that is."""

from __future__ import annotations

from tideproof.experiment.experiment import Experiment
from tideproof.experiment.state.environment_choice_state import EnvironmentChoiceState


def describe_leader(run: Experiment) -> str:
    """Return who leads, and by how much or against how many remaining models; empty before the first score.

    With a confidence level, models leave the race once another is better with that confidence. Without
    one, nothing is known about certainty while pairs are missing, so the text has the estimated lead only.
    """
    inner = run.internals
    with inner.lock:
        state = inner.state.policy_state
        names, confidence = inner.state.book.arms, inner.state.settings.confidence
        if not isinstance(state, EnvironmentChoiceState) or not state.pairs.has_score:
            return ""
        leader, race = names[state.select()], state.race()
        if race is None:
            means = sorted(state.estimates().values(), reverse=run.direction == "maximize")
            lead = f" by {abs(means[0] - means[1]):.3g}" if len(means) > 1 else ""
            return f"{leader} leads{lead}"
        if race.winner is not None:
            return f"{leader} is the best (confidence {confidence:.4g})"
        return f"{leader} leads, {race.alive.sum()} of {len(state.active)} models left"
