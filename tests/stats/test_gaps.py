"""Gaps by environment and limits of shifts, against scipy's two-sample tests and sums written out."""

import numpy as np
import pytest
from scipy import stats

from tideproof.analysis import Fit
from tideproof.errors import InputError, UnknownName

LEVEL = 0.8
MODELS = ("common", "by-arm", "by-environment", "sandwich", "clustered")


def rows(seed=5):
    """Three arms that vary differently in four environments; C is missing in one, A alone in another."""
    random = np.random.default_rng(seed)
    counts = {
        ("A", "mon"): 6, ("B", "mon"): 4, ("C", "mon"): 5,
        ("A", "tue"): 3, ("B", "tue"): 7,
        ("C", "wed"): 4, ("B", "wed"): 5, ("A", "wed"): 8,
        ("A", "thu"): 9,
    }  # fmt: skip
    level = {"mon": 0.0, "tue": 7.0, "wed": -3.0, "thu": 2.0}
    sd = {"A": 1.0, "B": 3.0, "C": 0.5}
    cells = {
        (arm, day): level[day] + ord(arm) / 50.0 + sd[arm] * random.normal(size=n)
        for (arm, day), n in counts.items()
    }
    arm = [a for (a, _), x in cells.items() for _ in x]
    day = [d for (_, d), x in cells.items() for _ in x]
    return cells, arm, day, np.concatenate(list(cells.values()))


def fitted(variance, **options):
    _, arm, day, reward = rows()
    return Fit.from_arrays(arm, day, reward, confidence=LEVEL, variance=variance, **options)


def interval(estimate, variance, freedom):
    reach = stats.t.ppf(0.5 + LEVEL / 2, freedom) * np.sqrt(variance)
    return estimate - reach, estimate + reach


def inside(cells, wanted):
    """Pooled variance inside the cells that are wanted, and its degrees of freedom."""
    found = [x for key, x in cells.items() if wanted(*key)]
    freedom = sum(len(x) - 1 for x in found)
    return sum(((x - x.mean()) ** 2).sum() for x in found) / freedom, freedom


def least_squares(arm, day, reward):
    """Dummy variables: residuals, leverages and degrees of freedom."""
    arms, days = sorted(set(arm)), sorted(set(day))
    X = np.array(
        [[a == b for b in arms] + [d == e for e in days[1:]] for a, d in zip(arm, day, strict=True)], float
    )
    hat = X @ np.linalg.pinv(X)
    return reward - hat @ reward, np.diag(hat), len(reward) - X.shape[1]


def expected(variance, a, b, day_):
    cells, arm, day, reward = rows()
    x, y = cells[a, day_], cells[b, day_]
    residual, leverage, freedom = least_squares(arm, day, reward)
    if variance == "by-arm":
        (va, fa), (vb, fb) = (inside(cells, lambda arm, _, one=one: arm == one) for one in (a, b))
        va, vb = va / len(x), vb / len(y)
        return va + vb, (va + vb) ** 2 / (va**2 / fa + vb**2 / fb)
    if variance == "sandwich":
        here = [(np.array(arm) == one) & (np.array(day) == day_) for one in (a, b)]
        freedom -= 9 - 1  # thu has a single arm: how much rewards vary there says nothing of other days
        return sum(((residual[h] / (1 - leverage[h])) ** 2).sum() / h.sum() ** 2 for h in here), freedom
    if variance == "common":
        one = residual @ residual / freedom
    elif variance == "by-environment":
        one, freedom = inside(cells, lambda _, day: day == day_)
    else:
        one, freedom = inside(cells, lambda *_: True)
    return one * (1 / len(x) + 1 / len(y)), freedom


@pytest.mark.parametrize("variance", MODELS)
@pytest.mark.parametrize(("a", "b", "days"), [("A", "B", ["mon", "tue", "wed"]), ("C", "A", ["mon", "wed"])])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_gaps_follow_the_noise_of_the_fit(variance, a, b, days, direction):
    cells = rows()[0]
    table = fitted(variance, direction=direction).gaps(a, b)
    assert table.columns == ["environment", "estimate", "se", "low", "high"]
    assert table["environment"] == days
    for row in table:
        day = row["environment"]
        gap = cells[a, day].mean() - cells[b, day].mean()
        error, freedom = expected(variance, a, b, day)
        found = (row["estimate"], row["se"], row["low"], row["high"])
        assert found == pytest.approx((gap, np.sqrt(error), *interval(gap, error, freedom)), rel=1e-9)


@pytest.mark.parametrize("variance", ["common", "by-arm", "by-environment"])
def test_one_environment_is_a_t_test(variance):
    random = np.random.default_rng(1)
    x, y = random.normal(3.0, 1.0, 7), random.normal(0.0, 4.0, 12)
    fit = Fit.from_arrays(
        ["A"] * 7 + ["B"] * 12, [1] * 19, np.concatenate([x, y]), confidence=LEVEL, variance=variance
    )
    (row,) = fit.gaps("A", "B")
    test = stats.ttest_ind(x, y, equal_var=variance != "by-arm").confidence_interval(LEVEL)
    assert (row["low"], row["high"]) == pytest.approx((test.low, test.high), rel=1e-9)


def test_no_interval_where_nothing_tells():
    lonely = Fit.from_arrays(list("ABAB"), [1, 1, 2, 2], [1.0, 2.0, 4.0, 4.5], variance="clustered")
    assert lonely.gaps("B", "A").to_dicts() == [
        {"environment": 1, "estimate": 1.0, "se": None, "low": None, "high": None},
        {"environment": 2, "estimate": 0.5, "se": None, "low": None, "high": None},
    ]
    bare = Fit.from_arrays(list("AB"), [1, 1], [1.0, 2.0])
    assert bare.gaps("B", "A")["low"] == [None]
    assert bare.shifts["low"] == bare.shifts["high"] == [None]


def test_arms_that_never_met_have_no_gaps():
    fit = Fit.from_arrays(list("AABBC"), [1, 1, 2, 2, 2], [1.0, 2.0, 3.0, 4.0, 5.0])
    assert len(fit.gaps("A", "B")) == 0
    with pytest.raises(UnknownName):
        fit.gaps("A", "Z")
    with pytest.raises(InputError, match="two different arms, not 'A' with itself"):
        fit.gaps("A", "A")


@pytest.mark.parametrize("variance", MODELS)
def test_limits_of_shifts_have_the_level_and_freedom_of_the_means(variance):
    fit = fitted(variance)
    mean = fit.arms.to_dicts()[0]
    t = (mean["high"] - mean["mean"]) / mean["se"]
    if variance == "common":
        assert t == pytest.approx(stats.t.ppf(0.5 + LEVEL / 2, 51 - 3 - 4 + 1))
    for row in fit.shifts:
        assert row["low"] == pytest.approx(row["shift"] - t * row["se"])
        assert row["high"] == pytest.approx(row["shift"] + t * row["se"])
        assert row["se"] > 0.0
