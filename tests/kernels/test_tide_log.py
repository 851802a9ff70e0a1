"""A log under one law of the tide: generalised least squares without jumps, fixed effects with huge ones."""

import numpy as np
import pytest
import statsmodels.api as sm

from oracles import dense
from tideproof.kernels.fit.tide_likelihood import SAME, USUAL, TimedRows, follow_log
from tideproof.stats.tide import tide_law
from tideproof.stats.tide.tide_law import TideLaw, empty_path_record, filter_program, fit_law

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def rows(arm, mean, move=None, n=None, squares=None):
    size = len(arm)
    return TimedRows(
        np.asarray(arm, np.int64),
        np.ones(size) if n is None else n,
        np.asarray(mean, float),
        np.zeros(size) if squares is None else squares,
        np.full(size, USUAL) if move is None else np.asarray(move, np.int64),
    )


def gls(arm, y, steps, weight):
    """Return contrasts to arm 0, their covariance and the noise variance, by statsmodels."""
    tide = np.cumsum(steps)
    found = sm.GLS(
        y, (arm[:, None] == np.unique(arm)) * 1.0, np.diag(1.0 / weight) + np.minimum.outer(tide, tide)
    ).fit()
    D = np.eye(found.params.size)[1:] - np.eye(found.params.size)[0]
    return D @ found.params, D @ found.cov_params() @ D.T, found.scale


@pytest.mark.parametrize("drift", [0.0, 0.003, 0.3])
def test_without_jumps_it_is_generalised_least_squares(drift):
    random = np.random.default_rng(1)
    arm, y = random.integers(4, size=80), 9.0 + 5.0 * random.normal(size=80)
    move = np.where(random.random(80) < 0.3, SAME, USUAL)  # some share a moment
    found = fit_law(follow_log, rows(arm, y, move), 4, TideLaw(drift, 0.0, 8.0), 3)
    contrasts, covariance, noise = gls(
        arm, y, np.where(move == SAME, 0.0, drift) * (np.arange(80) > 0), np.ones(80)
    )
    D = np.eye(4)[1:] - np.eye(4)[0]
    np.testing.assert_allclose(D @ found.level, contrasts, **CLOSE)
    np.testing.assert_allclose(D @ found.covariance @ D.T, covariance, **CLOSE)
    np.testing.assert_allclose(found.noise, noise, **CLOSE)


def test_rows_of_several_rewards_are_those_rewards_at_one_moment():
    random = np.random.default_rng(2)
    arm, count = random.integers(3, size=30), random.integers(1, 5, size=30)
    y = random.normal(size=(30, 5))
    each = [y[i, : count[i]] for i in range(30)]
    grouped = rows(
        arm,
        [values.mean() for values in each],
        n=count.astype(float),
        squares=np.array([((values - values.mean()) ** 2).sum() for values in each]),
    )
    move = np.concatenate([[USUAL] + [SAME] * (n - 1) for n in count])
    single = rows(np.repeat(arm, count), np.concatenate(each), move)
    law = TideLaw(0.05, 0.0, 8.0)
    one, many = (fit_law(follow_log, some, 3, law, 2) for some in (grouped, single))
    np.testing.assert_allclose(one.level - one.level[0], many.level - many.level[0], **CLOSE)
    np.testing.assert_allclose(one.noise, many.noise, **CLOSE)
    other = TideLaw(0.4, 0.0, 8.0)  # densities differ by what is the same for all laws
    gap = [
        fit_law(follow_log, some, 3, other, 2).evidence - found.evidence
        for some, found in ((grouped, one), (single, many))
    ]
    assert gap[0] == pytest.approx(gap[1], rel=1e-9)


def test_certain_jumps_without_end_are_fixed_effects():
    random = np.random.default_rng(3)
    environment = np.repeat(np.arange(12), 5)
    arm, y = random.integers(3, size=60), random.normal(size=60) + 100.0 * environment
    move = np.where(np.diff(environment, prepend=-1) > 0, USUAL, SAME)
    found = fit_law(follow_log, rows(arm, y, move), 3, TideLaw(0.0, 1.0, 1e9), 1)
    beta = dense(arm, environment, y, 3, 12).beta[:3]
    np.testing.assert_allclose(found.level - found.level[0], beta - beta[0], atol=1e-5)


def test_evidence_is_the_density_of_the_rewards():
    """Of two laws without jumps: the ratio of densities, noise variance integrated out over d log sigma."""
    random = np.random.default_rng(4)
    arm = np.concatenate([[0, 1], random.integers(2, size=38)])
    y = np.cumsum(0.5 * random.normal(size=40)) + random.normal(size=40)
    X = (arm[:, None] == np.arange(2)) * 1.0

    def log_density(drift):  # restricted likelihood, sigma integrated out
        V = np.eye(40) + drift * np.minimum.outer(np.arange(40), np.arange(40))
        W = np.linalg.inv(V)
        beta = np.linalg.solve(X.T @ W @ X, X.T @ W @ y)
        rss = (y - X @ beta) @ W @ (y - X @ beta)
        return -0.5 * (np.linalg.slogdet(V)[1] + np.linalg.slogdet(X.T @ W @ X)[1] + 38 * np.log(rss))

    found = [
        fit_law(follow_log, rows(arm, y), 2, TideLaw(drift, 0.0, 8.0), 1).evidence for drift in (0.01, 0.25)
    ]
    assert found[1] - found[0] == pytest.approx(log_density(0.25) - log_density(0.01), abs=1e-8)


def test_compiled_and_interpreted_are_the_same_to_the_bit(monkeypatch):
    monkeypatch.setattr(tide_law, "FEWEST_COMPILED", 0)
    random = np.random.default_rng(5)
    arm, y = random.integers(3, size=60), random.normal(size=60) + 8.0 * (np.arange(60) // 20)
    kept = [empty_path_record(60, 4) for _ in range(2)]
    compiled = filter_program(1)
    assert compiled is not follow_log
    found = [
        fit_law(program, rows(arm, y), 3, TideLaw(0.01, 0.05, 66.0), 4, keep)
        for program, keep in zip((compiled, follow_log), kept, strict=True)
    ]
    assert found[0].evidence == found[1].evidence
    assert np.array_equal(found[0].level, found[1].level)
    assert np.array_equal(kept[0].variance, kept[1].variance)
    assert np.array_equal(kept[0].jumped, kept[1].jumped)
    assert kept[0].jumped.sum() == pytest.approx(2.0, abs=0.3)  # there are two jumps


def test_weights_of_paths_add_up_to_one_also_after_rows_of_several_rewards():
    random = np.random.default_rng(6)
    size = 30
    grouped = rows(
        random.integers(3, size=size),
        random.normal(size=size) + 8.0 * (np.arange(size) // 10),
        n=np.full(size, 3.0),
        squares=random.chisquare(2, size=size),
    )
    kept = empty_path_record(size, 4)
    fit_law(follow_log, grouped, 3, TideLaw(0.01, 0.05, 66.0), 4, kept)
    np.testing.assert_allclose(kept.weight.sum(axis=1), 1.0, **CLOSE)
    assert (kept.weight > 0.0).sum(axis=1).max() > 1  # there is more than one path
