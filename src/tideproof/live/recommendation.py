"""What an experiment would select now, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass

from tideproof.words import listed_groups


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What an experiment would select now, and how sure it is.

    Attributes
    ----------
    arm : the selected arm; None before anything was told.
    runner_up : the best of the others that can be compared with it.
    margin : estimated advantage over the runner-up, at least 0 if `arm` is also the best estimate.
    low, high : nominal 95 % interval of that advantage.
    p_best : probability that `arm` is the best of the arms it can be compared with.
    groups : arms that can be compared, group by group; more than one group means that the
        selection is only the best of its own.
    adaptive : whether the policy looked at rewards, which makes interval and probability nominal.
    """

    arm: str | None
    runner_up: str | None
    margin: float | None
    low: float | None
    high: float | None
    p_best: float | None
    groups: tuple[tuple[str, ...], ...]
    adaptive: bool

    def __str__(self) -> str:
        if self.arm is None:
            return "nothing told yet"
        text = f"select {self.arm}"
        if self.margin is not None:
            text += f": {self.margin:+.4g} against {self.runner_up}"
        if self.low is not None and self.p_best is not None:
            text += (
                f" (95 % interval {self.low:.4g} to {self.high:.4g}), best with probability {self.p_best:.3f}"
            )
        if len(self.groups) > 1:
            text += f"; not comparable yet: {listed_groups(self.groups)}"
        return text
