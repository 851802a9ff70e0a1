"""Definitions of a reproduced paper's claims on the bias and distribution of estimates of arm means.

Raw means are the subject of section 2.3, and least squares of sections 3.1, 4 and 5.2.
"""

from __future__ import annotations

import math

from tideproof.research.paper.claim_verdicts import Check, Claim, ClaimPart, between_thresholds
from tideproof.research.paper.claims.table_lookup import (
    EARLY,
    LATE,
    ROUNDING,
    Found,
    exact_measurement,
    identity_errors,
    late_over_early,
    rows_of,
)
from tideproof.research.paper.claims.theorem_claims import WORST
from tideproof.research.paper.growing_designs import HALVES
from tideproof.research.paper.linlucb_runs import BIAS, FIXED, NORMAL, PULLS, SHAPE
from tideproof.research.paper.measurement_intervals import Comparison, Measurement, normal_interval
from tideproof.research.paper.panels import LINLUCB, REDUCTION, panels

UNBIASED = 0.02  # in units of sigma
NEARLY_NORMAL = 0.025  # Kolmogorov distance; with 100,000 runs it is known to within 0.008
TERM = 0.3  # size of the shift term relative to EARLY environments; it falls as 1/sqrt(J)


def identities_hold(*quantities: str) -> Check:
    """Return a function that checks if algebraic identities in a reproduced paper hold up to rounding.

    They are checked on all random designs.
    """

    def check(found: Found, level: float) -> list[ClaimPart]:
        return [
            ClaimPart(
                f"{quantity}: difference of the two sides",
                identity_errors(found, quantity),
                "below",
                ROUNDING,
                universal=True,
            )
            for quantity in quantities
        ]

    return check


def _two_environments(found: Found, level: float) -> list[ClaimPart]:
    return [
        ClaimPart(
            "weight of the second shift", identity_errors(found, "weight of the second shift"), "above"
        ),
        ClaimPart(
            "probability that the inferior arm has the larger raw mean, without a shift",
            identity_errors(found, "chance of the inferior arm, no shift"),
            "below",
            0.5,
        ),
        ClaimPart(
            "probability that the inferior arm has the larger raw mean, if the second shift is 100 sigma "
            "larger",
            identity_errors(found, "chance of the inferior arm, large shift"),
            "above",
            0.99,
        ),
    ]


def _term_vanishes(found: Found, level: float) -> list[ClaimPart]:
    compared = [
        Comparison(
            f"{design}, {LATE} relative to {EARLY} environments",
            late_over_early(found, design, "shift term of raw means, root mean square"),
        )
        for design in (WORST, HALVES)
    ]
    return [ClaimPart("root mean square of the shift term", compared, "below", TERM)]


def _printed_shifts(found: Found, level: float) -> list[ClaimPart]:
    agrees = 1.0 + ROUNDING
    grown = [
        Comparison(f"{row['design']}, {row['environments']} environments", exact_measurement(row["value"]))
        for row in rows_of(found["limits"], quantity="smallest printed Var(s_j) over OLS")
    ]
    drawn = identity_errors(found, "printed Cov of shifts over OLS")
    ratio = "printed variance divided by that of least squares"
    return [
        ClaimPart(f"random designs: largest {ratio}", drawn, "below", agrees),
        ClaimPart(f"growing designs: smallest {ratio}", grown, "below", agrees),
    ]


def _bias(found: Found, name: str, level: float) -> list[Comparison]:
    compared = []
    for row in rows_of(found["adaptive"], panel=name, quantity=BIAS):
        stderr = math.inf if row["stderr"] is None else row["stderr"]
        compared.append(Comparison(row["where"], normal_interval(row["value"], stderr, level)))
    return compared


def _unbiased(found: Found, level: float) -> list[ClaimPart]:
    fixed = identity_errors(found, "error without noise")
    what = "fixed designs: largest error of an expected estimate"
    parts = [ClaimPart(what, fixed, "below", ROUNDING, universal=True)]
    for name in REDUCTION:
        what = f"{panels()[name].title}: bias of an estimated difference under {LINLUCB}, {PULLS} pulls"
        parts += between_thresholds(what, _bias(found, name, level), -UNBIASED, UNBIASED)
    return parts


def _normal(quantity: str, note: str) -> Check:
    """Return a function that checks if estimated differences of arms are nearly normally distributed.

    Their distance from a normal distribution has a Dvoretzky-Kiefer-Wolfowitz interval. Where mean and
    variance are standardised, the distance varies less (Lilliefors), so the interval is wider than necessary.
    """

    def check(found: Found, level: float) -> list[ClaimPart]:
        parts = []
        for name in REDUCTION:
            compared = []
            for row in rows_of(found["adaptive"], panel=name, quantity=quantity):
                reach = math.sqrt(math.log(2.0 / (1.0 - level)) / (2.0 * row["runs"]))
                ends = max(row["value"] - reach, 0.0), row["value"] + reach
                compared.append(Comparison(row["where"], Measurement(row["value"], *ends)))
            what = f"{panels()[name].title}: Kolmogorov distance of a difference from normal, {note}"
            parts.append(ClaimPart(what, compared, "below", NEARLY_NORMAL))
        return parts

    return check


def _normal_under_linlucb(found: Found, level: float) -> list[ClaimPart]:
    law = _normal(NORMAL, "standardized as N(theta, sigma^2 (X'X)^-1)")(found, level)
    return [*law, *_normal(SHAPE, "standardized by mean and standard deviation over runs")(found, level)]


_DISTANCE = (
    "The Kolmogorov distance between the distribution of a standardized difference of two arms and the "
    f"standard normal distribution is below {NEARLY_NORMAL}"
)

CLAIMS = (
    Claim(
        "bias-identity",
        "A difference of raw means contains sum_j s_j (n_1j/N_1 - n_2j/N_2).",
        "2.3",
        ("identities",),
        identities_hold("raw means"),
        "On ten random designs, raw means equal the true means plus this term plus the average noise, "
        "exactly.",
    ),
    Claim(
        "two-environments",
        "In two environments, with equal pulls in the first and more pulls of the inferior arm in the "
        "second, "
        "a large enough second shift makes the inferior arm look better.",
        "2.3",
        ("identities",),
        _two_environments,
        "The probabilities are computed by formula for two arms with a gap of half a sigma, on four designs. "
        "In the last design, the arms have equally many pulls in the second environment, too, which the "
        "printed inequality allows. The shift then has no weight.",
    ),
    Claim(
        "shift-term-vanishes",
        "If shifts are random and all arms are sampled enough, the shift term of raw means tends to zero.",
        "2.3",
        ("limits",),
        _term_vanishes,
        f"The root mean square of the term after {LATE} environments is below {TERM} times that after "
        f"{EARLY}, "
        "for shifts that are uniform between 0 and 20.",
    ),
    Claim(
        "first-shift-is-zero",
        "It can be assumed without loss of generality that the first shift is zero.",
        "3.1",
        ("identities",),
        identities_hold("contrasts in another gauge"),
        "If the last shift is set to zero instead, no difference of two arms changes.",
    ),
    Claim(
        "separate-solutions",
        "Means and shifts can be solved for separately, each with the other projected out.",
        "3.1",
        ("identities",),
        identities_hold("separate means", "separate shifts"),
        "Both formulas give the estimates of the joint regression, on ten random designs.",
    ),
    Claim(
        "unbiased",
        "The estimators of means and shifts are unbiased.",
        "3.1, 6",
        ("identities", "adaptive"),
        _unbiased,
        "On a fixed design, the estimates from expected rewards equal the true values. Under LinLUCB, whose "
        "design depends on the rewards, the average error of an estimated difference to the best arm is less "
        f"than {UNBIASED} sigma.",
    ),
    Claim(
        "normal-on-fixed-design",
        "The estimators are normal if the design is fixed.",
        "3.1",
        ("adaptive",),
        _normal(FIXED, "on a fixed design from one run of LinLUCB"),
        f"{_DISTANCE}, over random draws of the noise.",
    ),
    Claim(
        "normal-under-linlucb",
        "Under LinLUCB, the estimator is also normal at every step, as its confidence bound assumes.",
        "4",
        ("adaptive",),
        _normal_under_linlucb,
        f"{_DISTANCE}, over runs of {PULLS} pulls. Differences are standardized in two ways: by the mean and "
        "variance that the paper assumes, and by their mean and standard deviation over runs.",
    ),
    Claim(
        "printed-covariance-of-shifts",
        "Cov[shat] = sigma^2 [B'(I - 2 H_A + H_A H_B H_A) B]^-1.",
        "3.1",
        ("identities", "limits"),
        _printed_shifts,
        "The printed variances equal those from the inverse of the normal equations, on ten random designs "
        "and on seven growing designs.",
    ),
    Claim(
        "variance-unbiased-on-fixed-design",
        "The sum of squared residuals over N - K - J + 1 is an unbiased estimator of the variance "
        "(fixed design).",
        "3.1",
        ("identities",),
        identities_hold("expected variance estimate"),
        "Its expectation, sigma^2 times the trace of the residual-maker matrix divided by N - K - J + 1, "
        "is sigma^2.",
    ),
    Claim(
        "modified-means",
        "Sample means of rewards minus the estimated shifts are the least-squares means.",
        "5.2, appendix B",
        ("identities",),
        identities_hold("modified means"),
        "Both are equal for every arm, on ten random designs.",
    ),
    Claim(
        "stationary-bound",
        "In a stationary environment, the bound of LinLUCB becomes that of raw means, "
        "whose variance is sigma^2/N_i.",
        "5.2",
        ("identities",),
        identities_hold("one environment, raw means", "one environment, N Var"),
        "With one environment, the estimates are the raw means, and N_i times their variance is sigma^2.",
    ),
)
