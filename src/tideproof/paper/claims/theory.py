"""Section 3, Theorem 1 and its appendix: what the least-squares estimators do as environments grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tideproof.lab.intervals import quantile
from tideproof.paper.designs import GROWING, HALVES
from tideproof.paper.measured import Comparison, Measured, difference_across, level_of_each
from tideproof.paper.panels import LINLUCB, ROUND_ROBIN
from tideproof.paper.verdicts import Check, Claim, Part, between_bars

WORST, ADAPTIVE = f"{ROUND_ROBIN}, worst-case", f"{LINLUCB}, general"
EARLY, LATE = 10, 200  # environments
VANISHES = {WORST: 0.2, ADAPTIVE: 0.9, GROWING: 0.2, HALVES: 0.2}  # of the value after EARLY environments
FALLING = "0.2 of that (0.9 under LinLUCB, whose poor arms get few pulls)"
AGREES = 0.15  # of a variance, about five standard errors of the simulation
SAME = 0.005  # PICS

Found = Mapping[str, Any]


def _numbers(found: Found, design: str, quantity: str, J: int) -> dict[str, float]:
    for row in found["designs"]:
        if (row["design"], row["quantity"], row["environments"]) == (design, quantity, J):
            return dict(row)
    raise LookupError(f"no {quantity} of {design!r} after {J} environments")


def _exact(found: Found, design: str, quantity: str, J: int) -> float:
    return _numbers(found, design, quantity, J)["exact"]


def _simulated(found: Found, design: str, quantity: str, J: int, level: float) -> Measured:
    numbers = _numbers(found, design, quantity, J)
    reach = quantile(level) * numbers["stderr"]
    return Measured(numbers["simulated"], numbers["simulated"] - reach, numbers["simulated"] + reach)


def _mean_stays(found: Found, level: float) -> list[Part]:
    parts = []
    for design in (WORST, ADAPTIVE, GROWING):
        limit = _exact(found, design, "1/m_1", LATE)
        compared = [
            Comparison(
                f"{J} environments", _simulated(found, design, "Var(mu_1)", J, level).times(1.0 / limit)
            )
            for J in (50, 100, LATE)
        ]
        parts.append(Part(f"{design}: simulated variance of a mean over sigma^2/m_1", compared, "above", 0.8))
    return parts


def _difference_vanishes(designs: Iterable[str]) -> Check:
    def check(found: Found, level: float) -> list[Part]:
        parts = []
        for design in designs:
            late, early = (
                _simulated(found, design, "Var(difference)", J, level_of_each(level, 2))
                for J in (LATE, EARLY)
            )
            only = Comparison(f"{LATE} over {EARLY} environments", late.over(early))
            parts.append(
                Part(f"{design}: simulated variance of a difference", [only], "below", VANISHES[design])
            )
        return parts

    return check


def _conjecture(found: Found, level: float) -> list[Part]:
    parts = []
    for design in (WORST, ADAPTIVE, GROWING, HALVES):
        for quantity in ("Cov(s_j, s_m)", "Var(mu_i)"):
            late, early = (
                max(
                    abs(_exact(found, design, f"{end} {quantity}", J) - _exact(found, design, "1/m_1", J))
                    for end in ("smallest", "largest")
                )
                for J in (LATE, EARLY)
            )
            only = Comparison(f"{LATE} over {EARLY} environments", Measured(*[late / early] * 3))
            what = f"{design}: largest distance of any {quantity} from sigma^2/m_1, exactly"
            parts.append(Part(what, [only], "below", VANISHES[design]))
    return parts


def _formula(found: Found, level: float) -> list[Part]:
    parts = []
    for design in (WORST, ADAPTIVE, GROWING, HALVES):
        compared = []
        for quantity in ("Var(mu_1)", "Var(difference)", "Cov(s_2, s_3)"):
            for J in (EARLY, 50, LATE):
                exact = _exact(found, design, quantity, J)
                compared.append(
                    Comparison(
                        f"{quantity}, {J} environments",
                        _simulated(found, design, quantity, J, level).times(1 / exact),
                    )
                )
        parts += between_bars(f"{design}: simulation over formula", compared, 1.0 - AGREES, 1.0 + AGREES)
    return parts


def _printed(found: Found, level: float) -> list[Part]:
    parts = []
    for design in (WORST, ADAPTIVE, GROWING):
        compared = []
        for J in (EARLY, 50, LATE):
            printed = Measured(*[_exact(found, design, "Var(mu_1), printed", J)] * 3)
            compared.append(
                Comparison(
                    f"{J} environments", printed.over(_simulated(found, design, "Var(mu_1)", J, level))
                )
            )
        parts.append(
            Part(f"{design}: printed variance of a mean over the simulated", compared, "below", 1.0 + AGREES)
        )
    return parts


def _magnitude(found: Found, level: float) -> list[Part]:
    far, near = found["magnified"], found["mdm-5-general"]
    compared = difference_across(far, near, LINLUCB, far.budgets, level)
    return between_bars(f"{LINLUCB}, shifts up to 2,000 minus up to 20", compared, -SAME, SAME)


CLAIMS = (
    Claim(
        "mean-not-consistent",
        "Theorem 1, part 1: the estimator of a mean is not consistent.",
        "3.1",
        ("designs",),
        _mean_stays,
        "After 50 to 200 environments its simulated variance is still above 0.8 sigma^2/m_1, "
        "m_1 being the size of the first environment.",
    ),
    Claim(
        "difference-consistent",
        "Theorem 1, part 2: if J is o(N) and two arms have shares that do not vanish, "
        "the difference of their estimators is consistent.",
        "3.1",
        ("designs",),
        _difference_vanishes((GROWING, HALVES)),
        f"Its simulated variance after {LATE} environments is below 0.2 of that after {EARLY}, "
        "on two designs that meet the assumptions. "
        "In one of them the two arms meet in the first two environments only: "
        "the proof's step from the assumptions to sum_j |n_1j/N_1 - n_2j/N_2| -> 0 does not hold.",
    ),
    Claim(
        "difference-without-assumptions",
        "Empirically the difference is consistent also without these assumptions.",
        "3.1",
        ("designs",),
        _difference_vanishes((WORST, ADAPTIVE)),
        f"Its simulated variance after {LATE} environments is below {FALLING} after {EARLY}, "
        "in environments of length two (J = N/2) and under LinLUCB.",
    ),
    Claim(
        "conjecture",
        "Covariances of shift estimators and variances of means tend to sigma^2 "
        "over the size of the first environment.",
        "appendix B",
        ("designs",),
        _conjecture,
        f"By formula, the largest distance from that limit after {LATE} environments is below {FALLING} "
        f"after {EARLY}. The formula proves the limit wherever P -> 0, that is where the arms keep meeting.",
    ),
    Claim(
        "covariance-formula",
        "The estimators are normal with covariance sigma^2 (X'X)^-1.",
        "3.1",
        ("designs",),
        _formula,
        f"Simulated variances and covariances agree within {AGREES:.0%} "
        "with the read-out of the K by K matrix P.",
    ),
    Claim(
        "printed-covariance",
        "Cov[muhat] = sigma^2 [A'(I - 2 H_B + H_B H_A H_B) A]^-1.",
        "3.1",
        ("designs",),
        _printed,
        f"It agrees within {AGREES:.0%} with the simulated variance of a mean.",
    ),
    Claim(
        "shift-magnitude",
        "The estimator is robust: its consistency does not depend on the magnitude of shifts.",
        "3.1",
        ("magnified", "mdm-5-general"),
        _magnitude,
        f"LinLUCB errs as often, within {SAME}, when shifts are a hundred times as large.",
    ),
)
