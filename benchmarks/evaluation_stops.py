"""Errors and costs of the two stopping rules of `Experiment(models, environments=items, confidence=0.95)`.

`--rules plain` adds a z test of paired differences at each item from the 30th on, with the normal quantile of
the error probability divided by the number of rivals, and no allowance for the many tests.

Twelve worlds: four kinds of scores, each with 2, 10 and 50 models. In `tie`, the best model answers one item more
than all others, whose accuracies are equal: the least favourable case. An error is a decision for a model that is
not the best on the whole set (or, with a tolerance, is worse by more than that). `upper` is the exact upper
95 % limit of the error rate.

    python benchmarks/evaluation_stops.py [--runs 2000] [--tolerance 0.01] [--rules proven,calibrated]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numba import njit
from scipy.special import betaincinv, ndtri

from tideproof.policies.environment_choice.arm_race import FIRST_CHECK, RaceRule

KINDS = ("tie", "logit:1000:0.3:1.5", "logit:2000:1:1.5", "graded")
MODELS = (2, 10, 50)
PROVEN, CALIBRATED, PLAIN = range(3)
RULES = "proven", "calibrated", "plain"


@njit(cache=True)
def race(Y, threshold, kind, tolerance, first):
    """Race of all models on Y (items in their random order x models): the pick, the calls, and whether sure.

    `threshold` is the logarithm of the capital (proven) or the deviate (calibrated, plain) that drops a model.
    """
    N, K = Y.shape
    proven = kind == PROVEN
    alive = np.ones(K, np.bool_)
    S, Q, L, M = np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K))
    used = 0
    for t in range(N):
        n = t + 1
        for i in range(K):
            if alive[i]:
                used += 1
                for k in range(K):
                    if k != i and alive[k]:
                        d = Y[t, i] - Y[t, k]
                        if proven:
                            for side in range(2 if tolerance > 0 else 1):
                                W = L if side == 0 else M
                                m = -(S[i, k] + side * tolerance * N) / (N - t)
                                if m < -1.0 - 1e-12:
                                    W[i, k] = np.inf
                                elif -1.0 < m < 1.0:
                                    v = (Q[i, k] + 0.25) / n
                                    e = S[i, k] / n - m
                                    lam = min(max(e / (v + e * e), 0.0), 0.5 / (1 + m))
                                    W[i, k] += np.log1p(lam * (d - m))
                        S[i, k] += d
                        Q[i, k] += d * d
        for k in range(K):
            for i in range(K):
                if i == k or not alive[k] or not alive[i]:
                    continue
                if n == N:
                    out = S[i, k] > 0
                elif proven:
                    out = L[i, k] >= threshold
                else:
                    out = n >= first and deviate(S[i, k], Q[i, k], n, N, 0.0, kind) >= threshold
                if out:
                    alive[k] = False
        left = 0
        for i in range(K):
            left += alive[i]
        if left == 1:
            break
        if tolerance > 0:
            for i in range(K):
                good = alive[i]
                for k in range(K):
                    if good and k != i and alive[k]:
                        if proven:
                            good = M[i, k] >= threshold
                        else:
                            good = (
                                n >= first and deviate(S[i, k], Q[i, k], n, N, tolerance, kind) >= threshold
                            )
                if good:
                    return i, used, True
    best = -1
    for i in range(K):
        if alive[i] and (best < 0 or S[i, best] > 0):
            best = i
    left = 0
    for i in range(K):
        left += alive[i]
    return best, used, left == 1


@njit(cache=True)
def deviate(s, q, n, N, tolerance, kind):
    """Return the evidence that the mean difference is above -tolerance, as a normal deviate.

    Calibrated: the signed root of the likelihood ratio, with one adverse item. Plain: the z statistic.
    """
    if kind == PLAIN:
        mean = s / n
        variance = max(q / n - mean * mean, 0.5 / n) * (1 - n / N) / n
        return max(mean + tolerance, 0.0) / np.sqrt(variance)
    s = s + tolerance * n - 1.0
    q = q + 2 * tolerance * (s + 1.0 - tolerance * n) + tolerance**2 * n + 1.0
    if s <= 0:
        return 0.0
    rest = q - s * s / (n + 1)
    if rest <= 0:
        return np.inf
    return np.sqrt((n + 1) * np.log(q / rest) / (1 - n / N))


def draw_scores(kind: str, models: int, random: np.random.Generator) -> np.ndarray:
    """Return the scores of one run in [0, 1]: items in a random order x models in a random order."""
    if kind.startswith("logit"):
        items, model_sd, item_sd = (float(part) for part in kind.split(":")[1:])
        ability, hardness = random.normal(0.0, model_sd, models), random.normal(0.0, item_sd, int(items))
        chance = 1.0 / (1.0 + np.exp(hardness[:, None] - ability))
        return (random.random(chance.shape) < chance).astype(float)
    if kind == "tie":  # equal sums, then one more item
        chance = 1.0 / (1.0 + np.exp(random.normal(-0.5, 1.5, 1000)))
        order = np.argsort(random.random((1000, models)) - chance[:, None], axis=0)
        scores = np.zeros((1000, models))
        np.put_along_axis(scores, order[:600], 1.0, axis=0)
        best = random.integers(models)
        scores[random.choice(np.flatnonzero(scores[:, best] == 0.0)), best] = 1.0
        return scores
    quality = random.normal(0.0, 0.15, models)  # graded: scores that are mostly 1, with rare low ones
    low = random.random((1000, models)) < 0.08 / (1.0 + np.exp(8.0 * quality))
    return np.where(low, random.random((1000, models)) * 0.3, 1.0 - 0.05 * random.random((1000, models)))


def upper_limit(errors: int, runs: int) -> float:
    """Return the exact one-sided upper 95 % limit of an error rate."""
    return 1.0 if errors == runs else float(betaincinv(errors + 1, runs - errors, 0.95))


def play_world(
    kind: str, models: int, runs: int, tolerance: float, rules: list[str]
) -> list[dict[str, object]]:
    """Return errors and costs of the rules in one world."""
    rows = []
    for name in rules:
        number = RULES.index(name)
        wrong, cost, sure = 0, 0.0, 0
        for run in range(runs):
            random = np.random.default_rng([run, models, *kind.encode()])
            scores = draw_scores(kind, models, random)
            rule = RaceRule(0.95, number == PROVEN, tolerance, (0.0, 1.0))
            threshold = rule.threshold(models, len(scores))
            if number == PLAIN:
                threshold = float(ndtri(1.0 - 0.05 / (models - 1)))
            pick, used, decided = race(scores, threshold, number, tolerance, FIRST_CHECK)
            mean = scores.mean(axis=0)
            wrong += bool(decided and mean[pick] < mean.max() - tolerance - 1e-12)
            cost += used / scores.size
            sure += decided
        rows.append({"kind": kind, "models": models, "rule": name, "runs": runs,
                     "wrong": wrong, "cost": cost, "sure": sure})  # fmt: skip
    return rows


def show(rows: list[dict[str, object]]) -> None:
    """Print one line per world and rule."""
    for row in rows:
        runs = row["runs"]
        print(f"{row['kind']:20s} {row['models']:3d} models  {row['rule']:10s}  wrong {row['wrong'] / runs:.4f}  "
              f"upper {upper_limit(row['wrong'], runs):.4f}  calls {row['cost'] / runs:.2f}  decided "
              f"{row['sure'] / runs:.3f}", flush=True)  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--tolerance", type=float, default=0.0)
    options.add_argument("--rules", default="proven,calibrated")
    options.add_argument("--kinds", default=",".join(KINDS))
    options.add_argument("--models", default=",".join(map(str, MODELS)))
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    rows = []
    rules = given.rules.split(",")
    for kind in given.kinds.split(","):
        for models in map(int, given.models.split(",")):
            rows += play_world(kind, models, given.runs, given.tolerance, rules)
            show(rows[-len(rules) :])
    if given.json:
        given.json.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
