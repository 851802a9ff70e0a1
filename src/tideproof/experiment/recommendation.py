"""The `Recommendation` class: the arm that an experiment would select now, with its evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tideproof.analysis.arm_comparisons import About
from tideproof.checks import Direction, Prior
from tideproof.experiment.look_progress import LookProgress
from tideproof.experiment.recommendation_text import full_sentence
from tideproof.stats.scales.scale_properties import ScaleName
from tideproof.table import render_notebook_html


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
    recorded : number of rewards used.
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
    about : whether the promise, the interval and the probability are about the observed environments
        (`"these"`), or about environments like them, future ones included (`"similar"`). It is the latter
        with a policy that allows for interactions of arms and environments.
    tide : `"labels"`; `"hidden"` if there are no labels and the tide is estimated from the rewards alone;
        `"both"` if it is also estimated between labels.
    looks : planned looks: which were made, and when the next one is due; None without a plan. Margin and
        probability may be read at any time, but only a look decides. Between looks there is no interval; at
        a look it has the confidence level of the plan, for all looks together.
    left_out : with `robust="cells"`, the outlying cells that margin, interval and probability exclude, the
        most extreme first.
    """

    arm: str | None
    runner_up: str | None
    margin: float | None
    low: float | None
    high: float | None
    recorded: int
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
    about: About = "these"
    anytime: bool = False
    tide: str = "labels"
    left_out: tuple[str, ...] = ()
    looks: LookProgress | None = None

    @cached_property
    def p_best(self) -> float | None:
        """Probability that `arm` is the best arm, under the `prior`; None where `tp.Fit.p_best` is None."""
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
            "recorded",
            "groups",
            "adaptive",
            "remarks",
            "direction",
            "scale",
            "confidence",
            "rule",
            "sure",
            "about",
            "anytime",
            "tide",
            "left_out",
        )
        looks = {} if self.looks is None else {"looks": self.looks._asdict()}
        return {name: getattr(self, name) for name in names} | looks

    def __str__(self) -> str:
        return full_sentence(self)

    def _repr_html_(self) -> str:
        return render_notebook_html(str(self))
