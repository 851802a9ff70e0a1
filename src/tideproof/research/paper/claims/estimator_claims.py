"""Claims of a reproduced paper on raw means and least-squares estimates: identities, bias, normality.

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
                f"{quantity}: both sides apart by",
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
            "chance that the inferior arm has the larger raw mean, without a shift",
            identity_errors(found, "chance of the inferior arm, no shift"),
            "below",
            0.5,
        ),
        ClaimPart(
            "the same, the second shift being 100 sigma larger than the first",
            identity_errors(found, "chance of the inferior arm, large shift"),
            "above",
            0.99,
        ),
    ]


def _term_vanishes(found: Found, level: float) -> list[ClaimPart]:
    compared = [
        Comparison(
            f"{design}, {LATE} over {EARLY} environments",
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
    return [
        ClaimPart("designs drawn at random: largest variance as printed, over OLS", drawn, "below", agrees),
        ClaimPart("designs that grow: smallest variance as printed, over OLS", grown, "below", agrees),
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
        what = f"{panels()[name].title}: bias of a difference under {LINLUCB}, {PULLS} pulls"
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
            what = f"{panels()[name].title}, {note}: distance of a difference from normal"
            parts.append(ClaimPart(what, compared, "below", NEARLY_NORMAL))
        return parts

    return check


def _normal_under_linlucb(found: Found, level: float) -> list[ClaimPart]:
    law = _normal(NORMAL, "N(theta, sigma^2 (X'X)^-1)")(found, level)
    return [*law, *_normal(SHAPE, "shape alone")(found, level)]


_DISTANCE = (
    f"The distribution of a difference of two arms over its standard deviation is nowhere {NEARLY_NORMAL} "
    "away from that of a standard normal (distance of Kolmogorov)"
)

CLAIMS = (
    Claim(
        "bias-identity",
        "A difference of raw means contains sum_j s_j (n_1j/N_1 - n_2j/N_2).",
        "2.3",
        ("identities",),
        identities_hold("raw means"),
        "Raw means are the means, this term and averaged noise, exactly, on ten designs drawn at random.",
    ),
    Claim(
        "two-environments",
        "With two environments, equal pulls in the first and more pulls of the inferior arm in the second, "
        "a second shift that is large enough makes it look better.",
        "2.3",
        ("identities",),
        _two_environments,
        "By formula, for two arms half a sigma apart on four designs. "
        "On the last both have as many pulls in the second environment too, which the printed inequality "
        "allows: then the shift has no weight.",
    ),
    Claim(
        "shift-term-vanishes",
        "If shifts are random and all arms are sampled enough, the shift term of raw means tends to zero.",
        "2.3",
        ("limits",),
        _term_vanishes,
        f"Its root mean square after {LATE} environments is below {TERM} of that after {EARLY}, "
        "shifts being uniform between 0 and 20.",
    ),
    Claim(
        "first-shift-is-zero",
        "That the first shift is zero can be assumed without loss of generality.",
        "3.1",
        ("identities",),
        identities_hold("contrasts in another gauge"),
        "With the last shift set to zero instead, no difference of two arms changes.",
    ),
    Claim(
        "separate-solutions",
        "Means and shifts can be solved for separately, each with the other projected out.",
        "3.1",
        ("identities",),
        identities_hold("separate means", "separate shifts"),
        "Both formulas give the estimates of the joint regression, on ten designs drawn at random.",
    ),
    Claim(
        "unbiased",
        "The estimators of means and shifts are unbiased.",
        "3.1, 6",
        ("identities", "adaptive"),
        _unbiased,
        "On a fixed design expected rewards give back the truth. Under LinLUCB, whose design depends on the "
        f"rewards, the average error of an arm minus the best arm is less than {UNBIASED} sigma.",
    ),
    Claim(
        "normal-on-fixed-design",
        "The estimators are normal if the design is fixed.",
        "3.1",
        ("adaptive",),
        _normal(FIXED, "one design of LinLUCB held fixed"),
        f"{_DISTANCE}, over draws of the noise.",
    ),
    Claim(
        "normal-under-linlucb",
        "Under LinLUCB too the estimator is normal at every step, as its bound takes it to be.",
        "4",
        ("adaptive",),
        _normal_under_linlucb,
        f"{_DISTANCE}, over runs of {PULLS} pulls: as it is, and with its average and spread over runs "
        "taken out, which leaves the shape.",
    ),
    Claim(
        "printed-covariance-of-shifts",
        "Cov[shat] = sigma^2 [B'(I - 2 H_A + H_A H_B H_A) B]^-1.",
        "3.1",
        ("identities", "limits"),
        _printed_shifts,
        "It equals the inverse of the normal equations, on ten designs drawn at random and on seven "
        "that grow.",
    ),
    Claim(
        "variance-unbiased-on-fixed-design",
        "The sum of squared residuals over N - K - J + 1 is an unbiased estimator of the variance "
        "(fixed design).",
        "3.1",
        ("identities",),
        identities_hold("expected variance estimate"),
        "Its expectation is the trace of the matrix that makes residuals, over that number.",
    ),
    Claim(
        "modified-means",
        "Sample means of rewards with the estimated shifts taken out are the least-squares means.",
        "5.2, appendix B",
        ("identities",),
        identities_hold("modified means"),
        "Both are the same for every arm, on ten designs drawn at random.",
    ),
    Claim(
        "stationary-bound",
        "In a stationary environment the bound of LinLUCB becomes that of raw means, "
        "their variance being sigma^2/N_i.",
        "5.2",
        ("identities",),
        identities_hold("one environment, raw means", "one environment, N Var"),
        "With one environment the estimates are raw means and N_i times their variance is sigma^2.",
    ),
)
