"""The sentence, against numbers written out: the lead with its interval, in the units of the scale."""

import numpy as np
import pytest
from scipy import stats

from tideproof.analysis import Fit

A, B, C = [1.0, 2.0, 3.0, 2.0], [6.0, 8.0, 7.0, 7.5], [2.0, 1.0, 2.5, 0.5]


def means(confidence=0.95, direction="maximize", shift=0.0):
    """One environment and common noise: differences of means with the pooled variance."""
    rewards = np.array(A + B + C) + shift
    arm = np.repeat(list("ABC"), 4)
    return Fit.from_arrays(
        arm, [1] * 12, rewards, confidence=confidence, direction=direction, variance="common"
    )


def limits(x, y, confidence):
    pooled = sum(np.var(each, ddof=1) for each in (A, B, C)) / 3.0
    reach = stats.t.ppf(0.5 + confidence / 2, 9) * np.sqrt(pooled / 2.0)
    gap = np.mean(x) - np.mean(y)
    return gap, gap - reach, gap + reach


def test_a_winner_has_its_interval_and_its_lift():
    gap, low, high = limits(B, A, 0.8)
    assert means(confidence=0.8).verdict == (
        f"B is best in this log (80 % confidence): {gap:+.1f} over A, the runner-up (80 % confidence interval: {low:+.1f} to "
        f"{high:+.1f}; lift {100 * gap / 2:+.0f} %); best with probability > 0.999 (exchangeable prior)"
    )


def test_below_is_said_where_less_is_better():
    gap, low, high = limits(C, A, 0.95)
    said = means(direction="minimize").verdict
    interval = f"95 % confidence interval: {-low:.1f} below to {high:.1f} above"
    assert said.startswith(f"C leads: {-gap:.2f} below A, the runner-up ({interval}; change ")
    assert said.endswith("but A cannot be excluded (95 % confidence)")


def test_no_lift_where_rewards_are_below_nothing():
    assert "lift" not in means(shift=-5.0).verdict
    assert "lift" not in Fit.from_arrays(list("AABB"), [1] * 4, [0.0, 0.0, 1.0, 2.0]).verdict


def clicks(*counts, scale="auto", direction="maximize"):
    """So many 1s and 0s of each arm, in one environment."""
    arm, reward = [], []
    for name, (ones, zeros) in zip("ABC", counts, strict=False):
        arm += [name] * (ones + zeros)
        reward += [1.0] * ones + [0.0] * zeros
    return Fit.from_arrays(arm, [1] * len(arm), reward, scale=scale, direction=direction)


def test_lifts_of_rates_are_in_percent():
    fit = clicks((100, 900), (150, 850), scale="ratio")
    found = fit.contrast("B", "A")
    assert found.estimate == pytest.approx(0.5)
    interval = f"95 % confidence interval: {100 * found.low:+.0f} % to {100 * found.high:+.0f} %"
    expected = (
        f"B is best in this log (95 % confidence): +50 % over A, the runner-up ({interval}; relative lift)"
    )
    assert fit.verdict.startswith(expected)
    odds = clicks((100, 900), (150, 850), scale="odds")
    assert odds.verdict.startswith(
        f"B is best in this log (95 % confidence): odds {100 * odds.contrast('B', 'A').estimate:+.0f} % over A"
    )
    points = clicks((100, 900), (150, 850), scale="difference").verdict
    assert points.startswith(
        "B is best in this log (95 % confidence): +5.0 percentage points over A, the runner-up (95 % confidence interval: +"
    )
    assert "points; lift +50 %)" in points


def test_too_few_events_are_counted():
    assert clicks((1, 199), (5, 195)).verdict == (
        "too few rewards equal to 1 to name a best arm: B and A together have 6 rewards equal to 1 (5 of 200 and 1 of 200); "
        "at least 10 are needed"
    )
    assert clicks((199, 1), (195, 5)).verdict == (
        "too few rewards equal to 0 to name a best arm: A and B together have 6 rewards equal to 0 (1 of 200 and 5 of 200); "
        "at least 10 are needed"
    )
    assert "too few" not in clicks((5, 195), (5, 195)).verdict


def test_a_runner_up_without_an_event_is_not_divided_by():
    said = clicks((0, 400), (30, 370), scale="ratio").verdict
    assert said.startswith(
        "B is best in this log (95 % confidence): unbounded lead over A, the runner-up, because all rewards of A are 0 (95 % confidence interval: +"
    )
    assert " or more)" in said
