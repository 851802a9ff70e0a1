"""Variances of least-squares estimators in experiments with more and more environments."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.lab.replay import replay
from tideproof.research.paper.panels import LINLUCB, ROUND_ROBIN
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import connected_components, laplacian_matrix, link_weights
from tideproof.table import Table
from tideproof.worlds import mdm, slippage

SIMULATED = 20_000  # most draws of the noise on a fixed design; ten for each replication if that is fewer
AT_ONCE = 2000  # draws that are simulated together, to bound memory
ENVIRONMENTS = (2, 3, 5, 10, 20, 50, 100, 200)
GROWING = "round robin, growing environments"
HALVES = "two halves, linked twice"  # of the arms, which share that many environments
ONCE = "two halves, linked once"
ALTERNATING = "two halves, alternating leaders"
SETTLED = "one leader in all environments"
_MEETINGS = [[1, 1, 1, 1], [2, 1, 1, 2]]  # the two environments in which the halves meet


class GrowingDesign(NamedTuple):
    """Numbers of pulls of each arm in each environment, and the two arms whose difference is studied.

    `counts` is an array (environments, arms).
    """

    counts: Floats
    pair: tuple[int, int] = (0, 1)

    def until(self, environments: int) -> Floats:
        """Return the pulls of each arm in the first `environments` environments of the design."""
        return self.counts[:environments]


def designs(seed: int, replications: int) -> Table:
    """Return a table of the variances of estimates as environments are added, by formula and simulation.

    The gauge is the paper's, s_1 = 0, and sigma = 1. With c_j = n_j/m_j, the shares of the arms in
    environment j, and P a generalised inverse of the Laplacian of the arms,

        Cov(muhat_i, muhat_k) = 1/m_1 + (e_i - c_1)'P(e_k - c_1)
        Cov(shat_j, shat_m) = 1/m_1 + (c_j - c_1)'P(c_m - c_1),   j != m.

    The simulation shares no code with these formulas: it solves the normal equations of the paper's dummy
    variables for many draws of the noise on the same design.
    """
    rows: list[dict[str, Any]] = []
    for name, design in fixed_designs(seed).items():
        for J in ENVIRONMENTS:
            counts = design.until(J)
            if len(counts) == J and is_connected(counts):
                exact = exact_variances(counts, design.pair)
                drawn = _simulate_variances(counts, design.pair, seed, min(10 * replications, SIMULATED))
                for quantity, value in exact.items():
                    simulated, stderr = drawn.get(quantity, (None, None))
                    rows.append(
                        {
                            "design": name,
                            "pair": ", ".join(str(arm + 1) for arm in design.pair),
                            "environments": J,
                            "pulls": int(counts.sum()),
                            "quantity": quantity,
                            "exact": value,
                            "simulated": simulated,
                            "stderr": stderr,
                        }
                    )
    return Table({column: [row[column] for row in rows] for column in rows[0]})


@cache
def fixed_designs(seed: int) -> dict[str, GrowingDesign]:
    """Return four designs (pulls by arm and environment): two from runs of policies, two constructed ones.

    The LinLUCB run is one with slippage, where all arms are played on and on. Poor arms of the MDM get
    hardly ten pulls in 200 environments, which is too few to see a variance vanish.

    The constructed designs meet every assumption of Theorem 1: environments grow, so that J is o(N), and
    arms have about equal shares. Round robin keeps all arms together, the other design only in its first
    two environments.
    """
    made = {}
    for label, name, world, scenario, pulls in (
        (ROUND_ROBIN, "round-robin+ols", mdm, "worst-case", 2 * ENVIRONMENTS[-1]),
        (LINLUCB, "linlucb", slippage, "general", 30 * ENVIRONMENTS[-1]),
    ):
        run = replay(world(5, scenario), name, seed, 0, pulls)
        made[f"{label}, {scenario}"] = GrowingDesign(count_pulls(run.environment, run.arm, 5))
    lengths = np.arange(2, ENVIRONMENTS[-1] + 2)
    in_turn = np.arange(lengths.sum()) % 5
    made[GROWING] = GrowingDesign(count_pulls(np.repeat(np.arange(len(lengths)), lengths), in_turn, 5))
    made[HALVES] = _two_halves(2)
    return made


def _two_halves(meetings: int) -> GrowingDesign:
    """Return numbers of pulls such that two halves of the arms share only the first `meetings` environments.

    From then on the halves have environments in turn, which grow longer.
    """
    more = range(1, ENVIRONMENTS[-1] - meetings + 1)
    apart = [[j, j, 0, 0] if j % 2 else [0, 0, j, j] for j in more]
    return GrowingDesign(np.array([*_MEETINGS[:meetings], *apart], float), (0, 2))


def more_designs() -> dict[str, GrowingDesign]:
    """Return three designs (pulls by arm and environment) whose variances are computed by formula only.

    They have alternating leaders, a lasting leader, or two halves of the arms that met only once. With a
    leader, every environment has one pull of the leader and one of a challenger. In the first design, the
    leader is arm 1 or arm 3 in turn, with arm 2 or arm 4: after the first two environments the halves never
    meet. In the second, it is always arm 4, and arm 1 is played only in environments whose number is a
    square.
    """
    in_turn = [[1, 1, 0, 0], [0, 0, 1, 1]] * (ENVIRONMENTS[-1] // 2)
    stays = [
        [1, 0, 0, 1] if math.isqrt(j) ** 2 == j else [0, j % 2, 1 - j % 2, 1]
        for j in range(1, ENVIRONMENTS[-1] + 1)
    ]
    return {
        ALTERNATING: GrowingDesign(np.array([*_MEETINGS, *in_turn[:-2]], float), (0, 2)),
        SETTLED: GrowingDesign(np.array(stays, float)),
        ONCE: _two_halves(1),
    }


def is_connected(counts: Floats) -> bool:
    """Return whether shared environments connect all arms of a design, so that the arms can be compared."""
    return bool(connected_components(link_weights(Cells.design(counts)) > 0.0).max() == 0)


def count_pulls(environment: Ints, arm: Ints, arms: int) -> Floats:
    """Count the pulls of each arm in each environment of a run, as an array (environments, arms)."""
    counts = np.zeros((environment[-1] + 1, arms))
    np.add.at(counts, (environment, arm), 1.0)
    return counts


def exact_variances(counts: Floats, pair: tuple[int, int]) -> dict[str, float]:
    """Return the variances and covariances of least-squares estimates for given pulls, by formula."""
    K = counts.shape[1]
    P = np.linalg.pinv(laplacian_matrix(Cells.design(counts)), hermitian=True)
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


def _simulate_variances(
    counts: Floats, pair: tuple[int, int], seed: int, draws: int
) -> dict[str, tuple[float, float]]:
    """Return the variances of least-squares estimates from simulated noise, with standard errors."""
    environment, arm = np.nonzero(counts)
    n = counts[environment, arm]
    J, K = counts.shape
    X = np.hstack([np.eye(K)[arm], np.eye(J)[environment][:, 1:]])
    random = np.random.default_rng(seed)
    solve = np.linalg.solve(X.T @ (n[:, None] * X), X.T * n)[[*pair, *range(K, min(K + 2, K + J - 1))]]
    drawn = []
    for start in range(0, draws, AT_ONCE):
        noise = random.standard_normal((len(n), min(AT_ONCE, draws - start))) / np.sqrt(n)[:, None]
        drawn.append(solve @ noise)
    first, second, *shifts = np.hstack(drawn)
    found = {"Var(mu_1)": (first, first), "Var(difference)": (first - second, first - second)}
    if J > 2:
        found["Cov(s_2, s_3)"] = (shifts[0], shifts[1])
    return {quantity: _covariance(*both) for quantity, both in found.items()}


def _covariance(x: Floats, y: Floats) -> tuple[float, float]:
    """Return the covariance of two normal samples with mean zero, and its standard error."""
    products = x * y
    return float(products.mean()), float(products.std(ddof=1) / np.sqrt(len(x)))
