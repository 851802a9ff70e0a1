"""Definitions of a reproduced paper's claims that compare its policy LinLUCB with benchmark policies.

They are in section 5.1, figure 4 and the appendix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

from tideproof.lab.share_intervals import binomial
from tideproof.lab.study import Study
from tideproof.research.paper.claim_verdicts import Check, Claim, ClaimPart, between_thresholds
from tideproof.research.paper.claims.existing_policy_claims import SWEEP
from tideproof.research.paper.figure_entries import SIXTEEN
from tideproof.research.paper.measurement_intervals import (
    Comparison,
    ErrorMeasure,
    KeptSelections,
    Measurement,
    difference_across_worlds,
    difference_to_ser3,
    measure,
    paired_difference,
    paired_selection_difference,
    simultaneous_level,
)
from tideproof.research.paper.panels import (
    ARMS,
    CONFIGURATIONS,
    EXISTING,
    FIRST_PULLS,
    LINLUCB,
    REDUCED_ROBIN,
    REDUCTION,
    ROUND_ROBIN,
    SCENARIOS,
    ZERO_ONE,
    panels,
    ser3_panel_name,
)

PER_ARM = (10, 20, 40, 60, 100)
DECAY = (50, 80, 100, 150, 200)
CLOSE = 0.02
SMALL = 0.01
WORST, CANNOT, LONG, GENERAL = SCENARIOS
MEASURES: tuple[ErrorMeasure, ...] = ("pics", "eoc")
_COMPARED = (LINLUCB, ROUND_ROBIN, ZERO_ONE)

Found = Mapping[str, Any]


def budgets(name: str) -> tuple[int, ...]:
    """Return the budgets (numbers of pulls) at which policies are compared in one simulated world."""
    return tuple(pulls * panels()[name].world.arms for pulls in PER_ARM)


def _beats_all(names: Sequence[str], of: ErrorMeasure) -> Check:
    def check(found: Found, level: float) -> list[ClaimPart]:
        parts = []
        for name in names:
            study = found[name]
            for other in (ROUND_ROBIN, ZERO_ONE):
                compared = paired_difference(study, LINLUCB, other, budgets(name), of, level)
                what = f"{panels()[name].title}: {of.upper()} of {LINLUCB} minus {other}"
                parts.append(ClaimPart(what, compared, "below"))
            compared = difference_to_ser3(study, LINLUCB, found[ser3_panel_name(name)], of, level)
            what = f"{panels()[name].title}: {of.upper()} of {LINLUCB} minus SER3"
            parts.append(ClaimPart(what, compared, "below"))
        return parts

    return check


def _across(label: str, pairs: Sequence[tuple[str, str]], at: Sequence[int] | None = None) -> Check:
    """Return a function that computes how much more often a policy errs in one world than in another.

    The function compares several pairs of worlds.
    """

    def check(found: Found, level: float) -> list[ClaimPart]:
        return [
            ClaimPart(
                f"PICS of {label}: {panels()[a].title} minus {panels()[b].title.rsplit(', ', 1)[1]}",
                difference_across_worlds(found[a], found[b], label, at or budgets(a), level),
                "above",
            )
            for a, b in pairs
        ]

    return check


def _pairs(first: str, second: str, arms: Sequence[int] = (5,)) -> list[tuple[str, str]]:
    return [(f"{means}-{K}-{first}", f"{means}-{K}-{second}") for means in CONFIGURATIONS for K in arms]


def _both(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for pair in pairs for name in pair))


def _worsens(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for name in REDUCTION:
        first, *later = (KeptSelections(found[name], ZERO_ONE, budget) for budget in FIRST_PULLS)
        compared = [
            Comparison(
                f"{each.budget} pulls minus {first.budget}", paired_selection_difference(each, first, level)
            )
            for each in later
        ]
        what = f"{panels()[name].title}: PICS of {ZERO_ONE}, later minus first"
        parts.append(ClaimPart(what, compared, "above", some=True))
    return parts


def minus(
    a: str,
    b: str,
    names: Sequence[str],
    side: Literal["below", "above"],
    bar: float = 0.0,
    at: Sequence[int] | None = None,
    note: str = "",
) -> Check:
    """Return a function that compares the difference of two policies' error rates with a threshold.

    The difference is the error rate of the policy `a` minus that of the policy `b`.
    """

    def check(found: Found, level: float) -> list[ClaimPart]:
        return [
            ClaimPart(
                f"{panels()[name].title}: PICS of {a} minus {b}{note}",
                paired_difference(found[name], a, b, at or budgets(name), "pics", level),
                side,
                bar,
            )
            for name in names
        ]

    return check


def _same_order(found: Found, level: float) -> list[ClaimPart]:
    """Return measurements of whether error rate and opportunity cost agree on the better of two policies.

    Where one of the two measures decides which policy is better, the other must agree.
    """
    half, parts = simultaneous_level(level, 2), []
    for name in (*SIXTEEN, "existing"):
        study, sweep = found[name], found[SWEEP if name == "existing" else ser3_panel_name(name)]
        labels, at = (EXISTING, study.budgets) if name == "existing" else (_COMPARED, budgets(name))
        by_pics, by_eoc = (_differences(study, sweep, labels, at, of, half) for of in MEASURES)
        for worse_by, differs_in, first, second in (
            ("PICS", "EOC", by_pics, by_eoc),
            ("EOC", "PICS", by_eoc, by_pics),
        ):
            what = f"{differs_in} of the policy with the higher {worse_by} minus that of the other"
            parts.append(ClaimPart(f"{panels()[name].title}: {what}", _agreement(first, second), "above"))
    return parts


def _differences(
    study: Study, sweep: Study, labels: Sequence[str], at: Sequence[int], of: ErrorMeasure, level: float
) -> list[Comparison]:
    """Return the differences in error rate (or opportunity cost) between every two policies.

    Each policy is also compared with SER3, a policy that was simulated separately.
    """
    compared = []
    for a, b in combinations(labels, 2):
        compared += paired_difference(study, a, b, at, of, level, f"{a} and {b}, ")
    for label in labels:
        compared += difference_to_ser3(study, label, sweep, of, level)
    return compared


def _agreement(first: list[Comparison], second: list[Comparison]) -> list[Comparison]:
    """Return differences of policies in one measure, made positive where another measure agrees in sign.

    The measures are error rate and opportunity cost. The results are the differences by the second measure,
    positive where their sign agrees with the first. Comparisons that `first` does not decide are left out.
    """
    compared = []
    for one, other in zip(first, second, strict=True):
        if one.measured.low > 0.0:
            compared.append(other)
        elif one.measured.high < 0.0:
            estimate, low, high = other.measured
            compared.append(Comparison(other.where, Measurement(-estimate, -high, -low)))
    return compared


def _improves(found: Found, level: float) -> list[ClaimPart]:
    mine, others, each = found["mdm-5-general"], found["existing"], simultaneous_level(level, 2)
    shared = [budget for budget in others.budgets if budget in mine.budgets]
    parts = []
    for label in EXISTING:
        compared = [
            Comparison(
                f"{t} pulls",
                measure(mine, LINLUCB, t, "pics", each).minus(measure(others, label, t, "pics", each)),
            )
            for t in shared
        ]
        parts.append(ClaimPart(f"PICS of {LINLUCB} minus {label}", compared, "below"))
    return parts


def _connects(found: Found, level: float) -> list[ClaimPart]:
    parts = []
    for name in SIXTEEN:
        study = found[name]
        apart = study.tally.unidentified[study.policies.index(LINLUCB)][:1]
        ends = binomial(apart, study.replications, level)
        only = Comparison(
            f"{study.budgets[0]} pulls",
            Measurement(*(float(x[0]) for x in (apart / study.replications, *ends))),
        )
        what = f"{panels()[name].title}: share of runs whose arms are not connected"
        parts.append(ClaimPart(what, [only], "below", SMALL))
    return parts


def _two_arms(found: Found, level: float) -> list[ClaimPart]:
    study = found["two-arms"]
    compared = paired_difference(study, LINLUCB, REDUCED_ROBIN, study.budgets, "pics", level)
    return between_thresholds(
        f"PICS of {LINLUCB} minus one pull of each arm in every environment", compared, -SMALL, SMALL
    )


_WORST = tuple(f"{means}-{K}-{WORST}" for means in CONFIGURATIONS for K in ARMS)
_SHORT_LONG = [
    (f"{means}-{K}-{long}", f"{means}-{K}-{short}")
    for means in CONFIGURATIONS
    for K in ARMS
    for long in (LONG, GENERAL)
    for short in (WORST, CANNOT)
]
_SLOWER, _HARDER = _pairs(CANNOT, GENERAL), _pairs(GENERAL, CANNOT)


def _swept(names: Sequence[str]) -> tuple[str, ...]:
    return (*names, *(ser3_panel_name(name) for name in names))


CLAIMS = (
    Claim(
        "algorithm-1-connects",
        "With the initialisation of Algorithm 1 all arms can be compared.",
        "3.2",
        SIXTEEN,
        _connects,
        f"In all sixteen panels, the arms are not connected afterwards in a share of runs below {SMALL}.",
    ),
    Claim(
        "two-arms",
        "LUCB is optimal for two arms and environments of length two.",
        "4",
        ("two-arms",),
        _two_arms,
        f"The PICS of LinLUCB differs by less than {SMALL} from that of a policy that pulls each arm once "
        "in every environment.",
    ),
    Claim(
        "linlucb-improves",
        "Empirical tests depict a significant improvement against existing methods.",
        "abstract",
        ("mdm-5-general", "existing"),
        _improves,
        "LinLUCB errs less often than each of the ten existing policies of figure 2, "
        "at every budget that was simulated for both.",
    ),
    Claim(
        "linlucb-fig4",
        "LinLUCB significantly outperforms the other policies in all configurations (figure 4).",
        "5.1",
        _swept(REDUCTION),
        _beats_all(REDUCTION, "pics"),
        "LinLUCB errs less often than round robin, 0-1_1 and SER3 at every compared budget, in four panels.",
    ),
    Claim(
        "linlucb-16-pics",
        "LinLUCB outperforms the other policies in all configurations (appendix, PICS).",
        "appendix C",
        _swept(SIXTEEN),
        _beats_all(SIXTEEN, "pics"),
        "LinLUCB errs less often than round robin, 0-1_1 and SER3 at every compared budget, "
        "in all sixteen panels.",
    ),
    Claim(
        "linlucb-16-eoc",
        "LinLUCB still outperforms the others by EOC (appendix).",
        "appendix C",
        _swept(SIXTEEN),
        _beats_all(SIXTEEN, "eoc"),
        "The expected opportunity cost of LinLUCB is lower than those of round robin, 0-1_1 and SER3 "
        "at every compared budget, in all sixteen panels.",
    ),
    Claim(
        "eoc-like-pics",
        "Results by EOC look much like those by PICS.",
        "appendix C",
        (*_swept(SIXTEEN), "existing"),
        _same_order,
        "Wherever PICS or EOC shows which of two policies is better, the other measure agrees. "
        "Compared are LinLUCB, round robin, 0-1_1 and SER3 in all sixteen panels, "
        "and all pairs of the existing policies in figure 2.",
    ),
    Claim(
        "linlucb-slower-in-short",
        "In short environments (cannot-sample-all-arms) PICS of LinLUCB decays slower "
        "than in the general scenario.",
        "5.1",
        _both(_SLOWER),
        _across(LINLUCB, _SLOWER, DECAY),
        "LinLUCB errs more often in cannot-sample-all-arms, at each of five budgets up to 200.",
    ),
    Claim(
        "zero-one-general-harder",
        "For 0-1_1 the general scenario is more difficult than cannot-sample-all-arms.",
        "5.1",
        _both(_HARDER),
        _across(ZERO_ONE, _HARDER),
        "0-1_1 errs more often in the general scenario, at every compared budget.",
    ),
    Claim(
        "zero-one-worsens",
        "PICS of 0-1_1 worsens at first in all cases (figure 4).",
        "5.1",
        REDUCTION,
        _worsens,
        f"In each of four panels, 0-1_1 errs more often at some budget up to {FIRST_PULLS[-1]} than right "
        "after its initialisation. The two error rates are compared run by run.",
    ),
    Claim(
        "zero-one-below-round-robin",
        "Even in cannot-sample-all-arms, 0-1_1 performs worse than round robin.",
        "5.1",
        tuple(f"{means}-5-{CANNOT}" for means in CONFIGURATIONS),
        minus(ZERO_ONE, ROUND_ROBIN, [f"{means}-5-{CANNOT}" for means in CONFIGURATIONS], "above"),
        "0-1_1 errs more often than round robin at every compared budget.",
    ),
    Claim(
        "zero-one-short-better",
        "0-1_1 performs better in short environments (worst-case, cannot-sample-all-arms) than in long ones.",
        "appendix C",
        _both(_SHORT_LONG),
        _across(ZERO_ONE, _SHORT_LONG),
        "0-1_1 errs more often in each of the two long scenarios than in each of the two short ones.",
    ),
    Claim(
        "zero-one-competitive",
        "In the worst case 0-1_1 is quite competitive to round robin.",
        "appendix C",
        _WORST,
        minus(ZERO_ONE, ROUND_ROBIN, _WORST, "below", CLOSE, note=f" is below {CLOSE}"),
        f"The PICS of 0-1_1 is less than {CLOSE} above that of round robin at every compared budget.",
    ),
)
