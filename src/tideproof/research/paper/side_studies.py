"""Small additional simulations and computations for the figures and claims of a reproduced paper.

A side study is a function of the seed and the number of replications, and is fast enough to run each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.lab.engines.cpu_engine import compiled_loop, empty_trace, run_loop
from tideproof.lab.replay import replay
from tideproof.policies.policy_registry import policy
from tideproof.research.paper.algebra_identities import identities
from tideproof.research.paper.elimination_variants import elimination
from tideproof.research.paper.growing_designs import count_pulls, designs
from tideproof.research.paper.linlucb_runs import linlucb_statistics
from tideproof.research.paper.oracle_yardstick import yardstick
from tideproof.research.paper.panels import LINLUCB, REDUCED, REDUCTION, STATIONARY, panels
from tideproof.research.paper.theorem_limits import theorem_quantities
from tideproof.table import Table
from tideproof.worlds import mdm

STATE_RUNS = 1000  # runs whose final state is read
P1_RUNS = 20_000  # runs of P1
BOUND_BUDGETS = (60, 100, 200, 500)
_BOUNDS = ("unbiased", "pooled", "exploration", "least", "shifts")


def illustration(seed: int, replications: int) -> Table:
    """Return one simulated run of the policy LinLUCB under shifts as a table with a row for each pull.

    It is the table of figure 1 of the paper.
    """
    return replay(mdm(5), "linlucb", seed, 0, 120).table()


# Arms in the order of their pulls in each environment: the example of section 3.2 of the paper
_EXAMPLE = {
    "without a link": ((1, 2), (1, 2, 3), (4, 5)),
    "Algorithm 1": ((1, 2), (2, 3, 5), (5, 4)),
}


def initialisation(seed: int, replications: int) -> Table:
    """Return an example of arms pulled in three environments, under two rules for how environments begin.

    It is figure 3 of the paper. The ways are without links between environments, and with the paper's
    Algorithm 1, which begins an environment with the arm that ended the one before.
    """
    rows = [
        (label, environment, arm - 1)
        for label, environments in _EXAMPLE.items()
        for environment, arms in enumerate(environments)
        for arm in arms
    ]
    return Table(dict(zip(("policy", "environment", "arm"), zip(*rows, strict=True), strict=True)))


def bounds(seed: int, replications: int) -> Table:
    """Return a table of the terms in the confidence bounds of the policy LinLUCB after simulated runs.

    Two variants of LinLUCB are simulated.

    `unbiased` is RSS/(N - K - J + 1), `pooled` RSS/(N - K), both for sigma^2 = 1. `exploration` is the
    exploration term of the reduced variant divided by that of LinLUCB on the same data, sqrt(pooled /
    (unbiased N_i Var_i)), averaged over arms. `least` is the number of pulls of the least-played
    arm. `shifts` is the variance of a shift estimator in the gauge s_1 = 0 with sigma = 1, averaged over all
    environments but the first.
    """
    rows: list[tuple[Any, ...]] = []
    count = min(replications, STATE_RUNS)
    for name in (*REDUCTION, *STATIONARY):
        world = panels()[name].world
        for label, covariance in {LINLUCB: "ols", REDUCED: "reduced"}.items():
            if name in STATIONARY and label == REDUCED:  # both variants are the same without shifts
                continue
            spec = policy("linlucb", covariance=covariance)
            loop, memory = compiled_loop(spec, trace=True), spec.memory(world.arms)
            for budget in BOUND_BUDGETS:
                trace = empty_trace(budget, world.arms)
                states = []
                for replication in range(count):
                    run_loop(loop, spec, world, [budget], seed, replication, 1, trace, memory)
                    counts = count_pulls(trace.environment, trace.arm, world.arms)
                    states.append(
                        (*_bound(memory.view.data), variance_of_shifts(memory.view.data.fit.P, counts))
                    )
                for quantity, values in zip(_BOUNDS, np.transpose(states), strict=True):
                    stderr = values.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
                    rows.append((name, label, budget, quantity, values.mean(), stderr))
    columns = ("panel", "policy", "budget", "quantity", "mean", "stderr")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def propensities(seed: int, replications: int) -> Table:
    """Return the bias of propensity-weighted means under the paper's policy P1, and standard errors.

    It is their average distance from the average rewards of the arms.
    """
    spec, world, budget = policy("p1+ips"), mdm(5), 100
    loop, memory, trace = compiled_loop(spec, trace=True), spec.memory(5), empty_trace(budget, 5)
    count = min(replications, P1_RUNS)
    far = []
    for replication in range(count):
        run_loop(loop, spec, world, [budget], seed, replication, 1, trace, memory)
        far.append(memory.view.data.moments.sums / budget - (np.array(world.means) + trace.shift.mean()))
    mean, stderr = np.mean(far, axis=0), np.std(far, axis=0) / np.sqrt(count)
    arms = list(range(world.arms))
    return Table({"arm": arms, "budget": [budget] * world.arms, "mean": mean, "stderr": stderr})


def _bound(data: Any) -> tuple[float, ...]:
    fit, pulls = data.fit, data.pulls
    K, N, J = len(pulls), fit.told[0], fit.environments[0]
    unbiased, pooled = fit.rss[0] / (N - K - J + 1), fit.rss[0] / (N - K)
    arms = np.eye(K) - fit.first / fit.first_size[0]
    variance = 1.0 / fit.first_size[0] + ((arms @ fit.P) * arms).sum(axis=1)
    ratio = np.sqrt(pooled / (unbiased * pulls * variance)).mean()
    return unbiased, pooled, float(ratio), float(pulls.min())


def variance_of_shifts(P: Floats, counts: Floats) -> float:
    """Return the variance of estimated shifts, averaged over environments, for noise of variance 1.

    The average leaves out the first environment.

    Var(shat_j) = 1/m_1 + 1/m_j + (c_j - c_1)'P(c_j - c_1), with the shares c_j of the arms. The result is
    zero with one environment, whose shift is known.
    """
    size = counts.sum(axis=1)
    shares = counts / size[:, None]
    apart = shares[1:] - shares[0]
    variances = 1.0 / size[0] + 1.0 / size[1:] + ((apart @ P) * apart).sum(axis=1)
    return float(variances.sum() / max(len(variances), 1))


SIDE_STUDIES: Mapping[str, Callable[[int, int], Table]] = {
    "illustration": illustration,
    "initialisation": initialisation,
    "designs": designs,
    "limits": theorem_quantities,
    "identities": identities,
    "adaptive": linlucb_statistics,
    "bounds": bounds,
    "yardstick": yardstick,
    "elimination": elimination,
    "propensities": propensities,
}
