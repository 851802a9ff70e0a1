"""Fits of segments: the same as fits of their rows, at levels that hold together, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import tideproof as tp
from simulations import ALARM
from tideproof.analysis import Fit
from tideproof.analysis.words.fit_text import segment_lines
from tideproof.errors import InputError

NEVER = np.array([0.0, 0.0, 0.0])


def draw(effects, seed=0, rows=300, sd=1.0):
    """Arms 0, 1, 2 on four days in as many segments as there are rows of effects."""
    random = np.random.default_rng(seed)
    arm, day = random.integers(3, size=rows), random.integers(4, size=rows)
    country = random.integers(len(effects), size=rows)
    tide = 5.0 * random.normal(size=(4, len(effects)))
    return (
        arm,
        day,
        country,
        np.asarray(effects)[country, arm] + tide[day, country] + sd * random.normal(size=rows),
    )


def judge(arm, day, country, reward, **options):
    log = {"arm": arm, "day": day, "country": country, "reward": reward}
    return tp.segments(log, by="country", arm="arm", environment="day", reward="reward", **options)


def test_each_is_the_fit_of_its_rows():
    arm, day, country, reward = draw([[0, 1, 2], [2, 1, 0]])
    found = judge(arm, day, country, reward, confidence=0.9)
    for segment, fit in found.fits.items():
        rows = country == segment
        alone = Fit.from_arrays(arm[rows], day[rows], reward[rows], confidence=0.9**0.5)
        mine, wanted = fit.contrast(2, 0), alone.contrast(2, 0)
        assert (mine.estimate, mine.low, mine.high) == pytest.approx(
            (wanted.estimate, wanted.low, wanted.high)
        )
        assert set(fit.cells.environments) == set(day[rows].tolist())
    assert found.pooled.contrast(2, 0).estimate == pytest.approx(
        Fit.from_arrays(arm, 10 * day + country, reward).contrast(2, 0).estimate
    )


def test_a_winner_that_differs_is_said():
    found = judge(*draw([[0, 1, 2], [2, 1, 0]]))
    assert found.winners == {2: [0], 0: [1]} or found.winners == {0: [1], 2: [0]}
    assert (
        "the winner differs between segments (95 % confidence for all segments together): " in found.verdict
    )
    assert "2 in 0" in found.verdict
    assert found.verdict.endswith(
        "; differences between arms depend on the segment (test of equal differences, p < 1e-6)"
    )
    assert found.to_dict()["segments"][0]["standing"] == "winner"


def test_one_that_does_not_differ_is_said_too():
    found = judge(*draw([[0, 1, 2]] * 3, seed=1, rows=600))
    assert found.verdict.startswith(
        "2 is best in all 3 segments (95 % confidence for all segments together); no evidence"
    )
    open_race = judge(*draw([NEVER, NEVER]))
    assert open_race.verdict.startswith("no winner in any segment")
    part = judge(*draw([[0, 0, 9], NEVER]))
    assert part.verdict.startswith(
        "winners (95 % confidence for all segments together): 2 in 0; no winner in the other"
    )


def test_what_all_say_holds_at_once():
    """Ten segments without a difference: arm 0, a best one, is excluded somewhere in at most 5 % of 100 logs.

    More than 13 have probability 1e-3.
    """
    wrong = 0
    for seed in range(100):
        found = judge(*draw([NEVER] * 10, seed=seed, rows=600))
        wrong += any(0 not in fit.candidates for fit in found.fits.values())
    assert wrong <= 13


def test_a_segment_with_one_arm_is_left_out_and_named():
    arm, day, country, reward = draw([[0, 1, 2]] * 3)
    kept = (country != 2) | (arm == 1)
    found = judge(*(x[kept] for x in (arm, day, country, reward)))
    assert found.left_out == {2: "its only arm is 1"}
    assert set(found.fits) == {0, 1}
    assert "not analyzed: 2, because its only arm is 1" in repr(found)
    few = [(country == c) & (arm == c) for c in range(3)]
    with pytest.raises(InputError, match="no segment of 'country' has two arms"):
        judge(*(x[np.any(few, axis=0)] for x in (arm, day, country, reward)))


def test_arms_that_a_segment_lacks_are_not_its_own():
    arm, day, country, reward = draw([[0, 1, 2]] * 2)
    kept = (country != 1) | (arm != 2)
    found = judge(*(x[kept] for x in (arm, day, country, reward)))
    assert sorted(found.fits[1].cells.arms) == [0, 1]
    assert found.fits[1].best == 1
    assert found.heterogeneity.df1 == 1  # one difference, seen twice


def test_an_adaptive_run_is_judged_at_any_time_by_bonferroni_or_not_at_all():
    log = draw([[0, 1, 2], [2, 1, 0]])
    arm, day, country, reward = log
    found = judge(*log, anytime=True, adaptive=True)
    for segment, fit in found.fits.items():
        rows = country == segment
        alone = Fit.from_arrays(
            arm[rows], day[rows], reward[rows], confidence=0.975, anytime=True, adaptive=True
        )
        mine, wanted = fit.contrast(2, 0), alone.contrast(2, 0)
        assert (mine.low, mine.high) == pytest.approx((wanted.low, wanted.high))
    assert found.pooled.adaptive
    assert found.heterogeneity is None
    assert "all segments together, valid at every inspection)" in found.verdict
    with pytest.raises(InputError, match="segments require anytime=True"):
        judge(*log, adaptive=True)


def is_best_in_these(cells):
    return Fit(cells, about="these").decision.standing == "winner_on_these"


def test_equal_arms_in_four_segments_that_grow_have_no_winner():
    """20 logs, six looks each: a winner somewhere at some look in 5 % of them, false alarm `ALARM`.

    By numbers for one look in every segment, without a confidence for all, more than a quarter have one.
    """
    ever = usual = 0
    for seed in range(20):
        arm, day, country, reward = draw([NEVER] * 4, seed=seed, rows=480)
        named = [False, False]
        for rows in range(80, 481, 80):
            part = arm[:rows], day[:rows], country[:rows], reward[:rows]
            named[0] |= bool(judge(*part, anytime=True).winners)
            fits = judge(*part, confidence=0.95**4).fits.values()  # each at 95 %
            named[1] |= any(is_best_in_these(fit.cells) for fit in fits)
        ever, usual = ever + named[0], usual + named[1]
    assert ever <= binom.isf(ALARM, 20, 0.05)
    assert usual >= 5


def test_segments_are_shown_on_the_scale_of_all_together():
    """Nothing tells in either country; DE alone would show differences, FR ratios, for its noise grows."""
    random = np.random.default_rng(0)
    n = 3000
    arm, day, country = random.integers(2, size=n), random.integers(10, size=n), random.integers(2, size=n)
    confidence = 10.0 * np.exp(0.25 * day / 10.0)
    noise = np.where(country == 0, 2.0, 0.2 * confidence)
    log = {"arm": arm, "day": day, "country": country, "sales": confidence + noise * random.normal(size=n)}
    found = tp.segments(log, by="country", arm="arm", environment="day", reward="sales")
    alone = {
        place: tp.fit(
            {name: values[country == place] for name, values in log.items()},
            arm="arm",
            environment="day",
            reward="sales",
        )
        for place in (0, 1)
    }
    assert len({fit.scale for fit in alone.values()}) == 2
    assert {fit.scale for fit in found.fits.values()} == {found.pooled.scale}
    for place, fit in found.fits.items():
        assert set(fit.choice.possible) == set(alone[place].choice.possible)


def test_the_scale_that_is_asked_for_is_that_of_all_together_too():
    log = {"a": "ABABABAB", "d": "11112222", "c": "nnssnnss", "y": [1.0, 2.0, 1.2, 2.1, 5.0, 4.0, 5.1, 4.2]}
    found = tp.segments(log, by="c", arm="a", environment="d", reward="y", scale="ratio")
    assert {found.pooled.scale, *(fit.scale for fit in found.fits.values())} == {"ratio"}


def test_a_segment_that_speaks_against_the_scale_of_all_keeps_its_own_and_that_is_said():
    """In 0, where most rewards are, days multiply; in 1 they add."""
    random = np.random.default_rng(1)
    n = 4000
    arm, day = random.integers(2, size=n), random.integers(10, size=n)
    country = (random.random(n) < 0.2).astype(int)
    products, sums = np.exp(0.2 * day) * (1.0 + 0.3 * arm), 8.0 + day + 2.0 * arm
    sales = np.where(country == 0, 8.0 * products, sums) + 0.3 * random.normal(size=n)
    log = {"arm": arm, "day": day, "country": country, "sales": sales}
    found = tp.segments(log, by="country", arm="arm", environment="day", reward="sales")
    assert found.pooled.lifts
    assert [found.fits[place].scale for place in (0, 1)] == ["ratio", "difference"]
    said = "In 1, arms are compared by differences instead of ratios; the scale was selected from the rewards there."
    assert said in segment_lines(found)


def test_segments_may_not_be_the_environments():
    log = {"arm": list("ABAB"), "day": [1, 1, 2, 2], "reward": [1.0, 2.0, 3.0, 5.0]}
    with pytest.raises(tp.errors.InputError, match="column 'day' is used twice"):
        tp.segments(log, by="day", arm="arm", environment="day", reward="reward")
