"""Paired comparisons with clusters, against textbook tests and dense linear algebra."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

import tideproof as tp
from tideproof.analysis.fit_result import Fit
from tideproof.errors import InputError
from tideproof.stats.variance.cluster_correction import correct_for_leverage

EXACT = 1e-10


def table(score, group=None):
    """Return the log of a matrix of scores (models x items), without missing ones."""
    model, item = np.nonzero(~np.isnan(score))
    columns = {"model": model, "item": item, "score": score[model, item]}
    return columns if group is None else columns | {"group": np.asarray(group)[item]}


def fit(score, group=None):
    columns = table(score, group)
    unit = {} if group is None else {"unit": "group"}
    return tp.fit(columns, arm="model", environment="item", reward="score", variance="paired", **unit)


def scores(models, items, seed=0):
    random = np.random.default_rng(seed)
    logit = random.normal(size=items) + np.linspace(0.0, 1.0, models)[:, None]
    return (random.random((models, items)) < 1.0 / (1.0 + np.exp(-logit))).astype(float)


def test_two_arms_are_the_paired_t_test():
    a, b = np.random.default_rng(1).normal(size=(2, 30))
    found, known = fit(np.array([a, b])).contrast(1, 0), stats.ttest_rel(b, a)
    assert found.p == pytest.approx(known.pvalue, rel=EXACT)
    assert (found.low, found.high) == pytest.approx(known.confidence_interval(), rel=EXACT)
    assert found.degrees_of_freedom == 29


def test_right_and_wrong_answers_are_mcnemars_test():
    score = scores(2, 120)
    found = fit(score).contrast(1, 0)
    cells = np.histogram2d(*score, bins=2)[0]
    t, n = found.estimate / found.se, 120
    assert n * t * t / (n - 1 + t * t) == pytest.approx(
        mcnemar(cells, exact=False, correction=False).statistic
    )


def test_each_pair_of_a_complete_log_is_its_own_paired_t_test():
    score = scores(6, 80, seed=2)
    found = fit(score)
    for i, k in ((0, 1), (2, 5), (4, 3)):
        known = stats.ttest_rel(score[i], score[k])
        assert found.contrast(i, k).p == pytest.approx(known.pvalue, rel=EXACT)


def test_equal_groups_are_a_paired_t_test_of_their_means():
    score = scores(3, 60, seed=3)
    found = fit(score, np.arange(60) // 5).contrast(2, 0)
    known = stats.ttest_rel(*score.reshape(3, 12, 5).mean(axis=2)[[2, 0]])
    assert found.p == pytest.approx(known.pvalue, rel=EXACT)
    assert found.degrees_of_freedom == 11


def test_means_are_accuracies_with_the_usual_standard_errors():
    score = scores(4, 90, seed=4)
    arms = fit(score).arms
    assert arms["mean"] == score.mean(axis=1).tolist()
    assert arms["se"] == pytest.approx(score.std(axis=1, ddof=1) / np.sqrt(90), rel=EXACT)


def test_the_mean_of_a_model_with_all_items_is_its_accuracy_if_others_have_gaps():
    score = scores(3, 40, seed=5)
    score[1:, ::3] = np.nan
    score[2, ::4] = np.nan
    assert fit(score).arms["mean"][0] == score[0].mean()


def test_missing_scores_and_unequal_groups_agree_with_dense_algebra():
    score = scores(4, 60, seed=6)
    score[np.random.default_rng(6).random(score.shape) < 0.3] = np.nan
    group = np.sort(np.random.default_rng(7).integers(0, 15, 60))
    model, item = np.nonzero(~np.isnan(score))
    y = score[model, item]
    X = np.zeros((y.size, 4 + 60))
    X[np.arange(y.size), model] = X[np.arange(y.size), 4 + item] = 1.0
    inverse = np.linalg.pinv(X)
    residual = y - X @ (inverse @ y)
    several = np.array([np.sum(item == j) > 1 for j in range(60)])[item]
    names = np.unique(group[item[several]])
    effect = np.array([(inverse * residual)[:4, (group[item] == g) & several].sum(axis=1) for g in names])
    # the share of a group in the information: that of its items' Laplacians
    L = []
    for g in names:
        total = np.zeros((4, 4))
        for j in np.flatnonzero(group == g):
            n = np.bincount(model[item == j], minlength=4).astype(float)
            total += np.diag(n) - np.outer(n, n) / max(n.sum(), 1.0)
        L.append(total)
    share = np.array([np.trace(np.linalg.pinv(sum(L)) @ part) for part in L]) / 3.0
    contrasts = effect[:, :, None] - effect[:, None, :]
    sizes = (contrasts**2).sum(axis=(1, 2))
    h2, count = share @ share, share.size
    b = (count * sizes.sum() - (sizes / share).sum()) / (h2 * count - 1.0)
    a = sizes.sum() - b * h2
    tau = share if b < 0.0 else share**2 if a < 0.0 else a * share + b * share**2
    tau = tau / tau.sum()
    factor = tau / (tau * (1.0 - 2.0 * share) + share**2)
    found = fit(score, group)
    for i, k in ((0, 1), (3, 2)):
        wanted = np.sqrt(factor @ contrasts[:, i, k] ** 2)
        assert found.contrast(i, k).se == pytest.approx(wanted, rel=1e-8)


def test_the_corrected_variance_is_unbiased():
    """For independent noise, computed from the matrix that maps noise to the clusters' residual terms."""
    sizes = np.array([1, 1, 2, 3, 5, 8])
    share = sizes / sizes.sum()
    cluster = np.repeat(np.arange(sizes.size), sizes)
    n = cluster.size  # differences of two arms, one for each item
    terms = np.array([(cluster == g) / n for g in range(sizes.size)]) @ (np.eye(n) - 1.0 / n)
    expected = correct_for_leverage(share, share).factor @ (terms**2).sum(axis=1)
    assert expected == pytest.approx(1.0 / n, rel=1e-12)


def test_shifts_of_items_change_nothing():
    score = scores(3, 50, seed=8)
    shifted = score + np.random.default_rng(8).normal(0.0, 100.0, 50)
    one, other = fit(score).contrast(2, 0), fit(shifted).contrast(2, 0)
    assert (one.estimate, one.se) == pytest.approx((other.estimate, other.se), rel=1e-8)


def test_models_that_agree_have_the_error_of_four_disagreements():
    score = np.repeat((np.arange(100) % 3 > 0)[None, :], 2, axis=0).astype(float)
    found = fit(score).contrast(1, 0)
    assert (found.estimate, found.se) == (0.0, pytest.approx(np.sqrt(4.0) / 100, rel=1e-12))
    assert found.high == pytest.approx(stats.t.ppf(0.975, 99) * 0.02, rel=1e-9)
    assert fit(score).decision.doubt == "several candidates"


def test_numbers_that_are_not_0_or_1_have_no_least_error():
    score = np.random.default_rng(9).normal(size=50) + np.array([[0.0], [1e-6]])
    assert fit(score).contrast(1, 0).se < 1e-9


def test_blocks_of_clusters_add_up(monkeypatch):
    from tideproof.stats.variance import paired_clusters

    score = scores(5, 70, seed=10)
    score[2, ::3] = np.nan
    whole = fit(score)
    monkeypatch.setattr(paired_clusters, "BLOCK_NUMBERS", 35)
    parts = fit(score)
    assert parts.contrast(4, 0).se == pytest.approx(whole.contrast(4, 0).se, rel=1e-12)
    assert parts.arms["se"] == pytest.approx(whole.arms["se"], rel=1e-12)


def test_groups_of_arms_that_share_no_item_are_kept_apart():
    score = np.full((4, 20), np.nan)
    score[:2, :10], score[2:, 10:] = scores(2, 10), scores(2, 10, seed=1)
    found = fit(score)
    assert found.decision.standing == "not_comparable"
    alone = fit(score[:2, :10]).contrast(1, 0)
    assert found.contrast(1, 0).se == pytest.approx(alone.se, rel=EXACT)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (np.arange(30) % 3, "needs at least 4 items or groups of items"),
        (None, "needs units that contain whole environments"),
    ],
)
def test_clusters_that_do_not_work_are_refused(group, message):
    columns = table(scores(2, 30), np.arange(30) if group is None else group)
    if group is None:
        columns["group"] = np.arange(60)
    with pytest.raises(InputError, match=message):
        tp.fit(columns, arm="model", environment="item", reward="score", variance="paired", unit="group")


def test_two_factors_are_refused():
    columns = table(scores(2, 30)) | {"day": np.arange(60) % 5}
    with pytest.raises(InputError, match="paired"):
        tp.fit(columns, arm="model", environment="item + day", reward="score", variance="paired")


def test_statements_are_about_similar_items_only():
    found = fit(scores(2, 30))
    assert isinstance(found, Fit)
    assert found.about == "similar"
    with pytest.raises(InputError, match="about='these' is not supported"):
        found.contrast(0, 1, about="these")
