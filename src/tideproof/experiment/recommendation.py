"""The `Recommendation` class: the arm that an experiment would select now, with its evidence."""

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

_HIDDEN = "no labels were given: the tide is estimated from the rewards alone"
_NAMED = 3  # number of excluded cells that are named
_ODDS = NumberFormat(100.0, " %", " in odds")
_FIGURES = {"difference": PLAIN, "ratio": PERCENT, "log": PERCENT, "odds": _ODDS}
COARSE = (
    "single rewards of this kind (0/1, mostly equal, or skewed) cannot show a hidden tide: no margin or "
    "interval can be given; start with tide='labels', ask(environment=...) or "
    "time_zone=..., and rewards='conversions', 'counts' or 'money'; tp.fit(run.history(), arm='arm', "
    "reward='reward', time='asked_at', missing='drop', adaptive=True) analyses the rewards in time bins"
)


@dataclass(frozen=True)
class Recommendation:
    """The arm that an experiment would select now, with its margin, interval and probability.

    Attributes
    ----------
    arm : the selected arm; None before the first reward, while arms cannot be compared, and where a hidden
        tide cannot be estimated from such rewards (see `remarks`).
    runner_up : the best of the other arms.
    margin : estimated advantage over the runner-up, at least 0 if `arm` also has the best estimate.
    low, high : 95 % confidence interval of that advantage. It accounts for an adaptive policy, and for the
        runner-up being selected as the best of the others. It accounts for repeated inspection and optional
        stopping only if `anytime` is true.
    anytime : whether the intervals are valid at all inspections: in 95 % of experiments, all intervals of all
        arms at all times cover the true value. This is so if a `confidence` level was given. Otherwise the
        interval is valid for one inspection at the end of a fixed budget.
    told : number of rewards used.
    groups : groups of arms that can be compared with each other; if there is more than one group, no arm can
        be selected.
    adaptive : whether the policy reacts to rewards, for which the interval accounts.
    remarks : warnings about likely mistakes in how the experiment is used.
    direction : whether high or low rewards are good; an advantage is positive in both cases.
    prior : prior of `p_best`, `"exchangeable"` or `"flat"`.
    scale : `"difference"`; with `"ratio"` or `"odds"`, margin, low and high are relative: 0.1 means 10 %.
    confidence, rule : the confidence level at which the experiment stops, and the stopping rule in force;
        None without them.
    sure : whether, by that rule, `arm` is the best with that confidence.
    promise : description of the stopping rule.
    tide : `"labels"`; `"hidden"` if there are no labels and the tide is estimated from the rewards alone;
        `"both"` if it is also estimated between labels.
    left_out : with `robust="cells"`, the outlying cells that margin, interval and probability exclude, the
        most extreme first.
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
        """Probability that `arm` is the best arm, under the `prior`; computed on first access."""
        return self.chance()

    def to_dict(self) -> dict[str, Any]:
        """Return the recommendation as a dictionary of JSON values."""
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
        return "; ".join([self._finding(), *hidden, *self._exclusions(), *self.remarks])

    def _repr_html_(self) -> str:
        return render_notebook_html(str(self))

    def _finding(self) -> str:
        if not self.told:
            return "no reward yet"
        if self.arm is None and len(self.groups) == 1:
            return "no arm can be selected"
        if self.arm is None:
            return f"no arm can be selected: not comparable yet: {join_groups(self.groups)}"
        text = f"select {self.arm}{self._confidence_text()}"
        figures, sign = _FIGURES[self.scale], "+" if self.direction == "maximize" else ""
        if self.margin is not None:
            lead = figures.format_lead(self.margin, self.low, self.high, sign)
            text += f": {lead} {'against' if sign else 'below'} {self.runner_up}"
        if self.low is not None and self.high is not None:
            between = figures.format_interval(self.low, self.high, sign)
            stronger = "; the stopping rule uses a stronger test" if self.sure and self.low <= 0.0 else ""
            text += f" (95 % interval{' at all looks' if self.anytime else ''} {between}{stronger})"
        if self.p_best is not None:
            text += f", best with probability {format_probability(self.p_best)} ({PRIOR_NAMES[self.prior]})"
        return text

    def _exclusions(self) -> list[str]:
        more = f" and {len(self.left_out) - _NAMED:,} more" if len(self.left_out) > _NAMED else ""
        text = f"outlying cells left out: {', '.join(self.left_out[:_NAMED])}{more}"
        return [text] if self.left_out else []

    def _confidence_text(self) -> str:
        if self.confidence is None:
            return ""
        share = f"{100.0 * self.confidence:.10g} %"
        return f", sure at {share} ({self.promise})" if self.sure else f", not yet sure at {share}"
