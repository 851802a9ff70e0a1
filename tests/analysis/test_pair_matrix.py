"""Comparisons of every pair of arms, and the chart of quality against cost."""

import math

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from tideproof.analysis.quality_cost import quality_cost_panel


def log_of(models=4, items=60, seed=0):
    random = np.random.default_rng(seed)
    score = random.normal(size=(models, items)) + 0.5 * np.arange(models)[:, None]
    model, item = np.indices(score.shape).reshape(2, -1)
    columns = {"model": model, "item": item, "score": score.ravel(), "tokens": 10.0 * (model + 1)}
    return score, tp.EvaluationLog(columns)


def test_every_pair_has_bonferronis_interval():
    score, log = log_of()
    fit = tp.fit(log)
    rows = tp.pair_matrix(fit).to_dicts()
    assert [(row["arm"], row["other"]) for row in rows] == [(3, 2), (3, 1), (3, 0), (2, 1), (2, 0), (1, 0)]
    for row in rows:
        found = stats.ttest_rel(score[row["arm"]], score[row["other"]])
        bounds = found.confidence_interval(1.0 - 0.05 / 6)
        assert (row["low"], row["high"]) == pytest.approx(tuple(bounds), rel=1e-9)
        assert row["p"] == pytest.approx(min(1.0, 6.0 * found.pvalue), rel=1e-9)


def test_single_intervals_are_contrasts():
    _, log = log_of()
    fit = tp.fit(log)
    row = tp.pair_matrix(fit, simultaneous=False).to_dicts()[0]
    assert (row["low"], row["p"]) == (fit.contrast(3, 2).low, fit.contrast(3, 2).p)


def test_arms_that_cannot_be_compared_are_no_pair():
    log = {"arm": "ABCD" * 4, "day": [0, 0, 1, 1] * 4, "y": [1.0, 2, 3, 4, 2, 2, 4, 3] * 2}
    fit = tp.fit(log, arm="arm", environment="day", reward="y")
    assert len(tp.pair_matrix(fit)) == 2


def test_the_line_of_the_chart_connects_models_that_no_other_dominates():
    _, log = log_of()
    fits = tp.metrics(log, rewards=["score", "tokens"], low=["tokens"], arm="model", environment="item").fits
    panel = quality_cost_panel(fits["score"], fits)
    assert panel.title == "Quality against tokens"
    line = panel.picture.split('<polyline points="')[1].split('"')[0].split()
    assert len(line) == 4  # the better a model, the more it costs
    assert panel.picture.count("<circle") == 4
    assert quality_cost_panel(fits["score"], {"score": fits["score"]}) is None


def test_a_dominated_model_is_not_on_the_line():
    _, log = log_of()
    cost = {"model": log["model"], "item": log["item"], "score": log["score"]}
    cost["tokens"] = [{0: 10.0, 1: 50.0, 2: 20.0, 3: 30.0}[model] for model in log["model"]]
    log = tp.EvaluationLog(cost)
    fits = tp.metrics(log, rewards=["score", "tokens"], low=["tokens"], arm="model", environment="item").fits
    picture = quality_cost_panel(fits["score"], fits).picture
    points = [
        tuple(map(float, p.split(","))) for p in picture.split('<polyline points="')[1].split('"')[0].split()
    ]
    assert len(points) == 3
    assert all(math.isfinite(x) for point in points for x in point)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)  # better is higher
