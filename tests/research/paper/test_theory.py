"""What docs/paper/theory.md proves, on designs; and that the claims on Theorem 1 follow from the numbers."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tideproof.research.paper.algebra_identities import printed_covariance
from tideproof.research.paper.claim_verdicts import judge
from tideproof.research.paper.claims import CLAIMS
from tideproof.research.paper.dummy_regression import covariance, dummies
from tideproof.research.paper.growing_designs import (
    ALTERNATING,
    ENVIRONMENTS,
    HALVES,
    ONCE,
    SETTLED,
    designs,
    fixed_designs,
    is_connected,
    more_designs,
)
from tideproof.research.paper.theorem_limits import proof_terms, theorem_quantities

pytest.importorskip("numba")


def drawn_designs(count=60):
    rng = np.random.default_rng(8)
    while count:
        J, K = rng.integers(2, 9), rng.integers(2, 7)
        counts = (rng.integers(1, 4, (J, K)) * (rng.random((J, K)) < 0.5)).astype(float)
        counts = counts[counts.sum(axis=1) > 0.0]
        if len(counts) > 1 and (counts.sum(axis=0) > 0.0).all() and is_connected(counts):
            count -= 1
            yield counts


def lightest_split(counts, i, k):
    """Return W_ik by trying every split."""
    K = counts.shape[1]
    others = [arm for arm in range(K) if arm not in (i, k)]
    weights = []
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            inside = counts[:, [i, *more]].sum(axis=1)
            weights.append((inside * (counts.sum(axis=1) - inside) / counts.sum(axis=1)).sum())
    return min(weights)


def spread(counts, i, k):
    means = covariance(counts)[: counts.shape[1], : counts.shape[1]]
    return means[i, i] + means[k, k] - 2.0 * means[i, k]


def test_a_difference_lies_between_the_bounds_of_its_lightest_split():
    for counts in drawn_designs():
        K = counts.shape[1]
        for i, k in combinations(range(K), 2):
            weight = lightest_split(counts, i, k)
            assert 1.0 / weight <= spread(counts, i, k) * (1.0 + 1e-9)
            assert spread(counts, i, k) <= (K - 1.0) / weight * (1.0 + 1e-9)


def test_both_bounds_are_reached():
    chain = np.array([[2.0, 2, 0, 0], [0, 2, 2, 0], [0, 0, 2, 2]])
    assert lightest_split(chain, 0, 3) == 1.0
    assert spread(chain, 0, 3) == pytest.approx(3.0)
    two = np.array([[3.0, 1], [1, 2]])
    assert spread(two, 0, 1) == pytest.approx(1.0 / lightest_split(two, 0, 1))


def test_an_environment_that_bridges_a_split_adds_half_at_least():
    pulls = [(a, b) for a in range(1, 30) for b in range(1, 30)]
    assert min(a * b / (a + b) for a, b in pulls) == 0.5
    assert all(a * b / (a + b) <= (a + b) / 4 for a, b in pulls)
    assert 5 * 5 / (5 + 5) == (5 + 5) / 4


def test_no_mean_is_ever_surer_than_the_first_environment():
    for counts in drawn_designs():
        K = counts.shape[1]
        assert covariance(counts).diagonal()[:K].min() >= 1.0 / counts[0].sum() - 1e-12


def test_shift_estimators_are_never_negatively_correlated():
    for counts in drawn_designs():
        K = counts.shape[1]
        every = covariance(counts)
        assert every[:K, :K].min() > -1e-12
        assert every[K:, K:].min() > -1e-12
        assert every[:K, K:].max() < 1e-12


def reached(counts, j):
    """Return the environments that a walk from j reaches, by arms played in both, past the first one."""
    seen = {j}
    while True:
        arms = counts[list(seen)].sum(axis=0) > 0.0
        more = {m for m in range(1, len(counts)) if (counts[m, arms] > 0.0).any()}
        if more == seen:
            return seen
        seen = more


def test_shift_estimators_are_correlated_where_a_walk_past_environment_1_joins_them():
    joined = apart = 0
    for counts in drawn_designs(200):
        shifts = covariance(counts)[counts.shape[1] :, counts.shape[1] :]
        for j in range(1, len(counts)):
            for m in set(range(1, len(counts))) - {j}:
                if m in reached(counts, j):
                    joined += 1
                    assert shifts[j - 1, m - 1] > 1e-6
                else:
                    apart += 1
                    assert abs(shifts[j - 1, m - 1]) < 1e-12
    assert min(joined, apart) > 20


def test_shift_estimators_can_be_uncorrelated_for_ever():
    three = np.array([[1.0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]])
    assert is_connected(three)
    assert covariance(three)[4:, 4:] == pytest.approx(2.0 * np.eye(2))
    once = more_designs()[ONCE].counts
    assert once[:3].tolist() == [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 2, 2]]
    assert once.sum() > 20_000  # 200 environments that grow, so J is o(N), and
    assert once.sum(axis=0) / once.sum() == pytest.approx(np.full(4, 0.25), abs=0.002)
    shifts = covariance(once)[4:, 4:]
    assert np.abs(shifts[0::2, 1::2]).max() < 1e-12
    assert shifts[-1, -3] == pytest.approx(0.5, abs=1e-3)
    means = covariance(once)[:4, :4]
    assert abs(means[0, 2]) < 1e-12  # two means of different halves
    assert means[0, 0] == pytest.approx(0.5, abs=1e-3)  # yet not consistent


def test_covariances_are_as_near_their_limit_as_differences_are_sure():
    for counts in drawn_designs():
        K = counts.shape[1]
        every, limit = covariance(counts), 1.0 / counts[0].sum()
        largest = max(spread(counts, i, k) for i, k in combinations(range(K), 2))
        shifts = every[K:, K:][~np.eye(len(counts) - 1, dtype=bool)]
        assert np.abs(shifts - limit).max(initial=0.0) <= largest + 1e-12
        above = every.diagonal()[:K] - limit
        assert above.max() <= largest + 1e-12
        assert largest <= 4.0 * above.max() + 1e-12


def test_limits_of_the_halves():
    counts = fixed_designs(0)[HALVES].counts
    shifts = covariance(counts)[4:, 4:]
    last = len(shifts) - 1  # the environments of most pulls; neighbours play different halves
    assert shifts[0, last] == pytest.approx(0.25, abs=1e-5)
    assert shifts[last, last - 2] == pytest.approx(0.35, abs=1e-4)
    assert shifts[last, last - 1] == pytest.approx(0.15, abs=1e-4)
    terms = proof_terms(counts, (0, 2))
    assert terms["sum of |n_1j/N_1 - n_2j/N_2|"] == pytest.approx(2.0, abs=1e-3)
    never_below = 1.0 / (2 * 2 / 4 + 3 * 3 / 6)
    for J in ENVIRONMENTS[2:]:
        assert spread(counts[:J], 0, 2) >= never_below - 1e-12
    assert spread(counts, 0, 2) == pytest.approx(never_below, abs=2e-4)
    assert stats.norm.cdf(-0.5 / np.sqrt(never_below)) == pytest.approx(0.215, abs=5e-4)


def test_a_leader_in_every_environment_is_not_enough_but_one_that_stays_is():
    alternating, settled = (more_designs()[name].counts for name in (ALTERNATING, SETTLED))
    for design in (alternating, settled):
        assert len(design) == ENVIRONMENTS[-1]
        assert (design.sum(axis=0) > design[:20].sum(axis=0)).all()  # every arm goes on being played
    played = alternating[2:] > 0.0
    assert (played[0::2] == [True, True, False, False]).all()  # the halves never meet again
    assert (played[1::2] == [False, False, True, True]).all()
    assert lightest_split(alternating, 0, 2) == 2.5
    assert spread(alternating, 0, 2) >= 0.4
    assert (settled[:, 3] == 1.0).all()
    assert (settled.sum(axis=1) == 2.0).all()
    assert np.flatnonzero(settled[:, 0]).tolist() == [j * j - 1 for j in range(1, 15)]
    assert spread(settled[:10], 0, 1) == pytest.approx(1.33, abs=0.005)
    assert spread(settled, 0, 1) == pytest.approx(0.16, abs=0.005)


def test_the_terms_of_the_proof_are_those_of_dense_least_squares():
    for counts in drawn_designs(10):
        K = counts.shape[1]
        X, n = dummies(counts)
        rows = np.repeat(X, n.astype(int), axis=0)
        A, B = rows[:, :K], rows[:, K:]
        inverse = np.linalg.inv(rows.T @ rows)
        found = proof_terms(counts, (0, 1))
        printed = printed_covariance(B, A).diagonal() / inverse.diagonal()[K:]
        assert found["smallest printed Var(s_j) over OLS"] == pytest.approx(printed.min())
        assert found["largest printed Var(s_j) over OLS"] == pytest.approx(printed.max())
        raw = A / A.sum(axis=0)
        assert np.abs(raw.T @ rows @ inverse[:, K:]).max() < 1e-12
        assert found["largest Cov(raw mean, s_j)"] < 1e-12
        # the average shift over pulls is zero: mu_i plus what is taken from the shifts
        centre = np.hstack([np.eye(K), np.tile(B.mean(axis=0), (K, 1))])
        centred = (centre @ inverse @ centre.T).diagonal()
        assert found["Var(mu_1), shifts centred"] == pytest.approx(centred[0])
        means = inverse[:K, :K]
        correlation = means[0, 1] / np.sqrt(means[0, 0] * means[1, 1])
        assert found["Corr(mu_1, mu_2)"] == pytest.approx(correlation)
        assert found["lower bound of the proof"] <= means[0, 0] + 1e-12
        assert found["upper bound of the proof"] >= spread(counts, 0, 1) - 1e-12
        n1, n2 = counts[:, 0] / counts[:, 0].sum(), counts[:, 1] / counts[:, 1].sum()
        assert found["sum of |n_1j/N_1 - n_2j/N_2|"] == pytest.approx(np.abs(n1 - n2)[1:].sum())
        term = found["shift term of raw means, root mean square"]
        assert term == pytest.approx(np.sqrt(400.0 / 12.0 * ((n1 - n2) ** 2).sum()))


@pytest.fixture(scope="module")
def verdicts():
    found = {"limits": theorem_quantities(1, 100), "designs": designs(1, 100)}
    return {
        claim.name: judge(claim, found)
        for claim in CLAIMS
        if claim.needs and set(claim.needs) <= found.keys()
    }


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("difference-consistent", "does not hold"),
        ("difference-without-assumptions", "holds in part"),
        ("all-arms-enough", "does not hold"),
        ("proof-of-part-2", "holds in part"),
        ("conjecture", "holds in part"),
        ("conjecture-implies-consistency", "holds"),
        ("raw-means-and-shifts", "holds"),
        ("shifts-positively-correlated", "holds in part"),
        ("correlation-stays", "holds in part"),
    ],
)
def test_verdicts_on_theorem_1(verdicts, claim, verdict):
    assert verdicts[claim].verdict == verdict


def test_the_designs_against_are_those_whose_halves_stop_meeting(verdicts):
    against = [
        part.what.split(":")[0]
        for part in verdicts["difference-without-assumptions"].parts
        if part.outcome == "does not hold"
    ]
    assert against == [ALTERNATING, HALVES]


def test_what_vanishes_is_that_shifts_are_correlated(verdicts):
    no_sign, no_zero = verdicts["shifts-positively-correlated"].parts
    assert (no_sign.outcome, no_zero.outcome) == ("holds", "does not hold")
    assert {one.where.rsplit(",", 1)[0] for one in no_zero.comparisons if no_zero.says(one) == "against"} == {
        ONCE
    }
