"""Definitions of a reproduced paper's claims on the consistency of estimates, with rules to decide each.

The claims are its Theorem 1 and a conjecture, in section 3.1 and appendix B.
"""

from __future__ import annotations

from collections.abc import Iterable

from tideproof.research.paper.claim_verdicts import Claim, ClaimPart, between_thresholds
from tideproof.research.paper.claims.table_lookup import (
    EARLY,
    LATE,
    ROUNDING,
    Found,
    exact_measurement,
    exact_value,
    late_over_early,
    ratios,
    rows_of,
    values_on_all_designs,
)
from tideproof.research.paper.growing_designs import ALTERNATING, GROWING, HALVES, ONCE, SETTLED
from tideproof.research.paper.measurement_intervals import (
    Comparison,
    Measurement,
    difference_across_worlds,
    normal_interval,
    simultaneous_level,
)
from tideproof.research.paper.panels import LINLUCB, ROUND_ROBIN

WORST, ADAPTIVE = f"{ROUND_ROBIN}, worst-case", f"{LINLUCB}, general"
DESIGNS = (WORST, ADAPTIVE, GROWING, HALVES, ONCE, ALTERNATING, SETTLED)
VANISHES = 0.25  # ratio to the value after EARLY environments below which a quantity counts as vanishing
FALLING = "a quarter of that"
AGREES = 0.15  # relative error of a variance, about five standard errors of the simulation
SMALL = 0.1  # bound on a sum that should vanish
SAME = 0.005  # difference in PICS
PROVED = "proved in docs/paper/theory.md"


def _numbers(found: Found, design: str, quantity: str, J: int) -> dict[str, float]:
    return rows_of(found["designs"], design=design, quantity=quantity, environments=J)[0]


def _simulated(found: Found, design: str, quantity: str, J: int, level: float) -> Measurement:
    numbers = _numbers(found, design, quantity, J)
    return normal_interval(numbers["simulated"], numbers["stderr"], level)


def _mean_stays(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for design in (WORST, ADAPTIVE, GROWING):
        limit = exact_value(found, design, "1/m_1", LATE)
        compared = [
            Comparison(
                f"{J} environments", _simulated(found, design, "Var(mu_1)", J, level).times(1.0 / limit)
            )
            for J in (50, 100, LATE)
        ]
        parts.append(
            ClaimPart(
                f"{design}: simulated variance of a mean divided by sigma^2/m_1", compared, "above", 0.8
            )
        )
    every = ratios(found, "smallest Var(mu_i)", "1/m_1")
    what = "all designs: smallest variance of a mean divided by sigma^2/m_1, by formula"
    return [*parts, ClaimPart(what, every, "above", 1.0 - ROUNDING, universal=True)]


def _correlation_stays(found: Found, level: float) -> list[ClaimPart]:
    compared = [
        Comparison(design, exact_measurement(exact_value(found, design, "Corr(mu_1, mu_2)", LATE)))
        for design in DESIGNS
    ]
    parts = [ClaimPart(f"correlation of two means after {LATE} environments", compared, "above", SMALL)]
    for design in (WORST, ADAPTIVE, GROWING, SETTLED):
        only = Comparison(
            f"{LATE} relative to {EARLY} environments",
            late_over_early(found, design, "Var(mu_1), shifts centred"),
        )
        what = f"{design}: variance of a mean if the average shift is set to zero instead"
        parts.append(ClaimPart(what, [only], "below", VANISHES))
    return parts


def _simulated_difference(found: Found, designs: Iterable[str], level: float) -> list[Comparison]:
    compared = []
    for design in designs:
        late, early = (
            _simulated(found, design, "Var(difference)", J, simultaneous_level(level, 2))
            for J in (LATE, EARLY)
        )
        compared.append(Comparison(f"{design}, {LATE} relative to {EARLY} environments", late.over(early)))
    return compared


def _difference_vanishes(found: Found, level: float) -> list[ClaimPart]:
    compared = _simulated_difference(found, (GROWING, HALVES), level)
    what = "simulated variance of a difference, designs that meet the assumptions"
    return [ClaimPart(what, compared, "below", VANISHES, universal=True)]


def _without_assumptions(found: Found, level: float) -> list[ClaimPart]:
    simulated = dict(
        zip((WORST, ADAPTIVE), _simulated_difference(found, (WORST, ADAPTIVE), level), strict=True)
    )
    parts = [
        ClaimPart(f"{design}: simulated variance of a difference", [only], "below", VANISHES)
        for design, only in simulated.items()
    ]
    for design in (SETTLED, ALTERNATING, HALVES):
        only = Comparison(
            f"{LATE} relative to {EARLY} environments", late_over_early(found, design, "Var(difference)")
        )
        what = f"{design}: variance of a difference by formula"
        parts.append(ClaimPart(what, [only], "below", VANISHES))
    return parts


def _all_arms_enough(found: Found, level: float) -> list[ClaimPart]:
    compared = [
        Comparison(
            f"{design}, {LATE} relative to {EARLY} environments",
            late_over_early(found, design, "largest Var(difference)"),
        )
        for design in DESIGNS
    ]
    what = "largest variance of any difference, designs in which all arms continue to be pulled"
    return [ClaimPart(what, compared, "below", VANISHES, universal=True)]


def _distance(found: Found, design: str, quantity: str, J: int) -> float:
    """Return how far variances or covariances of estimates are from a limit that a paper conjectures.

    It is the largest of the distances. The limit is sigma^2/m_1, with m_1 pulls in the first environment.
    """
    limit = exact_value(found, design, "1/m_1", J)
    return max(
        abs(exact_value(found, design, f"{end} {quantity}", J) - limit) for end in ("smallest", "largest")
    )


def _nears_limit(found: Found, design: str, quantity: str) -> Measurement:
    return exact_measurement(
        _distance(found, design, quantity, LATE) / _distance(found, design, quantity, EARLY)
    )


def _conjecture(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for design in (WORST, ADAPTIVE, GROWING, HALVES):
        for quantity in ("Cov(s_j, s_m)", "Var(mu_i)"):
            only = Comparison(
                f"{LATE} relative to {EARLY} environments", _nears_limit(found, design, quantity)
            )
            what = f"{design}: largest distance of any {quantity} from sigma^2/m_1 by formula"
            parts.append(ClaimPart(what, [only], "below", VANISHES))
    return parts


def _implies(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for design in DESIGNS:
        if _nears_limit(found, design, "Cov(s_j, s_m)").estimate < VANISHES:
            only = Comparison(
                f"{LATE} relative to {EARLY} environments",
                late_over_early(found, design, "largest Var(difference)"),
            )
            what = f"{design}, where covariances approach their limit: largest variance of a difference"
            parts.append(ClaimPart(what, [only], "below", VANISHES))
    bound = [
        Comparison(
            f"{design}, {J} environments",
            exact_measurement(value / (4.0 * _distance(found, design, "Var(mu_i)", J))),
        )
        for design, J, value in values_on_all_designs(found, "largest Var(difference)")
    ]
    what = "all designs: largest variance of a difference divided by four times the distance of Var(mu_i)"
    return [*parts, ClaimPart(what, bound, "below", 1.0 + ROUNDING, universal=True)]


def _formula(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for design in (WORST, ADAPTIVE, GROWING, HALVES):
        compared = []
        for quantity in ("Var(mu_1)", "Var(difference)", "Cov(s_2, s_3)"):
            for J in (EARLY, 50, LATE):
                simulated = _simulated(found, design, quantity, J, level)
                ratio = simulated.times(1.0 / exact_value(found, design, quantity, J))
                compared.append(Comparison(f"{quantity}, {J} environments", ratio))
        parts += between_thresholds(
            f"{design}: simulated value divided by the formula", compared, 1.0 - AGREES, 1.0 + AGREES
        )
    return parts


def _printed(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for design in (WORST, ADAPTIVE, GROWING):
        compared = []
        for J in (EARLY, 50, LATE):
            printed = exact_measurement(exact_value(found, design, "Var(mu_1), printed", J))
            simulated = _simulated(found, design, "Var(mu_1)", J, level)
            compared.append(Comparison(f"{J} environments", printed.over(simulated)))
        what = f"{design}: printed variance of a mean divided by the simulated one"
        parts.append(ClaimPart(what, compared, "below", 1.0 + AGREES))
    return parts


def _magnitude(found: Found, level: float) -> list[ClaimPart]:
    far, near = found["magnified"], found["mdm-5-general"]
    compared = difference_across_worlds(far, near, LINLUCB, far.budgets, level)
    return between_thresholds(f"PICS of {LINLUCB}, shifts up to 2,000 minus up to 20", compared, -SAME, SAME)


CLAIMS = (
    Claim(
        "covariance-formula",
        "On a fixed design the estimators have covariance sigma^2 (X'X)^-1.",
        "3.1",
        ("designs", "limits"),
        _formula,
        f"Simulated variances and covariances agree within {AGREES:.0%} "
        "with the values computed from the K-by-K matrix P.",
    ),
    Claim(
        "printed-covariance",
        "Cov[muhat] = sigma^2 [A'(I - 2 H_B + H_B H_A H_B) A]^-1.",
        "3.1",
        ("designs", "limits"),
        _printed,
        f"It agrees within {AGREES:.0%} with the simulated variance of a mean.",
    ),
    Claim(
        "correlation-stays",
        "If the first shift is set to zero, correlations of the estimates do not vanish, "
        "so the means are not consistent.",
        "3.1",
        ("limits",),
        _correlation_stays,
        f"After {LATE} environments, two means have a correlation above {SMALL}. If the average shift is set "
        f"to zero instead, the variance of a mean falls below {FALLING} after {EARLY} environments. Means "
        "that "
        "only the first environment connects are not correlated, and not consistent either.",
    ),
    Claim(
        "mean-not-consistent",
        "Theorem 1, part 1: the estimator of a mean is not consistent.",
        "3.1",
        ("designs", "limits"),
        _mean_stays,
        "After 50 to 200 environments, the simulated variance of a mean is above 0.8 sigma^2/m_1, where m_1 "
        "is the number of pulls in the first environment. By formula, it is never below sigma^2/m_1.",
    ),
    Claim(
        "difference-consistent",
        "Theorem 1, part 2: if J is o(N) and two arms have shares that do not vanish, "
        "the difference of their estimators is consistent.",
        "3.1",
        ("designs",),
        _difference_vanishes,
        f"On every design that meets the assumptions, the simulated variance after {LATE} environments is "
        f"below {FALLING} after {EARLY}. One counterexample is enough: a design that meets the assumptions, "
        "in which two halves of the arms share only the first two environments.",
    ),
    Claim(
        "difference-without-assumptions",
        "Empirically, the difference is also consistent without these assumptions.",
        "3.1, appendix B",
        ("designs", "limits"),
        _without_assumptions,
        f"The variance after {LATE} environments is below {FALLING} after {EARLY} on five designs: "
        "environments of length two (J = N/2), a run of LinLUCB (slippage, where all arms continue to be "
        "pulled), an arm whose share vanishes, and two designs whose halves of arms stop sharing "
        "environments.",
    ),
    Claim(
        "all-arms-enough",
        "For the ranking to converge, it is enough that every arm is sampled infinitely often; "
        "further assumptions are needed only for the proof.",
        "3.1, appendix B",
        ("limits",),
        _all_arms_enough,
        "On every design in which all arms continue to be pulled, the largest variance of a difference after "
        f"{LATE} environments is below {FALLING} after {EARLY}. The necessary and sufficient condition is "
        "that "
        "for every split of the arms into two groups, infinitely many environments contain arms of both "
        f"({PROVED}).",
    ),
    Claim(
        "shift-magnitude",
        "The estimator is robust: its consistency does not depend on the magnitude of shifts.",
        "3.1",
        ("magnified", "mdm-5-general"),
        _magnitude,
        f"The PICS of LinLUCB changes by less than {SAME} if shifts are a hundred times as large.",
    ),
    Claim(
        "conjecture",
        "Covariances of shift estimators and variances of means tend to sigma^2 "
        "over the size of the first environment.",
        "appendix B",
        ("limits",),
        _conjecture,
        f"By formula, the largest distance from that limit after {LATE} environments is below {FALLING} "
        f"after {EARLY}. The formula proves the limit wherever P tends to zero, that is, where the arms "
        "continue to share environments.",
    ),
    Claim(
        "conjecture-implies-consistency",
        "If the conjecture holds, the variance of a difference vanishes without further assumptions.",
        "appendix B",
        ("limits",),
        _implies,
        f"On designs where the distance of the covariances of shifts from their limit falls below {FALLING} "
        f"after {EARLY} environments, the variance of every difference does so, too. By formula, it is at "
        "most "
        f"four times the distance of the variances of means from their limit ({PROVED}).",
    ),
)
