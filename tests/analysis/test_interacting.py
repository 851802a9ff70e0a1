"""Fits with interactions and with wrong cells left out: what they say, in values."""

import numpy as np
import pytest

import tideproof as tp
from tideproof.analysis import Fit
from tideproof.errors import InputError


def log(omega=0.8, days=16, n=8, means=(0.0, 0.4, 0.9), seed=0, wrong=()):
    random = np.random.default_rng(seed)
    arm, day, reward = [], [], []
    for j in range(days):
        shift = 5.0 * random.normal()
        for i, mean in enumerate(means):
            own = omega * random.normal() + (20.0 if (i, j) in wrong else 0.0)
            arm += ["ABCDE"[i]] * n
            day += [f"day {j}"] * n
            reward += (mean + shift + own + random.normal(size=n)).tolist()
    return arm, day, reward


def test_one_winner_and_not_one_winner():
    one = Fit.from_arrays(*log(omega=0.1, means=(0.0, 0.4, 2.0)), variance="interaction").interaction
    assert one.one_winner is True
    assert one.arms["environments_led"][2] > 15.0
    several = Fit.from_arrays(*log(omega=1.5), variance="interaction")
    found = several.interaction
    assert found.one_winner is False
    assert found.low < 1.5 < found.high
    assert found.low < found.omega < found.high
    assert sum(found.arms["environments_led"]) == pytest.approx(16.0)
    assert sum(found.arms["p_leads_in_new"]) == pytest.approx(1.0)
    assert found.environments == 16
    assert (found.chance["environment"][3:5], found.chance["arm"][3:5]) == (["day 1"] * 2, ["A", "B"])
    assert np.reshape(found.chance["chance"], (16, 3)).sum(axis=1) == pytest.approx(np.ones(16))
    assert found.average[0] == several.best
    assert found.to_dict()["arms"][0]["arm"] == "A"


def test_a_low_reward_may_be_good():
    arm, day, reward = log(omega=0.5)
    high = Fit.from_arrays(arm, day, reward, variance="interaction")
    low = Fit.from_arrays(arm, day, [-x for x in reward], variance="interaction", direction="minimize")
    assert (low.best, low.interaction.observed) == (high.best, high.interaction.observed)
    assert low.interaction.arms["environments_led"] == pytest.approx(
        high.interaction.arms["environments_led"], abs=1.0
    )


def test_these_days_may_be_sure_where_an_average_day_is_not():
    """A gap of one sigma, omega 1.5, many rewards a day: who led on these days is seen, on others it is open."""
    fit = Fit.from_arrays(*log(omega=1.5, days=6, n=100, means=(0.0, 0.8), seed=5), variance="interaction")
    assert len(fit.interaction.average) == 2
    assert len(fit.interaction.observed) == 1


def test_nothing_is_said_of_models_without_and_little_where_nothing_can_be_told():
    arm, day, reward = log()
    assert Fit.from_arrays(arm, day, reward).interaction is None
    single = Fit.from_arrays(list("ABAB"), list("xxyy"), [1.0, 2.0, 4.0, 4.5], variance="interaction")
    assert (single.interaction.estimable, single.interaction.omega, single.interaction.one_winner) == (
        False,
        None,
        None,
    )
    apart = Fit.from_arrays(
        list("AABBCCDD"), list("xxxxyyyy"), [1.0, 2, 3, 5, 6, 7, 9, 12], variance="interaction"
    )
    assert apart.interaction.one_winner is None


def test_leaving_environments_out_is_weighted_as_the_fit_is():
    """By fits of the rest, omega and sigma held: `influence` of the weighted cells against solving them again."""
    fit = Fit.from_arrays(*log(seed=4), variance="interaction")
    table = {row["environment"]: row for row in fit.influence()}
    from tideproof.analysis.scale_choice import fit_on_scale
    from tideproof.stats.solve.least_squares import solve

    mixed = fit_on_scale("difference", fit.cells, solve(fit.cells), "interaction").found.mixed

    for j in (0, 7):
        rest = np.flatnonzero(mixed.cells.environment != j)
        mu = solve(mixed.cells.select(rest)).mu
        best = fit.cells.arms.index(fit.best)
        lead = mu[best] - np.delete(mu, best).max()
        assert table[f"day {j}"]["lead"] == pytest.approx(lead)


def test_a_wrong_cell_does_not_pick_the_winner():
    arm, day, reward = log(omega=0.0, wrong=[(0, 3)])
    assert Fit.from_arrays(arm, day, reward).best == "A"
    fit = Fit.from_arrays(arm, day, reward, robust="cells")
    assert fit.best == "C"
    assert [(row["arm"], row["environment"], row["n"]) for row in fit.left_out.table] == [("A", "day 3", 8)]
    assert fit.left_out.table["z"][0] > 30.0
    assert (fit.left_out.looked, fit.left_out.environments, fit.left_out.torn) == (48, (), False)
    rest = [k for k in range(len(arm)) if (arm[k], day[k]) != ("A", "day 3")]
    other = Fit.from_arrays(*([column[k] for k in rest] for column in (arm, day, reward)))
    assert fit.arms["mean"] == pytest.approx(other.arms["mean"])
    assert fit.to_dict()["left_out"]["cells"][0]["arm"] == "A"


def test_without_a_wrong_cell_robust_changes_nothing():
    arm, day, reward = log(omega=0.0)
    plain, robust = Fit.from_arrays(arm, day, reward), Fit.from_arrays(arm, day, reward, robust="cells")
    assert plain.left_out is None
    assert len(robust.left_out.table) == 0
    assert plain.arms == robust.arms


def test_robust_goes_with_a_table_with_logarithms_and_with_interactions():
    arm, day, reward = log(omega=0.0, wrong=[(1, 5)])
    table = {"v": arm, "d": day, "y": [float(np.exp(0.3 * x)) for x in reward]}
    fit = tp.fit(table, arm="v", environment="d", reward="y", scale="log", robust="cells")
    assert [(row["arm"], row["environment"]) for row in fit.left_out.table] == [("B", "day 5")]
    both = Fit.from_arrays(arm, day, reward, variance="interaction", robust="cells")
    assert (
        both.interaction.omega
        < 0.5
        < Fit.from_arrays(arm, day, reward, variance="interaction").interaction.omega
    )


def test_what_robust_cannot_do_is_refused():
    arm, day, reward = log(days=3)
    with pytest.raises(InputError, match="robust must be 'cells' or None, not 'rows'"):
        Fit.from_arrays(arm, day, reward, robust="rows")
    table = {"v": arm, "y": reward, "t": list(range(len(arm))), "x": list(range(len(arm))), "d": day}
    with pytest.raises(InputError, match="robust"):
        tp.fit(table, arm="v", reward="y", time="t", robust="cells")
    with pytest.raises(InputError, match="covariates"):
        tp.fit(table, arm="v", reward="y", environment="d", covariates="x", robust="cells")
