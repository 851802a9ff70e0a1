"""Simulated logs whose traffic a policy chose: how often the best arm is excluded, or an interval misses.

One arm may be noisier than the others. Traffic comes from a policy of the lab, or from Thompson sampling
that chooses the shares of a whole day.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.lab.engines.cpu_engine import compiled_loop, empty_trace, run_loop
from tideproof.policies.policy_registry import as_policy
from tideproof.worlds import Uniform, World

_PULLS_PER_DAY = 10
_DAYS = 20  # of Thompson sampling
_PULLS_PER_THOMPSON_DAY = 40
Rewards = tuple[list[int], list[int], list[float]]  # arm, environment and reward of each pull


class AdaptiveSetting(NamedTuple):
    """One kind of simulated log whose arms were chosen by an adaptive policy.

    Attributes
    ----------
    asked : "excluded" (the best arm is no candidate), "winner" (an arm is named the best that is not better
        than all others), "pair" (the interval of the best and the noisy arm misses) or "lead" (that of the
        selected arm and its runner-up does, as `recommend` shows it).
    policy : name of a policy, or "thompson".
    means : true mean of each arm.
    budget : number of pulls.
    noisy : index of the arm with another noise.
    ratio : its standard deviation, relative to the others.
    """

    asked: str
    policy: str
    means: tuple[float, ...]
    budget: int
    noisy: int = 0
    ratio: float = 1.0

    @property
    def name(self) -> str:
        """Name of this kind of simulated log."""
        means = " ".join(f"{mean:g}" for mean in self.means)
        said = f"adaptive, {self.asked}, {self.policy}, means {means}, {self.budget} pulls"
        return said if self.ratio == 1.0 else f"{said}, arm {self.noisy} {self.ratio:g} times as noisy"


_TIE, _STEPS, _SECOND = (0.0, 0.0, -0.8, -0.8), (0.0, 0.5, 1.0, 1.5), (0.0, 0.5, 0.0, 0.0)


def settings() -> list[AdaptiveSetting]:
    """Return the kinds of simulated logs from adaptive policies for which errors are counted."""
    return [
        *(
            AdaptiveSetting(asked, "thompson", means, 0)
            for asked in ("excluded", "winner")
            for means in ((0.0, 0.0), (0.0,) * 4, (0.0,) * 8, (0.0, 0.0, -0.3, -0.3))
        ),
        *(
            AdaptiveSetting("pair", policy, means, 120, 0, 3.0)
            for policy in ("contrast", "top-two-thompson")
            for means in (_TIE, _STEPS, _SECOND)
        ),
        *(AdaptiveSetting("lead", "contrast", means, 120, 0, 3.0) for means in (_TIE, _STEPS, _SECOND)),
        AdaptiveSetting("winner", "contrast", _TIE, 120, 0, 3.0),
        AdaptiveSetting("excluded", "top-two-thompson", (0.0, 0.0, 0.0), 60, 1, 2.0),
        AdaptiveSetting("pair", "contrast", (0.0, 0.0), 60, 1, 4.0),
        AdaptiveSetting("pair", "contrast", (0.4, *(0.0,) * 7), 320, 3, 2.0),
    ]


def play(setting: AdaptiveSetting, number: int) -> bool | None:
    """Simulate and analyze one log; return whether the conclusion was wrong, or None without comparisons."""
    selected, rewards = draw(setting, number)
    fit = Fit.from_arrays(*rewards, adaptive=True, scale="difference", about="these")
    means = np.array(setting.means)
    best = setting.noisy if means[setting.noisy] == means.max() else int(means.argmax())
    if len(fit.groups) > 1 or len(fit.cells.arms) < means.size:
        return None
    if setting.asked == "excluded":
        return best not in fit.candidates
    if setting.asked == "winner":
        only = np.count_nonzero(means == means.max()) == 1
        return fit.decision.names_winner and not (only and fit.best == best)
    if setting.asked == "lead":
        a, b = selected, fit.rival(selected)
    else:
        others = [arm for arm in np.argsort(-means, kind="stable").tolist() if arm != best]
        a, b = best, others[0] if best == setting.noisy else setting.noisy
    found = fit.contrast(a, b, picked=setting.asked == "lead")
    if found.low is None or found.high is None:
        return None
    return not found.low <= means[a] - means[b] <= found.high


def draw(setting: AdaptiveSetting, number: int) -> tuple[int, Rewards]:
    """Simulate one log; return the arm that the policy selected, and the rewards."""
    return _thompson_log(setting, number) if setting.policy == "thompson" else _run(setting, number)


def _run(setting: AdaptiveSetting, number: int) -> tuple[int, Rewards]:
    """Simulate one run of a policy of the lab; return the selected arm and the rewards."""
    spec, K = as_policy(setting.policy), len(setting.means)
    noise = [setting.ratio if arm == setting.noisy else 1.0 for arm in range(K)]
    lengths = _PULLS_PER_DAY, _PULLS_PER_DAY
    world = World(list(setting.means), sigma=noise, lengths=lengths, shifts=Uniform(0.0, 20.0))
    trace = empty_trace(setting.budget, K)
    score, _ = run_loop(compiled_loop(spec, trace=True), spec, world, [setting.budget], 0, number, 1, trace)
    rewards = trace.arm.tolist(), trace.environment.tolist(), trace.reward.tolist()
    return int(score.selected[0, 0]), rewards


def _thompson_log(setting: AdaptiveSetting, number: int) -> tuple[int, Rewards]:
    """Simulate days on which each pull goes to the arm with the largest draw from its posterior.

    The posterior is that of the mean deviation from the average reward of the day, at the start of the day.
    """
    random, K = np.random.default_rng([7, number]), len(setting.means)
    total, count = np.zeros(K), np.zeros(K)
    arms: list[Any] = []
    rewards: list[Any] = []
    for day in range(_DAYS):
        mean, error = total / np.maximum(count, 1.0), 1.0 / np.sqrt(np.maximum(count, 1.0))
        drawn = mean + error * random.standard_normal((_PULLS_PER_THOMPSON_DAY, K))
        arm = np.resize(np.arange(K), _PULLS_PER_THOMPSON_DAY) if day == 0 else drawn.argmax(axis=1)
        noise = np.where(arm == setting.noisy, setting.ratio, 1.0) * random.standard_normal(arm.size)
        reward = np.array(setting.means)[arm] + noise + 5.0 * random.standard_normal()
        total += np.bincount(arm, reward - reward.mean(), K)
        count += np.bincount(arm, minlength=K)
        arms.append(arm)
        rewards.append(reward)
    return 0, _columns(arms, rewards)


def _columns(arms: Sequence[Any], rewards: Sequence[Any]) -> Rewards:
    days = np.repeat(np.arange(len(arms)), _PULLS_PER_THOMPSON_DAY)
    return np.concatenate(arms).tolist(), days.tolist(), np.concatenate(rewards).tolist()
