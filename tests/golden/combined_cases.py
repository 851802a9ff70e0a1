"""Fits of drawn logs with options that work together, such as units with rates or covariates with a policy."""

from __future__ import annotations

import tideproof as tp
from golden.drawn_logs import drawn_log
from golden.fit_cases import CONVERSIONS, COUNTS, MONEY, RARE, SECONDS, attempt, described
from golden.stored_values import plain

UNITS = {"unit": "unit"}
THESE = {"about": "these"}
POLICY = {"adaptive": True}
COVARIATE = {"covariates": "earlier"}
FACTORS = {"environment": "day + site"}
DIFFERENT = {"interaction": 0.7, "environments": 10}
TWENTY = {"environments": 20, "rows": 300}

# name: what differs from the defaults of `drawn_log`, and options of `fit`.
COMBINED: dict[str, tuple[dict, dict]] = {
    "these": ({}, THESE),
    "these, different": (DIFFERENT, THESE),
    "different": (DIFFERENT, {}),
    "different, twenty": (TWENTY | {"interaction": 0.3, "lift": 0.05}, {}),
    "different, at all looks": (DIFFERENT, {"anytime": True}),
    "different, policy": (DIFFERENT, POLICY),
    "different, by arm": (DIFFERENT | {"by_arm": 0.8}, {"variance": "by-arm"}),
    "different, incomplete": (TWENTY | {"interaction": 0.7, "arms": 5, "seen": 0.5}, {}),
    "policy": ({"by_arm": 0.5, "rows": 70}, POLICY),
    "policy, these": ({"by_arm": 0.5, "rows": 70}, POLICY | THESE),
    "policy, incomplete": ({"arms": 6, "environments": 12, "rows": 150, "seen": 0.4}, POLICY),
    "policy, by environment": ({"by_environment": 0.8}, POLICY),
    "policy, counts": (COUNTS, POLICY | {"scale": "ratio"}),
    "policy, conversions, odds": (CONVERSIONS, POLICY | {"scale": "odds"}),
    "policy, conversions, difference": (CONVERSIONS, POLICY | {"scale": "difference"}),
    "policy, seconds": (SECONDS | {"rows": 120}, POLICY | {"scale": "log"}),
    "conversions, these": (CONVERSIONS, THESE),
    "conversions, odds, these": (CONVERSIONS, THESE | {"scale": "odds"}),
    "conversions, many days": (CONVERSIONS | {"environments": 25, "rows": 1500}, {"scale": "ratio"}),
    "conversions, odds, many days": (CONVERSIONS | {"environments": 25, "rows": 1500}, {"scale": "odds"}),
    "rare, units": (RARE, UNITS),
    "counts, these": (COUNTS, THESE | {"scale": "ratio"}),
    "money, these": (MONEY, THESE),
    "seconds, these": (SECONDS, THESE | {"scale": "log"}),
    "units, these": ({}, UNITS | THESE),
    "units, at all looks": ({}, UNITS | {"anytime": True}),
    "units, policy": ({}, UNITS | POLICY),
    "units, different": (DIFFERENT, UNITS),
    "units, incomplete": (TWENTY | {"arms": 5, "seen": 0.5}, UNITS),
    "units, conversions": (CONVERSIONS, UNITS),
    "units, conversions, odds": (CONVERSIONS, UNITS | THESE | {"scale": "odds"}),
    "units, conversions, ratio": (CONVERSIONS, UNITS | THESE | {"scale": "ratio"}),
    "units, conversions, policy": (CONVERSIONS, UNITS | POLICY),
    "units, counts": (COUNTS, UNITS | {"scale": "ratio"}),
    "units, money": (MONEY, UNITS),
    "units, minimise": ({}, UNITS | {"direction": "minimize", "confidence": 0.8}),
    "by unit": ({}, UNITS | {"variance": "by-unit"}),
    "covariate, these": ({}, COVARIATE | THESE),
    "covariate, policy": ({"by_arm": 0.5}, COVARIATE | POLICY),
    "covariate, by arm": ({"by_arm": 0.6}, COVARIATE),
    "covariate, twenty": (TWENTY | {"interaction": 0.3}, COVARIATE),
    "covariate, sandwich": ({"by_arm": 0.6}, COVARIATE | {"variance": "sandwich"}),
    "covariate, common": ({}, COVARIATE | {"variance": "common"}),
    "covariate, clustered": (DIFFERENT, COVARIATE | {"variance": "clustered"}),
    "covariate, conversions": (CONVERSIONS, COVARIATE | {"scale": "difference"}),
    "covariate, skewed": ({"kind": "skewed", "rows": 90}, COVARIATE),
    "covariate, units, these": ({}, COVARIATE | UNITS | THESE),
    "two factors, these": ({"environments": 5}, FACTORS | THESE),
    "two factors, by arm": ({"environments": 5, "by_arm": 0.6}, FACTORS),
    "two factors, common": ({"environments": 5}, FACTORS | {"variance": "common"}),
    "two factors, different": (DIFFERENT, FACTORS),
    "two factors, conversions": (CONVERSIONS | {"environments": 5}, FACTORS | {"scale": "difference"}),
    "two factors, covariate": ({"environments": 5}, FACTORS | COVARIATE),
    "two factors, few": ({"environments": 4, "rows": 45, "by_environment": 0.8}, FACTORS),
    "winsorized, units": (MONEY, UNITS | {"winsorize": 0.9}),
    "quotient, these": ({}, THESE | {"reward": "reward / sessions"}),
    "quotient, different": (DIFFERENT, {"reward": "reward / sessions"}),
    "outlying cells, units": ({"wrong": 1, "environments": 10}, UNITS | {"robust": "cells"}),
    "outlying cells, conversions": (
        CONVERSIONS | {"environments": 10},
        {"robust": "cells", "scale": "ratio"},
    ),
}

# Logs of so many arms that pairs are tested in batches.
BATCHES: dict[str, tuple[dict, dict]] = {
    name: ({"arms": 110, "environments": 5, "rows": 500, "lift": 0.002, "seen": 0.8} | drawn, options)
    for name, drawn, options in (
        ("normal", {}, {}),
        ("normal, these", {"by_arm": 0.02}, THESE),
        ("counts", {"kind": "counts", "base": 3.0}, THESE | {"scale": "ratio"}),
        ("conversions", {"kind": "conversions", "base": 0.3, "rows": 1200}, THESE | {"scale": "ratio"}),
        ("conversions, odds", {"kind": "conversions", "base": 0.3, "rows": 1200}, THESE | {"scale": "odds"}),
        ("skewed", {"kind": "skewed"}, THESE | {"confidence": 0.8}),
    )
}


def stored_combination(name):
    """Return what is stored of a fit: that of other fits, its leads, and what its decision rests on."""
    drawn, options = (COMBINED | BATCHES)[name]
    given = {"arm": "arm", "environment": "day", "reward": "reward"} | options
    return attempt(lambda: _described(tp.fit(drawn_log(**drawn), **given), few=name in BATCHES))


def _described(fit, few):
    found = {
        "lead": attempt(lambda: fit.lead_contrast.to_dict()),
        "environments to come": attempt(lambda: fit.environments_to_come),
        "misfit": attempt(lambda: fit.misfit),
        "narrowest": fit.narrowest_about,
    }
    if few:
        found["candidates"] = fit.candidates
    else:
        found["leads"] = attempt(lambda: fit.leads)
    return plain(found | {"fit": described(fit, few=few)})
