"""What is looked into beside the panels: single runs step by step, their last states, fixed designs.

A probe is a pure function of the seed and the number of replications, small enough to be made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.arrays import Floats, Ints
from tideproof.lab.engines.cpu import compiled_loop, run_loop
from tideproof.lab.replay import replay
from tideproof.paper.panels import LINLUCB, REDUCED, REDUCTION, ROUND_ROBIN, panels
from tideproof.policies.registry import policy
from tideproof.stats.cells import Cells
from tideproof.stats.graph import links
from tideproof.table import Table
from tideproof.worlds import Lengths, World, mdm

SIMULATED = 20_000  # noise vectors on a fixed design, or ten for each replication
AT_ONCE = 2000  # of them, to bound memory
LOOKED_INTO = 1000  # runs whose last state is read
ENVIRONMENTS = (2, 3, 5, 10, 20, 50, 100, 200)
GROWING = "round robin, growing environments"
HALVES = "two halves that met twice"
BOUND_BUDGETS = (60, 100, 200, 500)


class Design(NamedTuple):
    """Pulls of each arm in each environment, (J, K), and two arms to compare."""

    counts: Floats
    pair: tuple[int, int] = (0, 1)

    def until(self, environments: int) -> Floats:
        """Return the counts of the first environments."""
        return self.counts[:environments]


def illustration(seed: int, replications: int) -> Table:
    """Return one run of LinLUCB under shifts, step by step: figure 1."""
    return replay(mdm(5), "linlucb", seed, 0, 120).table()


def initialisation(seed: int, replications: int) -> Table:
    """Return who was played in three short environments, with and without Algorithm 1: figure 3."""
    world = World(mdm(5).means, lengths=Lengths([2, 3, 2]))
    columns: dict[str, list[Any]] = {"policy": [], "step": [], "environment": [], "arm": []}
    for label, name in {"in turn": "round-robin", "Algorithm 1": "linlucb"}.items():
        run = replay(world, policy(name), seed, 0, 60 if name == "linlucb" else 7)
        columns["policy"] += [label] * 7
        columns["step"] += range(1, 8)
        columns["environment"] += run.environment[:7].tolist()
        columns["arm"] += run.arm[:7].tolist()
    return Table(columns)


def designs(seed: int, replications: int) -> Table:
    """Return variances of the estimators on growing designs, by formula and by simulation.

    The gauge is the paper's, s_1 = 0, and sigma = 1. With c_j = n_j/m_j, the shares of the arms in
    environment j, and P a generalised inverse of the Laplacian of the arms,

        Cov(muhat_i, muhat_k) = 1/m_1 + (e_i - c_1)'P(e_k - c_1)
        Cov(shat_j, shat_m) = 1/m_1 + (c_j - c_1)'P(c_m - c_1),   j != m.

    The simulation shares nothing with them: it solves the normal equations of the paper's dummy
    variables for many draws of the noise on the same design.
    """
    rows: list[dict[str, Any]] = []
    for name, design in _designs(seed).items():
        for J in ENVIRONMENTS:
            counts = design.until(J)
            if len(counts) == J and np.linalg.matrix_rank(laplacian(counts)) == counts.shape[1] - 1:
                exact = _exact(counts, design.pair)
                drawn = _drawn(counts, design.pair, seed, min(10 * replications, SIMULATED))
                for quantity, value in exact.items():
                    simulated, stderr = drawn.get(quantity, (None, None))
                    rows.append(
                        {
                            "design": name,
                            "environments": J,
                            "pulls": int(counts.sum()),
                            "quantity": quantity,
                            "exact": value,
                            "simulated": simulated,
                            "stderr": stderr,
                        }
                    )
    return Table({column: [row[column] for row in rows] for column in rows[0]})


def laplacian(counts: Floats) -> Floats:
    """Return L = sum_j diag(n_j) - n_j n_j'/m_j."""
    made: Floats = np.diag(counts.sum(axis=0)) - links(Cells.design(counts))
    return made


def _designs(seed: int) -> dict[str, Design]:
    """Return designs of two runs, held fixed, and two of our own.

    Ours meet every assumption of Theorem 1: environments grow, so that J is o(N), and arms have about equal
    shares. Round robin keeps all arms together; the last design does so in the first two environments only.
    """
    made = {}
    for label, name, scenario, pulls in (
        (ROUND_ROBIN, "round-robin+ols", "worst-case", 2 * ENVIRONMENTS[-1]),
        (LINLUCB, "linlucb", "general", 30 * ENVIRONMENTS[-1]),
    ):
        run = replay(mdm(5, scenario), name, seed, 0, pulls)
        made[f"{label}, {scenario}"] = Design(_counted(run.environment, run.arm, 5))
    lengths = np.arange(2, ENVIRONMENTS[-1] + 2)
    in_turn = np.arange(lengths.sum()) % 5
    made[GROWING] = Design(_counted(np.repeat(np.arange(len(lengths)), lengths), in_turn, 5))
    halves = [[1, 1, 1, 1], [2, 1, 1, 2]]
    halves += [[j, j, 0, 0] if j % 2 else [0, 0, j, j] for j in range(1, ENVIRONMENTS[-1] - 1)]
    made[HALVES] = Design(np.array(halves, float), (0, 2))
    return made


def _counted(environment: Ints, arm: Ints, arms: int) -> Floats:
    counts = np.zeros((environment[-1] + 1, arms))
    np.add.at(counts, (environment, arm), 1.0)
    return counts


def _exact(counts: Floats, pair: tuple[int, int]) -> dict[str, float]:
    K = counts.shape[1]
    P = np.linalg.pinv(laplacian(counts), hermitian=True)
    size = counts.sum(axis=1)
    shares = Cells.design(counts).dense_shares()
    arms, shifts = np.eye(K) - shares[0], shares[1:] - shares[0]
    means = 1.0 / size[0] + arms @ P @ arms.T
    between = 1.0 / size[0] + shifts @ P @ shifts.T
    others = between[~np.eye(len(between), dtype=bool)]
    contrast = arms[pair[0]] - arms[pair[1]]
    found = {
        "1/m_1": 1.0 / size[0],
        "Var(mu_1)": means[pair[0], pair[0]],
        "smallest Var(mu_i)": means.diagonal().min(),
        "largest Var(mu_i)": means.diagonal().max(),
        "Var(difference)": contrast @ P @ contrast,
        "Var(mu_1), printed": means[pair[0]] ** 2 @ counts.sum(axis=0),
    }
    if len(others):
        found |= {
            "Cov(s_2, s_3)": between[0, 1],
            "smallest Cov(s_j, s_m)": others.min(),
            "largest Cov(s_j, s_m)": others.max(),
        }
    return {quantity: float(value) for quantity, value in found.items()}


def _drawn(counts: Floats, pair: tuple[int, int], seed: int, draws: int) -> dict[str, tuple[float, float]]:
    """Return variance and its standard error over draws of the noise, by the normal equations."""
    environment, arm = np.nonzero(counts)
    n = counts[environment, arm]
    J, K = counts.shape
    X = np.hstack([np.eye(K)[arm], np.eye(J)[environment][:, 1:]])
    random = np.random.default_rng(seed)
    solve = np.linalg.solve(X.T @ (n[:, None] * X), X.T * n)[[*pair, *range(K, min(K + 2, K + J - 1))]]
    parts = []
    for start in range(0, draws, AT_ONCE):
        noise = random.standard_normal((len(n), min(AT_ONCE, draws - start))) / np.sqrt(n)[:, None]
        parts.append(solve @ noise)
    first, second, *shifts = np.hstack(parts)
    found = {"Var(mu_1)": (first, first), "Var(difference)": (first - second, first - second)}
    if J > 2:
        found["Cov(s_2, s_3)"] = (shifts[0], shifts[1])
    return {quantity: _covariance(*both) for quantity, both in found.items()}


def _covariance(x: Floats, y: Floats) -> tuple[float, float]:
    """Return the covariance of two normal samples with mean zero, and its standard error."""
    products = x * y
    return float(products.mean()), float(products.std(ddof=1) / np.sqrt(len(x)))


def bounds(seed: int, replications: int) -> Table:
    """Return what LinLUCB's two variants put into their bounds, from the last states of compiled runs.

    `unbiased` is RSS/(N - K - J + 1), `pooled` RSS/(N - K), both for sigma^2 = 1. `exploration` is the
    exploration term of the reduced variant divided by that of LinLUCB on the same data,
    sqrt(pooled / (unbiased N_i Var_i)), averaged over arms.
    """
    rows: list[tuple[Any, ...]] = []
    count = min(replications, LOOKED_INTO)
    for name in REDUCTION:
        world = panels()[name].world
        for label, called in {LINLUCB: "linlucb", REDUCED: "reduce:linlucb"}.items():
            spec = policy(called)
            loop = compiled_loop(spec)
            for budget in BOUND_BUDGETS:
                states = []
                for replication in range(count):
                    _, memory = run_loop(loop, spec, world, [budget], seed, replication, 1)
                    states.append(_bound(memory.view.data))
                for quantity, values in zip(
                    ("unbiased", "pooled", "exploration"), np.transpose(states), strict=True
                ):
                    stderr = values.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
                    rows.append((name, label, budget, quantity, values.mean(), stderr))
    columns = ("panel", "policy", "budget", "quantity", "mean", "stderr")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def _bound(data: Any) -> tuple[float, float, float]:
    fit, pulls = data.fit, data.pulls
    K, N, J = len(pulls), fit.told[0], fit.environments[0]
    unbiased, pooled = fit.rss[0] / (N - K - J + 1), fit.rss[0] / (N - K)
    arms = np.eye(K) - fit.first / fit.first_size[0]
    variance = 1.0 / fit.first_size[0] + ((arms @ fit.P) * arms).sum(axis=1)
    return unbiased, pooled, float(np.sqrt(pooled / (unbiased * pulls * variance)).mean())


PROBES: Mapping[str, Callable[[int, int], Table]] = {
    "illustration": illustration,
    "initialisation": initialisation,
    "designs": designs,
    "bounds": bounds,
}
