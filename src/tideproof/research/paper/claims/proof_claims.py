"""Definitions of the claims in a reproduced paper's proof, with rules that decide whether each holds.

It is the proof of Theorem 1.
"""

from __future__ import annotations

from collections.abc import Iterable

from tideproof.research.paper.claim_verdicts import Claim, ClaimPart
from tideproof.research.paper.claims.table_lookup import (
    EARLY,
    LATE,
    ROUNDING,
    Found,
    exact_measurement,
    exact_value,
    late_over_early,
    ratios,
    values_on_all_designs,
)
from tideproof.research.paper.claims.theorem_claims import DESIGNS, PROVED, SMALL, VANISHES, WORST
from tideproof.research.paper.growing_designs import GROWING, HALVES
from tideproof.research.paper.measurement_intervals import Comparison


def _raw_means(found: Found, level: float) -> list[ClaimPart]:
    compared = [
        Comparison(f"{design}, {J} environments", exact_measurement(value))
        for design, J, value in values_on_all_designs(found, "largest Cov(raw mean, s_j)")
    ]
    return [
        ClaimPart("largest covariance of a raw mean and a shift", compared, "below", ROUNDING, universal=True)
    ]


def _positive(found: Found, level: float) -> list[ClaimPart]:
    compared = ratios(found, "smallest Var(s_j) or Cov(s_j, s_m)", "1/m_1")
    what = "smallest variance or covariance of shift estimators divided by sigma^2/m_1"
    return [
        ClaimPart(f"{what}: not negative", compared, "above", -ROUNDING, universal=True),
        ClaimPart(f"{what}: does not vanish", compared, "above", SMALL, universal=True),
    ]


def _first_part(found: Found, level: float) -> list[ClaimPart]:
    weights = [
        Comparison(
            f"{design}, {LATE} environments",
            exact_measurement(exact_value(found, design, "weight of the shifts in a mean, squared", LATE)),
        )
        for design in DESIGNS
    ]
    bound = ratios(found, "Var(mu_1)", "lower bound of the proof")
    return [
        ClaimPart(
            "variance of a mean divided by its lower bound", bound, "above", 1.0 - ROUNDING, universal=True
        ),
        ClaimPart("squared weight of all shifts but the first in a mean", weights, "above", 0.75),
    ]


def _second_part(found: Found, level: float) -> list[ClaimPart]:
    bound = ratios(found, "Var(difference)", "upper bound of the proof")
    return [
        ClaimPart(
            "variance of a difference divided by its upper bound",
            bound,
            "below",
            1.0 + ROUNDING,
            universal=True,
        ),
        ClaimPart(
            "sum of |n_1j/N_1 - n_2j/N_2|, designs that meet the assumptions",
            _apart(found, (GROWING, HALVES)),
            "below",
            SMALL,
            universal=True,
        ),
    ]


def _apart(found: Found, designs: Iterable[str]) -> list[Comparison]:
    return [
        Comparison(
            f"{design}, {LATE} environments",
            exact_measurement(exact_value(found, design, "sum of |n_1j/N_1 - n_2j/N_2|", LATE)),
        )
        for design in designs
    ]


def _round_robin(found: Found, level: float) -> list[ClaimPart]:
    robins = (WORST, GROWING)
    shares = [
        Comparison(
            f"{design}, {LATE} environments",
            exact_measurement(exact_value(found, design, "smallest share of an arm", LATE)),
        )
        for design in robins
    ]
    rates = [
        Comparison(
            f"{design}, {LATE} relative to {EARLY} environments",
            late_over_early(found, design, "environments over pulls"),
        )
        for design in robins
    ]
    return [
        ClaimPart("smallest share of an arm", shares, "above", SMALL),
        ClaimPart("number of environments divided by pulls", rates, "below", VANISHES, some=True),
        ClaimPart("sum of |n_1j/N_1 - n_2j/N_2|", _apart(found, robins), "below", SMALL, some=True),
    ]


CLAIMS = (
    Claim(
        "raw-means-and-shifts",
        "The covariance of a raw mean and a shift estimator tends to zero.",
        "appendix B",
        ("limits",),
        _raw_means,
        "It is zero on every design, up to rounding.",
    ),
    Claim(
        "shifts-positively-correlated",
        "All shift estimators are positively correlated, and neither variances nor covariances vanish.",
        "appendix B",
        ("limits",),
        _positive,
        f"None is negative, which holds on all designs ({PROVED}), and the smallest is above {SMALL} "
        "sigma^2/m_1 on every design. It is zero if only the first environment connects two halves of the "
        "arms; positive covariances are therefore a further assumption of the theorem.",
    ),
    Claim(
        "proof-of-part-1",
        "The variance of a mean is at least v* times the squared weight of the shifts in it, plus "
        "sigma^2/N_1, and that weight tends to one.",
        "appendix B",
        ("limits",),
        _first_part,
        f"The bound holds exactly on every design; the squared weight is above 0.75 after {LATE} "
        "environments.",
    ),
    Claim(
        "proof-of-part-2",
        "The variance of a difference is at most sigma^2/N_1 + sigma^2/N_2 plus w* times the square of "
        "sum_j |n_1j/N_1 - n_2j/N_2|, and under the assumptions that sum vanishes.",
        "appendix B",
        ("limits",),
        _second_part,
        f"The bound holds exactly on every design. The sum is below {SMALL} after {LATE} environments on "
        "every "
        "design that meets the assumptions; this second step is where the proof fails.",
    ),
    Claim(
        "round-robin-meets-assumptions",
        "Round robin can satisfy the assumptions of part 2.",
        "appendix B",
        ("limits",),
        _round_robin,
        "The shares of the arms do not vanish. J/N and the sum in the proof tend to zero on the design with "
        "growing environments, which is enough, but not in environments of length two.",
    ),
)
