"""`plan`: how many pulls a test needs, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from tideproof.checks import require_whole_number
from tideproof.errors import MissingExtra
from tideproof.plans.even_split import even_budget, named_budget
from tideproof.plans.pilot_study import Pilot, pilot_of
from tideproof.plans.plan_question import Question, ask
from tideproof.plans.plan_result import CONTRAST, EVEN, Plan, curve_table
from tideproof.plans.plan_simulation import Lab, rounded_up
from tideproof.plans.stopping_time import MOST_PROVEN, StoppingTime, stop_when_sure, usual_runs
from tideproof.policies.policy_registry import policy
from tideproof.progress import progress_bar
from tideproof.text import format_count

_STEPS = 1500  # that an even split may take: more pulls are played in blocks
_PROOF_STEPS = 30  # for each arm, the same for proofs: they take five times as long, and each step is dear
_WORK = 30e6  # steps of five arms, in all
_FEWEST, _MOST = 2_000, 15_000  # runs of a budget
_FEWEST_ASKED = 100

_known: dict[tuple[Question, int | None, int], Plan] = {}  # of this process: only ratios to noise matter


def answer(
    question: Question, asked: str, replications: int | None = None, seed: int = 0, progress: bool = False
) -> Plan:
    """Play what is asked, or remember it."""
    key = question, replications, seed
    if key not in _known:
        watch = progress_bar("planning", 100.0, first="compiling") if progress else nullcontext(_silent)
        with watch as show:
            _known[key] = _played(question, replications, seed, show)
    return replace(_known[key], asked=asked)


def _played(question: Question, replications: int | None, seed: int, show: Callable[..., None]) -> Plan:
    guess = even_budget(question)
    if find_spec("numba") is None:
        raise MissingExtra(
            f"an even split needs about {format_count(guess, 'pull')}, by a formula; what contrast needs is "
            "simulated, which needs numba: pip install 'tideproof[lab]'"
        )
    block = max(1, round(guess / _STEPS))
    runs = _runs(question.arms, guess / block) if replications is None else replications
    lab = Lab(question, block, seed)
    contrast = question.contrast(0.7 * guess, block)
    show(5.0)
    ours = lab.counts(contrast, [0.35 * guess, 0.5 * guess, 0.7 * guess, guess], runs)
    show(50.0)
    theirs = lab.counts(policy("round-robin+ols"), [0.5 * guess, 0.8 * guess, guess], max(runs // 2, 1))
    show(70.0)
    ours_budget = lab.kept(contrast, ours, runs)
    show(80.0)
    even = lab.kept(policy("round-robin+ols"), theirs, runs)
    show(90.0)

    def stopping(rule: str, block: int) -> StoppingTime:
        usual = usual_runs(rule, question.arms)
        often = usual if replications is None else min(usual, replications)
        return stop_when_sure(question, rule, guess, block, often, lab.simulated)

    sure = stopping("calibrated", block)
    show(95.0)
    coarse = max(block, round(guess / (_PROOF_STEPS * question.arms)))
    can_be = question.rates is None and question.arms <= MOST_PROVEN  # nothing is proven for conversions
    proven = stopping("proven", coarse) if can_be else None
    curve = curve_table(block, {CONTRAST: ours, EVEN: theirs})
    return Plan(question, ours_budget, even, sure, proven, rounded_up(named_budget(question)), curve)


def _runs(arms: int, steps: float) -> int:
    """Return how often to play each of five budgets, by the steps of an even split; each costs O(arms)."""
    cost = 5.0 * 0.7 * steps * arms / 5.0
    return int(min(max(_WORK / cost, _FEWEST), _MOST)) // 1000 * 1000


def _silent(done: float) -> None:
    pass


def plan(
    *,
    arms: int | None = None,
    gap: float | None = None,
    sigma: float | None = None,
    rate: float | None = None,
    lift: float | None = None,
    per_environment: int | None = None,
    error: float = 0.05,
    log: Any = None,
    arm: str | None = None,
    environment: str | None = None,
    reward: str | None = None,
    replications: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Plan:
    """Say how many pulls a test needs, by playing it in the least favourable world: one arm ahead of equals.

    Parameters
    ----------
    arms
        Their number.
    gap, sigma
        For means: how much better the best arm is, and the standard deviation of a reward; 1 unless given.
    rate, lift
        For conversions: the usual rate, and by which share the best one is above it: 0.1 for 10 %.
    per_environment
        Pulls that share one environment, such as the visitors of a day.
    error
        How often a wrong arm may be selected.
    log
        A pilot, as `fit` takes it, from which arms, sigma (or rate) and the lengths of environments are
        taken, as far as they are not given.
    arm, environment, reward
        Columns of the log.
    replications
        How often to play each budget; as many as a few seconds allow unless given.
    seed
        The same seed gives the same plan.
    progress
        Show how far it is.

    Examples
    --------
    >>> import tideproof as tp
    >>> found = tp.plan(arms=3, gap=1.0, sigma=1.0, per_environment=20, error=0.1, replications=1000)
    >>> found.budget < found.even_split < found.sure.mean
    True
    """
    lengths: Any = per_environment
    if log is not None:
        pilot = log if isinstance(log, Pilot) else pilot_of(log, arm, environment, reward)
        arms = pilot.arms if arms is None else arms
        lengths = pilot.lengths if per_environment is None else per_environment
        if lift is not None and rate is None:
            rate = pilot.checked_rate()
        elif gap is not None and sigma is None:
            sigma = pilot.checked_sigma()
    if replications is not None:
        require_whole_number("replications", replications, _FEWEST_ASKED)
    require_whole_number("seed", seed, 0, 2**53)
    question = ask(arms=arms, gap=gap, sigma=sigma, rate=rate, lift=lift, lengths=lengths, error=error)
    if question.rates is None:
        ahead = f"{gap:g} (sigma {1.0 if sigma is None else sigma:.4g})"
    else:
        ahead = f"{100.0 * (lift or 0.0):g} % (rate {rate:.4g})"
    return answer(question, f"{question.arms} arms, one ahead by {ahead}", replications, seed, progress)
