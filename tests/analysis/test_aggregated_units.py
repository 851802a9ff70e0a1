"""Aggregated rows as units: overdispersed counts, and a column of units beside counts."""

import numpy as np
import pytest
import statsmodels.api as sm

import tideproof as tp
from tideproof.analysis.words.fit_text import unit_notes
from tideproof.errors import InputError
from tideproof.research.trust.combinations.unit_calibration import UnitSetting, play

# Crowder (1978), Beta-binomial anova for proportions: seeds of Orobanche that germinated, by plate.
SEEDS = {
    "r": [10, 23, 23, 26, 17, 5, 53, 55, 32, 46, 10, 8, 10, 8, 23, 0, 3, 22, 15, 32, 3],
    "n": [39, 62, 81, 51, 39, 6, 74, 72, 51, 79, 13, 16, 30, 28, 45, 4, 12, 41, 30, 51, 7],
    "seed": ["75"] * 11 + ["73"] * 10,
    "root": ["bean"] * 5 + ["cucumber"] * 6 + ["bean"] * 5 + ["cucumber"] * 5,
}
COUNTS = {"arm": "root", "successes": "r", "n": "n"}


@pytest.mark.parametrize("environment", [None, "seed"])
def test_plates_that_differ_count_as_units(environment):
    """Quasi-binomial regression has the standard error .21, a robust one (GEE) .20, and counts alone .144."""
    n, r = np.array(SEEDS["n"]), np.array(SEEDS["r"])
    ones = np.concatenate([np.arange(size) < events for size, events in zip(n, r, strict=True)])
    plate = np.repeat(np.arange(n.size), n)
    X = np.column_stack([np.ones(n.size), np.array(SEEDS["root"]) == "cucumber"]).astype(float)
    if environment:
        X = np.column_stack([X, np.array(SEEDS["seed"]) == "75"])
    model = sm.GEE(ones.astype(float), X[plate], groups=plate, family=sm.families.Binomial())
    wanted = sm.GLM(np.column_stack([r, n - r]), X, family=sm.families.Binomial()).fit()
    overdispersion = wanted.pearson_chi2 / wanted.df_resid
    quasi = wanted.bse[1] * np.sqrt(overdispersion)
    fit = tp.fit(SEEDS, **COUNTS, environment=environment, scale="odds")
    found = fit.contrast("cucumber", "bean")
    assert np.log1p(found.estimate) == pytest.approx(wanted.params[1], abs=0.01)
    assert found.se == pytest.approx(quasi, rel=0.1)
    assert found.se == pytest.approx(float(model.fit().bse[1]), rel=0.15)
    assert found.degrees_of_freedom < 19
    (note,) = unit_notes(fit)
    assert "each of the 21 rows counts as a unit" in note


def test_a_named_column_of_plates_is_the_same():
    named = tp.fit(
        {**SEEDS, "plate": list(range(21))}, **COUNTS, environment="seed", unit="plate", scale="odds"
    )
    plain = tp.fit(SEEDS, **COUNTS, environment="seed", scale="odds")
    assert named.contrast("cucumber", "bean") == plain.contrast("cucumber", "bean")
    assert named.scale == "odds"


def test_units_of_counts_are_those_of_their_rows():
    """Each user has one aggregated row for each day, or one row for each visit."""
    random = np.random.default_rng(1)
    user, day = np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50)
    n = random.integers(1, 6, 200)
    r = random.binomial(n, random.beta(2, 3, 50)[user])
    rows = {"arm": user % 2, "day": day, "user": user, "n": n, "r": r}
    single = {name: np.repeat(rows[name], n) for name in ("arm", "day", "user")}
    single["came"] = np.concatenate([np.arange(size) < k for size, k in zip(n, r, strict=True)]).astype(float)
    wanted = tp.fit(single, arm="arm", environment="day", reward="came", unit="user").contrast(1, 0)
    found = tp.fit(rows, arm="arm", environment="day", successes="r", n="n", unit="user").contrast(1, 0)
    assert (found.estimate, found.se, found.p) == pytest.approx((wanted.estimate, wanted.se, wanted.p))


def test_rows_that_do_not_repeat_are_no_units():
    log = {"arm": ["A", "B"] * 3, "day": [1, 1, 2, 2, 3, 3], "r": [3, 4, 5, 6, 7, 8], "n": [10] * 6}
    fit = tp.fit(log, arm="arm", environment="day", successes="r", n="n")
    assert fit.cells.units is None


def test_days_of_a_week_are_no_units():
    days = [f"2026-11-0{day}" for day in (2, 2, 3, 3, 4, 4)]
    log = {"arm": ["A", "B"] * 3, "day": days, "r": [3, 4, 5, 6, 7, 8], "n": [10] * 6}
    fit = tp.fit(log, arm="arm", environment="week(day)", successes="r", n="n")
    assert fit.cells.J == 1
    assert fit.cells.units is None


def test_segments_of_counts_are_refused():
    with pytest.raises(InputError, match="segments and two environment columns need one row for each"):
        tp.segments({**SEEDS}, **COUNTS, environment=None, by="seed")


@pytest.mark.parametrize(("visits", "units", "share"), [("geometric", 21, 0.5), ("constant", 12, 0.25)])
def test_equal_arms_of_plates_rarely_have_a_winner(visits, units, share):
    """More than 18 of 200 logs with probability 0.006, if 5 % have one; rows of counts alone had 84 and more."""
    setting = UnitSetting("plates", visits, units, share)
    assert sum(bool(play(setting, number)) for number in range(200)) <= 18
