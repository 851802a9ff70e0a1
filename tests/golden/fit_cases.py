"""Fits of drawn logs with every option, and what is stored of each."""

from __future__ import annotations

import os
from itertools import combinations

import tideproof as tp
from golden.drawn_logs import aggregated, drawn_log, wide
from golden.stored_values import plain
from tideproof import errors

SHOW = os.environ.get("SHOW")
CONVERSIONS = {"kind": "conversions", "base": 0.2, "rows": 600}
RARE = {"kind": "conversions", "base": 0.01, "lift": 0.6, "rows": 1500}
COUNTS = {"kind": "counts", "base": 2.0, "rows": 240}
MONEY = {"kind": "money", "rows": 600}
SECONDS = {"kind": "seconds", "base": 3.0, "shift": 1.0, "sd": 0.4}
HIDDEN = {"environments": 8, "rows": 160, "shift": 3.0}
MINUTE = {"environment": "", "time": "time"}  # no environment is given
DAY = {"environment": "day"}

# name: what differs from the defaults of `drawn_log`, and options of `fit`.
FITS: dict[str, tuple[dict, dict]] = {
    "plain": ({}, {}),
    "two arms": ({"arms": 2, "rows": 60}, {}),
    "level": ({"rows": 60}, {"confidence": 0.8, "prior": "flat"}),
    "minimise": ({"lift": 0.02}, {"direction": "minimize"}),
    "minimise at all looks": ({"lift": 0.02}, {"direction": "minimize", "anytime": True}),
    "one environment": ({"environments": 1, "rows": 40}, {}),
    "no environments": ({"environments": 4}, {"environment": None}),
    "incomplete": ({"arms": 6, "environments": 12, "rows": 150, "seen": 0.4}, {}),
    "never met": ({"arms": 5, "groups": 2}, {}),
    "never met, minimise, flat": ({"arms": 7, "groups": 3}, {"direction": "minimize", "prior": "flat"}),
    "never met, at all looks": ({"arms": 5, "groups": 2}, {"anytime": True}),
    "close": ({"lift": 0.005}, {}),
    "equal": ({"lift": 0.0}, {"prior": "flat"}),
    "tiny": ({"multiply": 1e-8}, {}),
    "huge": ({"multiply": 1e12}, {}),
    "few": ({"rows": 9, "environments": 2}, {}),
    "no noise": ({"sd": 0.0, "lift": 0.5, "environments": 3, "rows": 30}, {"variance": "common"}),
    "skewed": ({"kind": "skewed", "rows": 90}, {}),
    "below zero": ({"base": -2.0, "shift": 3.0}, {}),
    "around zero": ({"base": 0.5, "lift": 1.0}, {"prior": "flat"}),
    "common": ({}, {"variance": "common"}),
    "common, adaptive": ({}, {"variance": "common", "adaptive": True}),
    "common, at all looks": ({}, {"variance": "common", "anytime": True, "adaptive": True}),
    "by arm": ({"by_arm": 0.6}, {"variance": "by-arm"}),
    "by arm, adaptive": ({"by_arm": 0.6, "rows": 40}, {"variance": "by-arm", "adaptive": True}),
    "by arm, few": (
        {"by_arm": 0.6, "rows": 30, "environments": 4, "arms": 4},
        {"variance": "by-arm", "adaptive": True},
    ),
    "by environment": ({"by_environment": 0.8}, {"variance": "by-environment"}),
    "robust": ({"by_arm": 0.4, "by_environment": 0.4}, {"variance": "sandwich"}),
    "robust, at all looks": ({"by_arm": 0.4}, {"variance": "sandwich", "anytime": True}),
    "clustered": ({"interaction": 0.5, "environments": 10}, {"variance": "clustered"}),
    "interaction": ({"interaction": 1.0, "environments": 9}, {"variance": "interaction"}),
    "no interaction": ({"environments": 9}, {"variance": "interaction"}),
    "interaction, incomplete": (
        {"interaction": 1.5, "environments": 12, "seen": 0.6, "arms": 4},
        {"variance": "interaction"},
    ),
    "interaction by arm": (
        {"interaction": 1.0, "by_arm": 0.7, "environments": 9},
        {"variance": "interaction+by-arm"},
    ),
    "interaction by environment": (
        {"interaction": 1.0, "by_environment": 0.7, "environments": 9},
        {"variance": "interaction+by-environment"},
    ),
    "own interaction": ({"interaction": 1.0, "environments": 12}, {"variance": "own-interaction"}),
    "own interaction by arm": (
        {"interaction": 1.0, "environments": 12},
        {"variance": "own-interaction+by-arm"},
    ),
    "units": ({}, {"unit": "unit"}),
    "units, never met": ({"arms": 4, "groups": 2}, {"unit": "unit"}),
    "covariate": ({}, {"covariates": "earlier"}),
    "two covariates, units": ({}, {"covariates": ["earlier", "weight"], "unit": "unit"}),
    "two factors": ({"environments": 5}, {"environment": "day + site"}),
    "two factors, many": ({"environments": 40, "rows": 250, "seen": 0.7}, {"environment": "day + site"}),
    "two factors, robust": ({"environments": 5}, {"environment": "site + day", "variance": "sandwich"}),
    "combined": ({"environments": 3}, {"environment": "day:site"}),
    "quotient": ({}, {"reward": "reward / sessions"}),
    "quotient, units": ({}, {"reward": "reward / sessions", "unit": "unit"}),
    "capped": ({"kind": "money", "rows": 300}, {"winsorize": 0.95}),
    "outlying cells": ({"wrong": 1, "environments": 10}, {"robust": "cells"}),
    "three outlying cells": ({"wrong": 3, "environments": 15, "arms": 4, "rows": 400}, {"robust": "cells"}),
    "nothing outlying": ({"environments": 10}, {"robust": "cells"}),
    "conversions": (CONVERSIONS, {}),
    "conversions, odds": (CONVERSIONS, {"scale": "odds"}),
    "conversions, ratio": (CONVERSIONS, {"scale": "ratio", "prior": "flat"}),
    "conversions, difference": (CONVERSIONS, {"scale": "difference"}),
    "conversions, common": (CONVERSIONS, {"scale": "difference", "variance": "common"}),
    "conversions at all looks": (CONVERSIONS, {"anytime": True}),
    "conversions, odds, at all looks": (CONVERSIONS, {"scale": "odds", "anytime": True, "adaptive": True}),
    "conversions, adaptive": (CONVERSIONS, {"adaptive": True}),
    "conversions, minimise": (CONVERSIONS, {"direction": "minimize", "scale": "odds"}),
    "conversions, different": (CONVERSIONS | {"shift": 1.5, "base": 0.15, "rows": 1200}, {}),
    "rare": (RARE, {}),
    "rare, two arms": (RARE | {"arms": 2, "rows": 900}, {"scale": "odds"}),
    "rare, two arms, ratio": (RARE | {"arms": 2}, {"scale": "ratio"}),
    "very rare": (RARE | {"base": 0.003, "rows": 900}, {}),
    "very rare, odds": (RARE | {"base": 0.003, "rows": 900}, {"scale": "odds"}),
    "no conversions": (CONVERSIONS | {"base": 0.0}, {"scale": "difference"}),
    "small cells, odds": (CONVERSIONS | {"environments": 60, "rows": 240, "base": 0.3}, {"scale": "odds"}),
    "small cells": (CONVERSIONS | {"environments": 60, "rows": 240, "base": 0.3}, {}),
    "counts": (COUNTS, {}),
    "counts, ratio, flat": (COUNTS, {"scale": "ratio", "prior": "flat", "confidence": 0.9}),
    "counts, at all looks": (COUNTS, {"anytime": True, "scale": "ratio"}),
    "counts, difference, clustered": (COUNTS, {"scale": "difference", "variance": "clustered"}),
    "money": (MONEY, {}),
    "money, ratio": (MONEY | {"rows": 900, "arms": 4}, {"scale": "ratio", "adaptive": True}),
    "money, incomplete": (MONEY | {"seen": 0.5, "environments": 14}, {"scale": "ratio"}),
    "seconds": (SECONDS, {"direction": "minimize"}),
    "seconds, log": (SECONDS | {"rows": 90}, {"scale": "log", "direction": "minimize"}),
    "seconds, log, by arm": (SECONDS, {"scale": "log", "variance": "by-arm"}),
    "seconds, log, interaction": (SECONDS, {"scale": "log", "variance": "interaction"}),
    "seconds, ratio": (SECONDS | {"rows": 120}, {"scale": "ratio"}),
    "hidden": (HIDDEN, MINUTE),
    "hidden, wandering": (
        HIDDEN | {"moving": 2.0, "shift": 0.0},
        MINUTE | {"adaptive": True, "confidence": 0.9},
    ),
    "hidden, minimise": (
        HIDDEN | {"arms": 2, "rows": 60},
        MINUTE | {"direction": "minimize", "prior": "flat"},
    ),
    "hidden, still": ({"shift": 0.0, "rows": 90}, MINUTE),
    "hidden, conversions": (CONVERSIONS, MINUTE),
    "hidden, money": (MONEY, MINUTE),
    "hidden, seconds": (SECONDS | {"rows": 240}, MINUTE | {"scale": "ratio"}),
    "inside": ({"moving": 2.0, "rows": 240}, DAY | {"time": "time"}),
    "inside, still": ({"rows": 240}, DAY | {"time": "time"}),
    "inside, conversions": (CONVERSIONS | {"moving": 1.0}, DAY | {"time": "time"}),
    "many arms, incomplete": ({"arms": 26, "environments": 20, "rows": 500, "seen": 0.5}, {}),
}

# Logs of so many arms that other algorithms are used, or are just not.
MANY: dict[str, tuple[dict, dict]] = {
    f"{arms} arms, {kind}": (
        {"kind": kind, "arms": arms, "environments": 4, "rows": 2 * arms, "base": base, "lift": 0.0005},
        {"scale": scale},
    )
    for arms, kind, base, scale in (
        (500, "normal", 10.0, "auto"),
        (501, "counts", 3.0, "auto"),
        (501, "conversions", 0.4, "auto"),
        (60, "counts", 3.0, "ratio"),
        (60, "conversions", 0.4, "odds"),
    )
}


def fitted(name):
    drawn, options = (FITS | MANY)[name]
    log = drawn_log(**drawn)
    given = {"arm": "arm", "environment": "day", "reward": "reward"} | options
    return tp.fit(log, **{option: value for option, value in given.items() if value != ""})


def stored_fit(name):
    """Return what is stored of a fit: `to_dict`, and what the public methods return."""
    return attempt(lambda: described(fitted(name), few=name in MANY))


def described(fit, few=False):
    """Return what the public methods of a fit return; only a `few` of them if the others are slow."""
    found = {"scale": fit.scale, "lifts": fit.lifts, "groups": fit.groups, "choice": fit.choice}
    found |= {"ranking": fit.ranking, "exact": fit.exact}
    arms = fit.cells.arms
    found |= {
        "ratio": attempt(fit.sample_ratio),
        "uneven": attempt(lambda: fit.sample_ratio({arm: 1.0 + i for i, arm in enumerate(arms)})),
    }
    pairs = list(combinations(arms, 2))[:6]
    found["contrasts"] = [
        attempt(
            lambda a=a, b=b, confidence=confidence, picked=picked: fit.contrast(
                a, b, confidence=confidence, picked=picked
            ).to_dict()
        )
        for a, b in pairs
        for confidence, picked in ((None, False), (0.8, False), (None, True))
    ]
    if few:
        return plain(found)
    found |= {"dict": fit.to_dict(), "error": fit.p_best_error}
    found |= {
        f"rivals {arm}": [attempt(lambda arm=arm: fit.rival(arm)), attempt(lambda arm=arm: fit.lead(arm))]
        for arm in arms[:4]
    }
    found |= {
        "gaps": [attempt(lambda a=a, b=b: fit.gaps(a, b)) for a, b in pairs[:2]],
        "additivity": attempt(lambda: fit.additivity(3)),
        "spread": attempt(fit.spread),
        "influence": attempt(fit.influence),
        "against": attempt(lambda: tp.against(fit, arms[0])),
        "against each": attempt(lambda: tp.against(fit, arms[-1], simultaneous=False)),
        "inside": fit.inside,
    }
    if fit.tide is not None:
        found |= {"changes": fit.tide.changes, "points": fit.tide.points(0.9)}
    if fit.bins is not None:
        found["bins"] = fit.bins.to_dict()
    return plain(found)


def attempt(method):
    """Return the result of a method, or the name of the error that it raises."""
    try:
        return plain(method())
    except errors.TideproofError as error:
        if SHOW:
            print(f"{type(error).__name__}: {error}")
        return type(error).__name__


def other_forms():
    """Return fits of aggregated and wide logs, of several metrics, and of segments."""
    by_cell, log = aggregated(drawn_log()), drawn_log()
    ones = aggregated(drawn_log(**CONVERSIONS))
    named = {"arm": "arm", "environment": "day"}
    yield "n, sd", lambda: tp.fit(by_cell, **named, reward="mean", n="n", sd="sd")
    yield (
        "n, variance",
        lambda: tp.fit(by_cell, **named, reward="mean", n="n", sample_variance="variance", anytime=True),
    )
    yield "n, successes", lambda: tp.fit(ones, **named, n="n", successes="successes")
    yield "n", lambda: tp.fit(by_cell, **named, reward="mean", n="n")
    yield "wide", lambda: tp.fit(wide(log), environment="day", wide=["A", "B", "C"], missing="drop")
    yield (
        "text",
        lambda: tp.fit(
            log | {"reward": [f"{x:.3f}".replace(".", ",") for x in log["reward"]]}, **named, reward="reward"
        ),
    )


FORMS = ("n, sd", "n, variance", "n, successes", "n", "wide", "text")

SEVERAL: dict[str, tuple[dict, dict]] = {
    "metrics": ({}, {"rewards": ["reward", "wait"], "low": ["wait"]}),
    "metrics, control": ({"arms": 4}, {"rewards": ["reward", "wait"], "low": ["wait"], "control": "A"}),
    "metrics, leading control": (
        {"lift": -0.1},
        {"rewards": ["reward", "wait"], "control": "A", "confidence": 0.8},
    ),
    "metrics, never met": ({"arms": 5, "groups": 2}, {"rewards": ["wait", "reward"], "control": "B"}),
    "metrics, capped": (MONEY, {"rewards": ["reward", "wait"], "winsorize": 0.9}),
    "metrics, conversions": (CONVERSIONS, {"rewards": ["reward", "wait"], "low": ["wait"], "anytime": True}),
}
SEGMENTS: dict[str, tuple[dict, dict]] = {
    "segments": ({}, {"by": "country"}),
    "segments, sites": ({"arms": 4, "interaction": 1.0}, {"by": "site", "confidence": 0.8}),
    "segments, at all looks": ({}, {"by": "country", "anytime": True, "adaptive": True}),
    "segments, conversions": (CONVERSIONS, {"by": "site"}),
    "segments, one": ({"one_country": True}, {"by": "country", "direction": "minimize"}),
    "segments, days": ({"environments": 3, "rows": 60, "seen": 0.3}, {"by": "day", "environment": None}),
}


def stored_form(name):
    return attempt(lambda: described(dict(other_forms())[name]()))


def stored_metrics(name):
    drawn, options = SEVERAL[name]
    found = tp.metrics(drawn_log(**drawn), arm="arm", environment="day", **options)
    return plain(found.to_dict() | {"best": found.deciding.decision.best})


def stored_segments(name):
    drawn, options = SEGMENTS[name]
    found = tp.segments(
        drawn_log(**drawn), **({"arm": "arm", "environment": "day", "reward": "reward"} | options)
    )
    fits = {str(segment): fit.to_dict() for segment, fit in found.fits.items()}
    return plain(
        found.to_dict() | {"winners": found.winners, "fits": fits, "together": found.pooled.to_dict()}
    )
