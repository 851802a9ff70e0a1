"""How long a run lasts that stops when it is sure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tideproof.lab.study import Study
from tideproof.plans.plan_question import Question
from tideproof.plans.plan_simulation import rounded_up
from tideproof.policies.calibrated_bounds import CAP, bound_for
from tideproof.policies.policy_registry import policy
from tideproof.policies.policy_spec import PolicySpec

MOST_PROVEN = 12  # arms: a proof takes time with the cube of their number
_RUNS = {"calibrated": 10_000, "proven": 2_000}  # over the arms; proofs take long
_FEWEST = {"calibrated": 500, "proven": 150}
_MOST = {"calibrated": 2_000, "proven": 400}
_POINTS = 120  # budgets at which runs that have stopped are counted
_LATE = 10  # times the budget of an even split: the cap, where that is more than the usual one


@dataclass(frozen=True)
class StoppingTime:
    """Runs that stop by themselves.

    Attributes
    ----------
    rule : "calibrated" or "proven".
    mean : pulls on average.
    ninety : pulls after which nine of ten runs have stopped; None if fewer do before the cap.
    cap : the budget with which they were played.
    runs, wrong : how many were played, and how many of them stopped with a wrong arm.
    """

    rule: str
    mean: int
    ninety: int | None
    cap: int
    runs: int
    wrong: int


def usual_runs(rule: str, arms: int) -> int:
    """Return how many runs to play.

    >>> usual_runs("calibrated", 5), usual_runs("proven", 10)
    (2000, 200)
    """
    return min(max(_RUNS[rule] // arms, _FEWEST[rule]), _MOST[rule])


def cap_for(even: int) -> int:
    """Return the cap of runs that stop by themselves, by what an even split needs.

    >>> cap_for(560), cap_for(123_456)
    (10000, 1300000)
    """
    if _LATE * even <= CAP:
        return CAP
    unit: int = 10 ** (len(str(_LATE * even)) - 2)
    return -(-_LATE * even // unit) * unit


def stop_when_sure(
    question: Question, rule: str, even: int, block: int, runs: int, simulated: Callable[..., Study]
) -> StoppingTime:
    """Play `contrast` with the confidence that the error leaves, and see when it stops."""
    cap = cap_for(even)
    spec = _watched(question, rule, cap, even, block)
    last = cap // block
    points = np.unique(np.geomspace(2 * question.arms, last, _POINTS).round().astype(int)).tolist()
    study = simulated(question.world(block), spec, points, runs)
    stopped = study.stopped(spec.label)
    late = int(np.searchsorted(stopped, 0.9))
    return StoppingTime(
        rule,
        rounded_up(block * float(study.samples(spec.label)[-1])),
        rounded_up(block * points[late]) if late < len(points) else None,
        cap,
        study.replications,
        round(float(study.wrong_stops(spec.label)[-1]) * study.replications),
    )


def _watched(question: Question, rule: str, cap: int, even: int, block: int) -> PolicySpec:
    """Return the policy that stops; with the bound of the cap, in pulls, it need not know more of it."""
    confidence = 1.0 - question.error
    found = policy("contrast", confidence=confidence, rule=rule).policy
    bound = {"bound": bound_for(question.arms, cap, confidence)} if rule == "calibrated" else {}
    options = {**question.options(even, block), **bound, "confidence": confidence}
    return policy(replace(found, needs_horizon=False), label=rule, **options)
