"""What an experiment would select now, in numbers and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tideproof.checks import Direction
from tideproof.stats.best.p_best import PRIOR_NAMES, Prior
from tideproof.stats.scales.scale_choice import ScaleName
from tideproof.table import render_notebook_html
from tideproof.text import PERCENT, PLAIN, NumberFormat, format_probability, join_groups

_HIDDEN = "no labels were given: the tide is followed by the rewards alone"
_NAMED = 3  # cells that were left out
_ODDS = NumberFormat(100.0, " %", " in odds")
_FIGURES = {"difference": PLAIN, "ratio": PERCENT, "log": PERCENT, "odds": _ODDS}
COARSE = (
    "single rewards of this kind (0/1, mostly equal, or skewed) cannot show a tide that is followed row by "
    "row: no margin or interval can be given; begin with tide='labels', ask(environment=...) or "
    "time_zone=..., and rewards='conversions', 'counts' or 'money'; tp.fit(run.history(), arm='arm', "
    "reward='reward', time='asked_at', missing='drop', adaptive=True) puts what was told into bins of time"
)


@dataclass(frozen=True)
class Recommendation:
    """What an experiment would select now, and how sure it is.

    Attributes
    ----------
    arm : the selected arm; None before anything was told, while arms cannot be compared, and where a tide
        without labels was to be followed by rewards that cannot show one, as `remarks` then says.
    runner_up : the best of the others.
    margin : estimated advantage over the runner-up, at least 0 if `arm` is also the best estimate.
    low, high : 95 % interval of that advantage. It allows for an adaptive policy, and for the runner-up being
        the luckiest of the others; for looking again and again, and stopping when it looks good, only if
        `anytime`.
    anytime : whether the interval holds at all looks: in 95 % of runs all of them, of all arms, do. So it is
        where a `confidence` was given. Else it is for one look, at the end of a budget fixed beforehand.
    told : rewards it rests on.
    groups : arms that can be compared, group by group; with more than one group no arm can be selected.
    adaptive : whether the policy looked at rewards, for which the interval allows.
    remarks : what looks wrong in how the experiment is used.
    direction : which rewards are good; an advantage is positive in both.
    prior : what `p_best` takes for granted, `"exchangeable"` or `"flat"`.
    scale : `"difference"`; with `"ratio"` or `"odds"`, margin, low and high are shares: 0.1 for 10 %.
    confidence, rule : what the experiment was given to stop by, None without; the rule that holds now.
    sure : whether, by that rule, `arm` is the best with that confidence.
    promise : the rule in words.
    tide : `"labels"`; `"hidden"` where there are none and the tide is followed by the rewards alone, `"both"`
        where it is followed between labels, too.
    left_out : with `robust="cells"`, the cells that margin, interval and probability leave out as simply
        wrong, the furthest first.
    """

    arm: str | None
    runner_up: str | None
    margin: float | None
    low: float | None
    high: float | None
    told: int
    groups: tuple[tuple[str, ...], ...]
    adaptive: bool
    remarks: tuple[str, ...] = ()
    chance: Callable[[], float | None] = field(default=lambda: None, repr=False, compare=False)
    direction: Direction = "maximize"
    scale: ScaleName = "difference"
    prior: Prior = "exchangeable"
    confidence: float | None = None
    rule: str | None = None
    sure: bool = False
    promise: str = ""
    anytime: bool = False
    tide: str = "labels"
    left_out: tuple[str, ...] = ()

    @cached_property
    def p_best(self) -> float | None:
        """Probability that `arm` is the best; under the `prior`; computed when it is first read."""
        return self.chance()

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain words."""
        names = (
            "arm",
            "runner_up",
            "margin",
            "low",
            "high",
            "p_best",
            "prior",
            "told",
            "groups",
            "adaptive",
            "remarks",
            "direction",
            "scale",
            "confidence",
            "rule",
            "sure",
            "anytime",
            "tide",
            "left_out",
        )
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        hidden = [_HIDDEN] if self.tide == "hidden" else []
        return "; ".join([self._finding(), *hidden, *self._unbelieved(), *self.remarks])

    def _repr_html_(self) -> str:
        return render_notebook_html(str(self))

    def _finding(self) -> str:
        if not self.told:
            return "nothing told yet"
        if self.arm is None and len(self.groups) == 1:
            return "no arm can be selected"
        if self.arm is None:
            return f"no arm can be selected: not comparable yet: {join_groups(self.groups)}"
        text = f"select {self.arm}{self._sureness()}"
        figures, sign = _FIGURES[self.scale], "+" if self.direction == "maximize" else ""
        if self.margin is not None:
            lead = figures.format_lead(self.margin, self.low, self.high, sign)
            text += f": {lead} {'against' if sign else 'below'} {self.runner_up}"
        if self.low is not None and self.high is not None:
            between = figures.format_interval(self.low, self.high, sign)
            sharper = "; the rule is sharper" if self.sure and self.low <= 0.0 else ""
            text += f" (95 % interval{' at all looks' if self.anytime else ''} {between}{sharper})"
        if self.p_best is not None:
            text += f", best with probability {format_probability(self.p_best)} ({PRIOR_NAMES[self.prior]})"
        return text

    def _unbelieved(self) -> list[str]:
        more = f" and {len(self.left_out) - _NAMED:,} more" if len(self.left_out) > _NAMED else ""
        said = f"left out as simply wrong: {', '.join(self.left_out[:_NAMED])}{more}"
        return [said] if self.left_out else []

    def _sureness(self) -> str:
        if self.confidence is None:
            return ""
        share = f"{100.0 * self.confidence:.10g} %"
        return f", sure at {share} ({self.promise})" if self.sure else f", not yet sure at {share}"
