"""Every arm against the control: Student's t, Sidak's levels, Fieller's lifts, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from oracles import dummies
from tideproof.analysis import Fit
from tideproof.analysis.versus_control import against
from tideproof.errors import UnknownName


def draw(seed=0, arms=4, days=6, rows=200):
    random = np.random.default_rng(seed)
    arm, day = random.integers(arms, size=rows), random.integers(days, size=rows)
    return arm, day, 20.0 + arm + 5.0 * random.normal(size=days)[day] + random.normal(size=rows)


def test_each_by_itself_is_the_contrast():
    fit = Fit.from_arrays(*draw())
    for row in against(fit, 0, simultaneous=False):
        c = fit.contrast(row["arm"], 0)
        found = (row["estimate"], row["low"], row["high"], row["p"])
        assert found == pytest.approx((c.estimate, c.low, c.high, c.p), rel=1e-12)


def test_all_at_once_are_sidaks():
    arm, day, reward = draw()
    fit = Fit.from_arrays(arm, day, reward, confidence=0.9, variance="common")
    X = dummies(arm, day, 4, 6)[:, :-1]
    ols = sm.OLS(reward, X).fit()
    t = stats.t.ppf(0.5 + 0.5 * 0.9 ** (1 / 3), ols.df_resid)
    for row in against(fit, 2):
        wanted = ols.t_test(np.eye(X.shape[1])[row["arm"]] - np.eye(X.shape[1])[2])
        effect, sd, p = float(wanted.effect[0]), float(wanted.sd[0, 0]), float(wanted.pvalue)
        assert (row["estimate"], row["low"], row["high"]) == pytest.approx(
            (effect, effect - t * sd, effect + t * sd)
        )
        assert row["p"] == pytest.approx(1.0 - (1.0 - p) ** 3)


def test_a_lift_is_what_the_test_of_a_multiple_does_not_exclude():
    """mean_arm = (1 + lift) mean_control is tested in statsmodels, at both limits."""
    arm, day, reward = draw(1, arms=2)
    row = against(Fit.from_arrays(arm, day, reward, variance="common"), 0).to_dicts()[0]
    X = dummies(arm, day, 2, 6)[:, :-1]
    ols = sm.OLS(reward, X).fit()
    average = X.mean(axis=0)
    mean = [np.concatenate([np.eye(2)[i], average[2:]]) for i in (0, 1)]
    assert row["lift"] == pytest.approx(mean[1] @ ols.params / (mean[0] @ ols.params) - 1.0)
    for lift in (row["lift_low"], row["lift_high"]):
        assert float(ols.t_test(mean[1] - (1.0 + lift) * mean[0]).pvalue) == pytest.approx(0.05, rel=1e-6)


def test_two_arms_without_a_difference_are_told_apart_once_in_twenty_logs():
    """400 A/A logs, both sides together; fewer than 5 or more than 38 have probability 1e-4."""
    random, named = np.random.default_rng(5), 0
    for _ in range(400):
        arm, day = random.integers(2, size=40), random.integers(4, size=40)
        fit = Fit.from_arrays(arm, day, 3.0 * day + random.normal(size=40))
        named += against(fit, 0)["conclusion"] != ["unclear"]
    assert 5 <= named <= 38


def test_readings_follow_the_direction():
    arm, day, reward = draw(2, rows=2000)
    up, down = (Fit.from_arrays(arm, day, reward, direction=d) for d in ("maximize", "minimize"))
    readings = [dict(zip(t["arm"], t["conclusion"], strict=True)) for t in (against(up, 1), against(down, 1))]
    assert readings == [{0: "worse", 2: "better", 3: "better"}, {0: "better", 2: "worse", 3: "worse"}]


def test_arms_that_never_met_the_control_are_not_compared():
    fit = Fit.from_arrays(list("ABABCD"), [1, 1, 1, 1, 2, 2], [1.0, 2.0, 1.1, 2.2, 5.0, 6.0])
    rows = {row["arm"]: row for row in against(fit, "A")}
    assert [rows[arm]["conclusion"] for arm in "BCD"] == ["better", "not comparable", "not comparable"]
    assert (rows["C"]["estimate"], rows["C"]["lift"]) == (None, None)
    alone = fit.contrast("B", "A")
    assert (rows["B"]["low"], rows["B"]["p"]) == pytest.approx((alone.low, alone.p))  # one comparison is made


def test_without_noise_or_level_there_is_less_to_say():
    bare = against(Fit.from_arrays(list("AB"), [1, 1], [1.0, 2.0]), "A").to_dicts()[0]
    assert (bare["estimate"], bare["low"], bare["conclusion"]) == (1.0, None, "unclear")
    assert (bare["lift"], bare["lift_low"]) == (None, None)  # the mean of the control may be 0
    zero = against(Fit.from_arrays(list("AABB"), [1] * 4, [-1.0, 1.0, 2.0, 2.5]), "A").to_dicts()[0]
    assert (zero["lift"], zero["lift_low"]) == (None, None)


def test_an_unknown_control_is_named():
    with pytest.raises(UnknownName, match="unknown control 'a'; "):
        against(Fit.from_arrays(list("AB"), [1, 1], [1.0, 2.0]), "a")
