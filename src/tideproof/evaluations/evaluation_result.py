"""The `Evaluation` class: which model is best on a set of items, although not all scores were computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tideproof.evaluations.evaluation_runner import CallCounts
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.pull import PullStatus
from tideproof.experiment.recommendation import Recommendation
from tideproof.table import Table, render_notebook_html
from tideproof.text import format_count

_SHOWN_FAILURES = 3


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Result of an evaluation in which only some models were called on some items.

    Attributes
    ----------
    recommendation : the selected model with its estimated lead, and whether it is the best with confidence.
    models : table of the models: number of answered items, and estimated mean score on all items, which
        allows for how hard the answered items were. There are no intervals, because models that looked
        better were asked more often.
    answered, pairs : number of answered pairs, and of all pairs.
    counts : numbers of calls, retries and failures, and the cost.
    experiment : the experiment, with all pulls and scores in `history()`.
    """

    recommendation: Recommendation
    models: Table
    answered: int
    pairs: int
    counts: CallCounts
    experiment: Experiment

    @property
    def best(self) -> str | None:
        """The model that the evaluation selects."""
        return self.recommendation.arm

    @property
    def sure(self) -> bool:
        """Whether the selected model is the best with the required confidence."""
        return self.recommendation.sure

    def __repr__(self) -> str:
        text = str(self.recommendation)
        lines = [f"{text[0].upper()}{text[1:]}.", self.spent]
        failed = self.counts.failed
        if failed:
            shown = "; ".join(f"{model} on {item!r}: {why}" for model, item, why in failed[:_SHOWN_FAILURES])
            more = "; ..." if len(failed) > _SHOWN_FAILURES else ""
            lines.append(
                f"{format_count(len(failed), 'pair')} failed and {_has(failed)} no score: {shown}{more}"
            )
        return "\n".join([*lines, str(self.models)])

    def _repr_html_(self) -> str:
        return render_notebook_html("\n".join(repr(self).split("\n")[:-1]), self.models)

    @property
    def spent(self) -> str:
        """Sentence on how many model-item pairs were scored, and at what cost."""
        text = f"{self.answered:,} of {self.pairs:,} pairs answered ({self.answered / self.pairs:.1%})"
        if self.counts.cost:
            text += f", cost {self.counts.cost:,.4g}"
        if self.counts.retries:
            text += f", {format_count(self.counts.retries, 'call')} repeated"
        return text + "."


def _has(things: list[tuple[str, int | str, str]]) -> str:
    return "has" if len(things) == 1 else "have"


def read_evaluation(run: Experiment, counts: CallCounts) -> Evaluation:
    """Return the result of an evaluation from the experiment that ran it."""
    inner = run.internals
    with inner.lock:
        recommendation = run.recommend()
        state = inner.state
        book, means = state.book, state.estimated_means()
        told = [
            pull.arm
            for pull, status in zip(book.pulls, book.status, strict=True)
            if status == PullStatus.TOLD
        ]
        pairs = len(state.settings.environments or ()) * len(book.active)
    sign = -1.0 if run.direction == "maximize" else 1.0
    names = sorted(run.arms, key=lambda arm: sign * means[arm] if arm in means else float("inf"))
    columns: dict[str, list[Any]] = {
        "model": names,
        "answered": [told.count(name) for name in names],
        "mean": [means.get(name) for name in names],
    }
    return Evaluation(recommendation, Table(columns), len(told), pairs, counts, run)
