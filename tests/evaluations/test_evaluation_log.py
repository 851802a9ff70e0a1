"""The table of scores, what `fit` makes of it, and clear errors for logs that cannot be analyzed."""

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from tideproof.errors import InputError, UnknownName


def log_of(score, **columns):
    """Return the log of a matrix of scores, models x items."""
    model, item = np.indices(score.shape).reshape(2, -1)
    names = {"model": [f"m{i}" for i in model], "item": [f"q{j}" for j in item]}
    return tp.EvaluationLog(names | {"score": score.ravel().tolist()} | columns)


def matrix(models=3, items=40, seed=0):
    random = np.random.default_rng(seed)
    return (random.random((models, items)) < np.linspace(0.4, 0.8, models)[:, None]).astype(float)


def test_defaults_of_a_complete_log():
    score = matrix()
    fit = tp.fit(log_of(score))
    assert (fit.scale, fit.variance, fit.about) == ("difference", "paired", "similar")
    assert fit.arms["mean"] == score.mean(axis=1).tolist()
    assert fit.contrast("m2", "m0").p == pytest.approx(stats.ttest_rel(score[2], score[0]).pvalue, rel=1e-10)


@pytest.mark.parametrize("samples", [3, 49])
def test_means_of_repeated_samples_are_exact(samples):
    random = np.random.default_rng(1)
    right = random.integers(0, samples + 1, (2, 30))
    rows = [
        (f"m{i}", f"q{j}", k, float(k < right[i, j]))
        for i in range(2)
        for j in range(30)
        for k in range(samples)
    ]
    columns = dict(zip(("model", "item", "sample", "score"), map(list, zip(*rows, strict=True)), strict=True))
    fit = tp.fit(tp.EvaluationLog(columns))
    assert fit.arms["mean"] == [int(n.sum()) / (30 * samples) for n in right]
    known = stats.ttest_rel(right[1] / samples, right[0] / samples)
    assert fit.contrast("m1", "m0").p == pytest.approx(known.pvalue, rel=1e-9)


def test_groups_are_clusters_unless_items_are_asked_for():
    score = matrix()
    log = log_of(score, group=[f"p{j % 10}" for _ in range(3) for j in range(40)])
    means = score.reshape(3, 4, 10).mean(axis=1)
    assert tp.fit(log).contrast("m2", "m0").p == pytest.approx(stats.ttest_rel(means[2], means[0]).pvalue)
    items = tp.fit(log, unit="item").contrast("m2", "m0").p
    assert items == pytest.approx(stats.ttest_rel(score[2], score[0]).pvalue)


def test_graders_compare_models_under_the_same_grader():
    """A strict grader of most answers of one model makes that model look worse, but not here."""
    rows = []
    for item in range(30):
        for model, graders in (("a", ("strict", "mild")), ("b", ("strict",))):
            rows += [(model, item, g, 0.5 + 0.1 * (model == "b") + 0.3 * (g == "mild")) for g in graders]
    columns = dict(zip(("model", "item", "grader", "score"), map(list, zip(*rows, strict=True)), strict=True))
    noise = np.random.default_rng(2).normal(0.0, 0.01, len(rows))
    columns["score"] = (np.array(columns["score"]) + noise).tolist()
    fit = tp.fit(tp.EvaluationLog(columns))
    assert fit.arms["raw_mean"][0] > fit.arms["raw_mean"][1]
    assert fit.contrast("b", "a").estimate == pytest.approx(0.1, abs=0.01)
    assert len(fit.cells.environments) == 60
    assert fit.contrast("b", "a").degrees_of_freedom == 29  # items, not graders, are independent


def test_errors_and_unscored_samples_are_counted_and_never_0():
    score = matrix(2, 20)
    values = score.ravel().tolist()
    values[0], values[21] = None, float("nan")
    log = tp.EvaluationLog(
        {name: log_of(score)[name] for name in ("model", "item")}
        | {"score": values, "error": ["crash", *[None] * 39]}
    )
    assert log.counts.to_dicts() == [
        {"model": "m0", "scores": 19, "errors": 1, "unscored": 0},
        {"model": "m1", "scores": 19, "errors": 0, "unscored": 1},
    ]
    fit = tp.fit(log)
    assert fit.notes == ("Not analyzed, and not counted as 0: 1 error (m0 1) and 1 unscored sample (m1 1).",)
    assert repr(fit).endswith(fit.notes[0])
    assert fit.arms["n"] == [19, 19]
    assert fit.arms["raw_mean"] == [score[0, 1:].mean(), np.delete(score[1], 1).mean()]


def test_items_are_named_by_task_or_group_where_names_repeat():
    score = matrix(2, 20)
    log = log_of(score, item=[str(j % 5) for _ in range(2) for j in range(20)], task=["x"] * 5 + ["y"] * 5 + ["z"] * 5 + ["w"] * 5 + ["x"] * 5 + ["y"] * 5 + ["z"] * 5 + ["w"] * 5)  # fmt: skip
    assert log["item"][:6] == ["x:0", "x:1", "x:2", "x:3", "x:4", "y:0"]
    assert len(tp.fit(log).cells.environments) == 20
    parts = tp.segments(log, by="task", environment="item")
    assert list(parts.fits) == ["x", "y", "z", "w"]
    assert parts.fits["y"].arms["raw_mean"] == score[:, 5:10].mean(axis=1).tolist()


def test_a_segment_with_few_items_is_left_out():
    log = log_of(matrix(2, 20), task=(["x"] * 17 + ["y"] * 3) * 2)
    found = tp.segments(log, by="task", environment="item")
    assert list(found.fits) == ["x"]
    assert found.left_out == {"y": "fewer than 4 items or groups of items compare its arms"}


def test_costs_are_metrics():
    log = log_of(
        matrix(2, 20), dollars=[0.1 + 0.001 * i for i in range(20)] + [0.5] * 20, seconds=[None] * 40
    )
    assert log.costs == ["dollars"]
    found = tp.metrics(log, rewards=["score", "dollars"], low=["dollars"], arm="model", environment="item")
    assert found.fits["dollars"].arms["mean"] == pytest.approx([0.1095, 0.5])
    assert found.fits["dollars"].direction == "minimize"
    assert tp.fit(log, reward="dollars", direction="minimize").best == "m0"


def test_the_picture_of_quality_and_cost(tmp_path):
    log = log_of(matrix(), dollars=[0.1] * 40 + [0.2] * 40 + [0.3] * 40)
    log.plot(tmp_path / "cost.svg")
    said = (tmp_path / "cost.svg").read_text()
    assert "Quality against dollars" in said
    assert said.count("<circle") == 3
    with pytest.raises(InputError, match="no costs"):
        log_of(matrix()).plot()


def test_about_these_items_uses_the_noise_of_repeated_samples():
    score = np.repeat(matrix(2, 20), 2, axis=1)
    items = [f"q{j // 2}" for _ in range(2) for j in range(40)]
    fit = tp.fit(log_of(score, item=items, sample=[1, 2] * 40), about="these")
    assert (fit.about, fit.variance, fit.scale) == ("these", "auto", "difference")


def test_other_columns_make_it_a_plain_table():
    log = log_of(matrix(2, 20), task=(["x"] * 10 + ["y"] * 10) * 2)
    fit = tp.fit(log, arm="model", environment="task", reward="score")
    assert fit.cells.environments == ["x", "y"]
    assert log.to_dicts()[0] == {"model": "m0", "item": "q0", "task": "x", "score": log["score"][0]}
    assert log == tp.EvaluationLog({name: log[name] for name in log.columns})


def test_odds_can_be_asked_for():
    assert tp.fit(log_of(matrix()), scale="odds").scale == "odds"


COLUMNS = {"model": ["a", "b"] * 4, "item": [1, 1, 2, 2, 3, 3, 4, 4], "score": [0, 1, 1, 1, 0, 1, 0, 0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"item": [1, 2, 3, 4, 5, 6, 7, 8]}, "models without a common item cannot be compared: 'a' and 'b'"),
        ({"score": [float("nan")] * 8}, "no score: all are missing or NaN"),
        ({"score": [0, 1, 1, 1, 0, 1, 0, float("inf")]}, "must be a finite number.*not inf"),
        ({"score": np.array([0.0, 1, 1, 1, 0, 1, 0, np.inf])}, "must be a finite number.*not inf"),
        ({"score": [0, 1, 1, 1, 0, 1, 0, "good"]}, "must be a finite number.*not 'good'"),
        (
            {"item": [1, 1, 1, 1, 3, 3, 4, 4], "sample": [1] * 8},
            "duplicate score: model 'a', item 1, sample 1",
        ),
        ({"item": [1, 1, 1, 2, 3, 3, 4, 4]}, "duplicate score: model 'a', item 1"),
        ({"model": ["a"] * 8, "item": list(range(8))}, "at least two models.*only those of 'a'"),
        ({"model": ["a", None] * 4}, "needs a model in each row"),
        ({"group": ["p", "p", "q", "q"] * 2}, "has 2 groups of items.*unit='item'"),
        ({"group": ["p", "p", None, None, "r", "r", "s", "s"]}, "some items have no group"),
        ({"group": ["p"]}, "must have the same length"),
        ({name: [] for name in COLUMNS}, "is empty"),
    ],
)
def test_invalid_logs_get_one_clear_message(change, message):
    with pytest.raises(InputError, match=message):
        tp.fit(tp.EvaluationLog(COLUMNS | change))


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="needs a column 'score'"):
        tp.EvaluationLog({"model": ["a"], "item": [1]})
    with pytest.raises(UnknownName, match="passage"):
        tp.fit(tp.EvaluationLog(COLUMNS), unit="passage")
    with pytest.raises(UnknownName, match="tokens"):
        tp.fit(tp.EvaluationLog(COLUMNS), reward="tokens")


def test_most_items_with_several_scores_are_repeated_samples():
    columns = {name: list(values) * 2 for name, values in COLUMNS.items()}
    log = tp.EvaluationLog(columns)
    assert log.remarks == ("Items have up to 2 scores of a model, taken as repeated samples.",)
    assert tp.fit(log).arms["n"] == [8, 8]


def test_a_large_log_is_fast_and_exact():
    """50 models and 20,000 items take about 0.8 s of processor time; the bound allows for busy machines."""
    import time

    random = np.random.default_rng(3)
    score = (random.random((50, 4_000)) < 0.6).astype(float)
    log = log_of(score)
    start = time.process_time()
    fit = tp.fit(log)
    assert fit.decision.standing in ("winner", "open")
    assert time.process_time() - start < 2.0
    assert fit.arms["mean"] == score.mean(axis=1).tolist()
