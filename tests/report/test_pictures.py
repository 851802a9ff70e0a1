"""What pictures show, against the tables beside them and against sums written out."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tideproof.draw.arms import ArmInfo
from tideproof.draw.gaps import GapInfo
from tideproof.draw.tide import ShiftInfo
from tideproof.estimate import Fit
from tideproof.report.analysis import analyse
from tideproof.report.pictures import MOST, arms_info, gaps_info, meetings_info, tide_info
from tideproof.stats.cells import Cells


def log(arms=4, days=6, seed=1, noise=1.0, numbered=False):
    """Unequal traffic; the last day has a single arm."""
    random = np.random.default_rng(seed)
    arm, day = [], []
    for j in range(days):
        shown = range(arms) if j < days - 1 else [0]
        for i in shown:
            n = int(random.integers(2, 6))
            arm += [i if numbered else f"arm {i}"] * n
            day += [f"day {j}"] * n
    level = 4.0 * random.normal(size=days)
    reward = [
        level[int(d[4:])] + 0.9 * int(str(a).split()[-1]) + noise * random.normal()
        for a, d in zip(arm, day, strict=True)
    ]
    return arm, day, reward


CASES = {
    "usual": {},
    "level": {"level": 0.8},
    "by-arm": {"level": 0.8, "variance": "by-arm"},
    "minimise": {"direction": "minimize"},
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
def test_arms_are_those_of_the_table_the_best_first(options):
    fit = Fit.from_arrays(*log(), **options)
    found = arms_info(analyse(fit))
    sign = -1.0 if options.get("direction") == "minimize" else 1.0
    rows = sorted(fit.arms, key=lambda row: -sign * row["mean"])
    assert found == [
        ArmInfo(
            row["arm"], row["mean"], (row["low"], row["high"]), row["raw_mean"], row["arm"] in fit.candidates
        )
        for row in rows
    ]
    assert found[0].candidate
    assert not all(arm.candidate for arm in found)
    for arm in found:
        row = next(row for row in fit.arms if row["arm"] == arm.name)
        if "variance" not in options:
            t = stats.t.ppf(0.5 + fit.level / 2, fit.freedom)
            assert arm.limits == pytest.approx((row["mean"] - t * row["se"], row["mean"] + t * row["se"]))


def test_no_more_arms_than_a_picture_holds():
    analysis = analyse(Fit.from_arrays(*log(arms=MOST + 5, numbered=True)))
    assert [arm.name for arm in arms_info(analysis)] == [str(arm) for arm in analysis.arms["arm"][:MOST]]
    met = meetings_info(analysis)
    assert list(met.arms) == [str(arm) for arm in analysis.arms["arm"][:MOST]]
    assert max(k for _, k in met.evidence) == MOST - 1


GROUPS = (list("AABBCCDD"), [1, 1, 1, 2, 3, 3, 3, 4], [1.0, 2.0, 4.0, 3.0, 1.5, 2.5, 0.5, 1.0])


def test_groups_have_no_candidates_and_no_gaps():
    fit = Fit.from_arrays(*GROUPS)
    analysis = analyse(fit)
    assert [arm.candidate for arm in arms_info(analysis)] == [False] * 4
    assert [arm.name for arm in arms_info(analysis)] == ["B", "A", "C", "D"]
    assert gaps_info(fit) is None
    assert list(meetings_info(analysis).candidates) == [False] * 4
    assert [each.environment for each in tide_info(fit)] == ["1", "2", "3", "4"]


def test_what_nobody_saw_is_not_drawn():
    c = Fit.from_arrays(*log(arms=2, days=3)).cells
    fit = Fit(
        Cells([*c.arms, "unseen"], [*c.environments, "empty"], c.arm, c.environment, c.n, c.mean, c.squares)
    )
    assert sorted(arm.name for arm in arms_info(analyse(fit))) == c.arms
    assert [each.environment for each in tide_info(fit)] == c.environments
    assert list(meetings_info(analyse(fit)).arms)[-1] == "unseen"


@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
def test_the_tide_has_the_limits_of_the_fit(options):
    fit = Fit.from_arrays(*log(), **options)
    pulls = int(fit.cells.n.sum())
    freedom = pulls - 4 - 6 + 1 if "variance" not in options else pulls - len(fit.cells.n)
    t = stats.t.ppf(0.5 + options.get("level", 0.95) / 2, freedom)
    found = tide_info(fit)
    assert [each[:3] for each in found] == [
        (row["environment"], row["n"], row["shift"]) for row in fit.shifts
    ]
    for each, row in zip(found, fit.shifts, strict=True):
        assert each.limits == pytest.approx((row["shift"] - t * row["se"], row["shift"] + t * row["se"]))


def test_one_environment_has_no_tide():
    assert tide_info(Fit.from_arrays(list("AABB"), [1] * 4, [1.0, 2.0, 3.0, 5.0])) == []
    two = Fit.from_arrays(list("AABBCCDD"), [1] * 4 + [2] * 4, np.arange(8.0) ** 2)
    assert len(two.groups) == 2
    assert tide_info(two) == []
    bare = tide_info(Fit.from_arrays(list("ABBC"), [1, 1, 2, 2], [1.0, 2.0, 4.0, 7.0]))
    assert bare == [
        ShiftInfo("1", 2, pytest.approx(-1.0), None),
        ShiftInfo("2", 2, pytest.approx(1.0), None),
    ]


@pytest.mark.parametrize("variance", ["common", "by-arm", "by-environment", "robust", "clustered"])
def test_gaps_are_the_best_arm_over_its_runner_up(variance):
    fit = Fit.from_arrays(*log(), level=0.8, variance=variance, direction="minimize")
    info = gaps_info(fit)
    assert (info.a, info.b) == ("arm 0", "arm 1")
    assert list(info.gaps) == [
        GapInfo(row["environment"], row["estimate"], (row["low"], row["high"]))
        for row in fit.gaps("arm 0", "arm 1")
    ]
    assert len(info.gaps) == 5
    overall = fit.contrast("arm 0", "arm 1")
    assert info.overall == ("all environments", overall.estimate, (overall.low, overall.high))
    assert info.overall.estimate < 0.0


def test_gaps_of_common_noise_by_hand():
    arm, day, reward = log()
    fit = Fit.from_arrays(arm, day, reward, level=0.8, variance="common")
    t = stats.t.ppf(0.9, fit.freedom)
    here = {
        (a, d): [r for x, y, r in zip(arm, day, reward, strict=True) if (x, y) == (a, d)]
        for a in set(arm)
        for d in set(day)
    }
    info = gaps_info(fit)
    for gap in info.gaps:
        a, b = here[info.a, gap.environment], here[info.b, gap.environment]
        estimate, reach = np.mean(a) - np.mean(b), t * fit.sigma * np.sqrt(1 / len(a) + 1 / len(b))
        assert gap.estimate == pytest.approx(estimate)
        assert gap.limits == pytest.approx((estimate - reach, estimate + reach))


def test_no_gaps_without_an_interval():
    assert gaps_info(Fit.from_arrays(list("AB"), [1, 1], [1.0, 2.0])) is None
    chain = Fit.from_arrays(
        list("ABBCAB"), [1, 1, 2, 2, 1, 1], [1.0, 0.0, 0.0, 1.1, 1.2, 0.1]
    )  # A and C lead
    assert {chain.decision.best, chain.decision.runner_up} == {"A", "C"}
    assert gaps_info(chain) is None


def test_meetings_by_hand():
    arm, day, reward = log()
    analysis = analyse(Fit.from_arrays(arm, day, reward))
    found = meetings_info(analysis)
    count = {
        (a, d): sum(x == a and y == d for x, y in zip(arm, day, strict=True))
        for a in set(arm)
        for d in set(day)
    }
    expected = {
        (i, k): sum(count[a, d] * count[b, d] / day.count(d) for d in set(day))
        for (i, a), (k, b) in combinations(enumerate(found.arms), 2)
    }
    assert found.evidence == pytest.approx(expected)
    assert list(found.candidates) == [arm.candidate for arm in arms_info(analysis)]
    apart = meetings_info(analyse(Fit.from_arrays(*GROUPS)))
    assert set(apart.evidence) == {(0, 1), (2, 3)}
