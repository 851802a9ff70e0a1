"""Textbook analyses of two arms, by statsmodels and scipy: none of them uses tideproof.

Each function takes the rows, the options of the analysis and the two arms, and returns a `TextbookAnswer`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.meta_analysis import combine_effects

from gallery_entry import TextbookAnswer

Options = Mapping[str, Any]
Pair = tuple[Any, Any]


def least_squares(frame: pd.DataFrame, options: Options, pair: Pair) -> TextbookAnswer:
    """Return the least-squares comparison with arms, blocks and covariates as effects that add up."""
    rows = _model_rows(frame, options)
    fitted = smf.ols(_formula(rows, pair), rows).fit()
    terms = [name for name in fitted.params.index if name.startswith("C(arm")]
    overall = float(fitted.f_test(np.eye(len(fitted.params))[fitted.params.index.isin(terms)]).pvalue)
    return _arm_effect(fitted, pair, "difference", overall if len(terms) > 1 else None)


def cell_means(frame: pd.DataFrame, options: Options, pair: Pair) -> TextbookAnswer:
    """Return the block analysis of means: one value for each arm in each environment.

    In balanced data this is the analysis of variance in which arms are tested against the interaction of arms
    and blocks, or against the error of whole plots.
    """
    rows = _model_rows(frame, options)
    blocks = [name for name in rows if name.startswith("block")]
    means = rows.groupby(["arm", *blocks], as_index=False)["reward"].mean()
    fitted = smf.ols(_formula(means, pair), means).fit()
    terms = [name for name in fitted.params.index if name.startswith("C(arm")]
    overall = float(fitted.f_test(np.eye(len(fitted.params))[fitted.params.index.isin(terms)]).pvalue)
    return _arm_effect(fitted, pair, "difference", overall if len(terms) > 1 else None)


def paired_t(frame: pd.DataFrame, options: Options, pair: Pair) -> TextbookAnswer:
    """Return the t-test of the differences of two arms within environments."""
    rows = _model_rows(frame, options)
    means = rows.groupby(["block0", "arm"])["reward"].mean().unstack().dropna()
    found = stats.ttest_rel(means[pair[0]], means[pair[1]])
    low, high = found.confidence_interval(0.95)
    return TextbookAnswer(float((means[pair[0]] - means[pair[1]]).mean()), low, high, found.pvalue)


def welch_t(frame: pd.DataFrame, options: Options, pair: Pair) -> TextbookAnswer:
    """Return the t-test of two means with unequal variances; with units, of the means of units."""
    rows = _model_rows(frame, options)
    if "unit" in options:
        rows = (
            rows.assign(unit=frame[options["unit"]]).groupby(["unit", "arm"], as_index=False)["reward"].mean()
        )
    first, second = (rows.loc[rows["arm"] == arm, "reward"] for arm in pair)
    found = stats.ttest_ind(first, second, equal_var=False)
    low, high = found.confidence_interval(0.95)
    return TextbookAnswer(float(first.mean() - second.mean()), low, high, found.pvalue)


def quasi_poisson(frame: pd.DataFrame, options: Options, pair: Pair) -> TextbookAnswer:
    """Return the ratio of means by Poisson regression on arms and blocks, with measured scatter."""
    rows = _model_rows(frame, options)
    fitted = smf.glm(_formula(rows, pair), rows, family=sm.families.Poisson()).fit(scale="X2", use_t=True)
    return _arm_effect(fitted, pair, "ratio")


def quasi_binomial(frame: pd.DataFrame, options: Options, pair: Pair) -> TextbookAnswer:
    """Return the odds ratio by logistic regression on arms and blocks, with measured scatter."""
    rows = _model_rows(frame, options)
    rows["share"] = rows["reward"] / rows["n"]
    formula = _formula(rows, pair).replace("reward", "share", 1)
    family = sm.families.Binomial()
    fitted = smf.glm(formula, rows, family=family, var_weights=rows["n"]).fit(scale="X2", use_t=True)
    return _arm_effect(fitted, pair, "odds")


def mantel_haenszel(frame: pd.DataFrame, options: Options, pair: Pair) -> TextbookAnswer:
    """Return Mantel and Haenszel's common odds ratio of the environments, and their test."""
    tables = [table for table in _two_by_two(frame, options, pair) if table.sum(axis=0).min() > 0]
    pooled = StratifiedTable(tables)
    low, high = pooled.oddsratio_pooled_confint()
    p = pooled.test_null_odds(correction=False).pvalue
    return TextbookAnswer(pooled.oddsratio_pooled - 1.0, low - 1.0, high - 1.0, float(p), "odds")


def random_effects_ratio(frame: pd.DataFrame, options: Options, pair: Pair) -> TextbookAnswer:
    """Return DerSimonian and Laird's mean of the studies' logarithms of risk ratios."""
    tables = _two_by_two(frame, options, pair)
    effects = [np.log(t[0, 0] / t[0].sum()) - np.log(t[1, 0] / t[1].sum()) for t in tables]
    variances = [1 / t[0, 0] - 1 / t[0].sum() + 1 / t[1, 0] - 1 / t[1].sum() for t in tables]
    pooled = combine_effects(np.array(effects), np.array(variances), method_re="dl")
    estimate, error = pooled.mean_effect_re, pooled.sd_eff_w_re
    return _normal_answer(estimate, error, "ratio")


def random_effects_difference(frame: pd.DataFrame, options: Options, pair: Pair) -> TextbookAnswer:
    """Return DerSimonian and Laird's mean of the studies' differences of means."""
    rows = _model_rows(frame, options).assign(sd=frame[options["sd"]])
    wide = rows.pivot(index="block0", columns="arm", values=["reward", "n", "sd"])
    effects = wide["reward"][pair[0]] - wide["reward"][pair[1]]
    variances = (wide["sd"] ** 2 / wide["n"]).sum(axis=1)
    pooled = combine_effects(effects.to_numpy(float), variances.to_numpy(float), method_re="dl")
    return _normal_answer(pooled.mean_effect_re, pooled.sd_eff_w_re, "difference")


def conditional_odds(frame: pd.DataFrame, options: Options, pair: Pair) -> TextbookAnswer:
    """Return the odds ratio by conditional logistic regression, with one stratum for each environment.

    A stratum whose rewards are all equal says nothing, and is left out.
    """
    rows = _model_rows(frame, options)
    rows = rows[rows.groupby("block0")["reward"].transform("nunique") > 1]
    treated = (rows["arm"] == pair[0]).astype(float).rename("arm").to_frame()
    fitted = sm.ConditionalLogit(rows["reward"], treated, groups=rows["block0"]).fit(disp=0)
    return _normal_answer(float(fitted.params["arm"]), float(fitted.bse["arm"]), "odds")


def _model_rows(frame: pd.DataFrame, options: Options) -> pd.DataFrame:
    """Return rows with the columns reward, arm, block0, block1, ..., covariate0, ... and n."""
    environment = options.get("environment")
    if "wide" in options:
        arms = list(options["wide"])
        frame = frame.melt(id_vars=[environment], value_vars=arms, var_name="arm", value_name="reward")
        options = {"arm": "arm", "reward": "reward", "environment": environment}
    reward = options.get("reward") or options["successes"]
    rows = pd.DataFrame({"reward": frame[reward].astype(float), "arm": frame[options["arm"]]})
    for i, term in enumerate(environment.split("+") if environment else []):
        rows[f"block{i}"] = frame[re.findall(r"[\w.]+", term)].astype(str).agg(":".join, axis=1)
    for i, column in enumerate(options.get("covariates", ())):
        rows[f"covariate{i}"] = frame[column].astype(float)
    if "n" in options:
        rows["n"] = frame[options["n"]].astype(float)
    return rows


def _formula(rows: pd.DataFrame, pair: Pair) -> str:
    """Return the formula of a model in which arms, blocks and covariates add up."""
    blocks = [f"C({name})" for name in rows if name.startswith("block")]
    covariates = [name for name in rows if name.startswith("covariate")]
    return " + ".join([f"reward ~ C(arm, Treatment({pair[1]!r}))", *blocks, *covariates])


def _arm_effect(fitted: Any, pair: Pair, scale: str, overall: float | None = None) -> TextbookAnswer:
    """Return the coefficient of the first arm, whose reference is the second, as an answer."""
    [name] = [name for name in fitted.params.index if name.endswith(f"[T.{pair[0]}]") and "C(arm" in name]
    estimate, (low, high) = fitted.params[name], fitted.conf_int().loc[name]
    if scale != "difference":
        estimate, low, high = (float(np.expm1(x)) for x in (estimate, low, high))
    return TextbookAnswer(
        float(estimate), float(low), float(high), float(fitted.pvalues[name]), scale, overall
    )


def _normal_answer(estimate: float, error: float, scale: str) -> TextbookAnswer:
    """Return an answer from a normal estimate; ratios and odds ratios are estimated as logarithms."""
    low, high = estimate - 1.959964 * error, estimate + 1.959964 * error
    p = 2.0 * stats.norm.sf(abs(estimate / error))
    if scale != "difference":
        estimate, low, high = (float(np.expm1(x)) for x in (estimate, low, high))
    return TextbookAnswer(float(estimate), float(low), float(high), float(p), scale)


def _two_by_two(frame: pd.DataFrame, options: Options, pair: Pair) -> list[np.ndarray]:
    """Return a table of ones and zeros by arm for each environment."""
    rows = _model_rows(frame, options)
    if "n" not in rows:
        rows = rows.assign(n=1.0)
    if "block0" not in rows:
        rows["block0"] = "all"
    sums = rows.groupby(["block0", "arm"])[["reward", "n"]].sum()
    tables = []
    for block in rows["block0"].unique():
        cells = [sums.loc[(block, arm)] for arm in pair]
        tables.append(np.array([[cell["reward"], cell["n"] - cell["reward"]] for cell in cells]))
    return tables
