"""The public function `plan`, which finds how many pulls a test needs before it begins."""

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
from tideproof.plans.plan_question import Question, make_question
from tideproof.plans.plan_result import CONTRAST, EVEN, Plan, curve_table
from tideproof.plans.plan_simulation import PlanSimulator, round_up
from tideproof.plans.stopping_time import MOST_PROVEN, StoppingTime, default_runs, simulate_stopping
from tideproof.policies.policy_registry import policy
from tideproof.progress import progress_bar
from tideproof.text import format_count

_STEPS = 1500  # most simulated steps of an even split; larger budgets are simulated in blocks of pulls
_PROOF_STEPS = (
    30  # the same per arm for the proven rule, whose runs are five times as long and slower per step
)
_WORK = 30e6  # steps of all runs with five arms
_FEWEST, _MOST = 2_000, 15_000  # runs of each budget
_FEWEST_REQUESTED = 100  # runs of each budget that a caller may request

# Plans computed by this process. Only the ratios of gap and noise matter, so different requests may share
# one.
_plans: dict[tuple[Question, int | None, int], Plan] = {}


def answer_question(
    question: Question, asked: str, replications: int | None = None, seed: int = 0, progress: bool = False
) -> Plan:
    """Return the plan of a test with the given parameters, from this process's cache or by simulation."""
    key = question, replications, seed
    if key not in _plans:
        watch = (
            progress_bar("planning", 100.0, first="compiling") if progress else nullcontext(_ignore_progress)
        )
        with watch as show:
            _plans[key] = _simulate_plan(question, replications, seed, show)
    return replace(_plans[key], question_text=asked)


def _simulate_plan(
    question: Question, replications: int | None, seed: int, show: Callable[..., None]
) -> Plan:
    """Find by simulation how many pulls adaptive, even-split and early-stopping tests need."""
    guess = even_budget(question)
    if find_spec("numba") is None:
        raise MissingExtra(
            f"an even split needs about {format_count(guess, 'pull')} (approximation); other budgets are "
            "found by simulation, which requires numba: pip install 'tideproof[lab]'"
        )
    block = max(1, round(guess / _STEPS))
    runs = _runs(question.arms, guess / block) if replications is None else replications
    simulator = PlanSimulator(question, block, seed)
    contrast = question.contrast(0.7 * guess, block)
    show(5.0)
    contrast_counts = simulator.search(contrast, [0.35 * guess, 0.5 * guess, 0.7 * guess, guess], runs)
    show(50.0)
    even_counts = simulator.search(
        policy("round-robin+ols"), [0.5 * guess, 0.8 * guess, guess], max(runs // 2, 1)
    )
    show(70.0)
    contrast_budget = simulator.confirm(contrast, contrast_counts, runs)
    show(80.0)
    even = simulator.confirm(policy("round-robin+ols"), even_counts, runs)
    show(90.0)

    def stopping(rule: str, block: int) -> StoppingTime:
        default = default_runs(rule, question.arms)
        runs = default if replications is None else min(default, replications)
        return simulate_stopping(question, rule, guess, block, runs, simulator.simulate)

    calibrated = stopping("calibrated", block)
    show(95.0)
    coarse = max(block, round(guess / (_PROOF_STEPS * question.arms)))
    provable = question.rates is None and question.arms <= MOST_PROVEN  # there is no proof for conversions
    proven = stopping("proven", coarse) if provable else None
    curve = curve_table(block, {CONTRAST: contrast_counts, EVEN: even_counts})
    return Plan(question, contrast_budget, even, calibrated, proven, round_up(named_budget(question)), curve)


def _runs(arms: int, steps: float) -> int:
    """Return how many runs to simulate with each budget, so that planning takes a few seconds.

    `steps` is the number of steps of an even split. About five budgets are simulated, and a step costs
    O(arms).
    """
    cost = (
        0.7 * steps * arms
    )  # five budgets of 0.7 * steps on average, and arms / 5 times the work of five arms
    return int(min(max(_WORK / cost, _FEWEST), _MOST)) // 1000 * 1000


def _ignore_progress(done: float) -> None:
    """Do nothing; this function is called with the progress of a plan if no progress bar is shown."""


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
    """Find how many pulls a test needs, by simulating it in the least favourable world.

    In that world one arm is the best and all others are equal.

    Parameters
    ----------
    arms
        Number of arms.
    gap, sigma
        For means: the lead of the best arm, and the standard deviation of a reward (1 by default).
    rate, lift
        For conversions: the usual rate, and the relative lead of the best arm, such as 0.1 for 10 %.
    per_environment
        Number of pulls in one environment, such as the visitors of a day.
    error
        Allowed probability of selecting a wrong arm.
    log
        A pilot log in any form that `fit` accepts. The number of arms, sigma (or the rate) and the lengths
        of environments are taken from it unless they are given. If differences between arms vary from
        environment to environment in it, the plan says how many environments the test needs.
    arm, environment, reward
        Columns of the log.
    replications
        Number of simulated runs of each budget; by default as many as a few seconds allow.
    seed
        Random seed. The same seed gives the same plan.
    progress
        Whether to show a progress bar.

    Examples
    --------
    >>> import tideproof as tp
    >>> found = tp.plan(arms=3, gap=1.0, sigma=1.0, per_environment=20, error=0.1, replications=1000)
    >>> found.budget < found.even_split < found.calibrated_stop.mean
    True
    """
    return plan_with_names(
        str,
        arms=arms,
        gap=gap,
        sigma=sigma,
        rate=rate,
        lift=lift,
        per_environment=per_environment,
        error=error,
        log=log,
        columns=(arm, environment, reward),
        replications=replications,
        seed=seed,
        progress=progress,
    )


def plan_with_names(
    spell: Callable[[str], str],
    *,
    arms: int | None = None,
    gap: float | None = None,
    sigma: float | None = None,
    rate: float | None = None,
    lift: float | None = None,
    per_environment: int | None = None,
    error: float = 0.05,
    log: Any = None,
    columns: tuple[str | None, str | None, str | None] = (None, None, None),
    replications: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Plan:
    """Plan a test as `plan` does, but call each parameter `spell(parameter)` in error messages.

    `columns` are the columns of the log with the arm, the environment and the reward.
    """
    lengths: Any = per_environment
    omega = 0.0
    if log is not None:
        pilot = log if isinstance(log, Pilot) else pilot_of(log, *columns)
        arms = pilot.arms if arms is None else arms
        lengths = pilot.lengths if per_environment is None else per_environment
        omega = pilot.omega
        if lift is not None and rate is None:
            rate = pilot.checked_rate(spell)
        elif gap is not None and sigma is None:
            sigma = pilot.checked_sigma(spell)
    if replications is not None:
        require_whole_number(spell("replications"), replications, _FEWEST_REQUESTED)
    require_whole_number(spell("seed"), seed, 0, 2**53)
    question = make_question(
        arms=arms,
        gap=gap,
        sigma=sigma,
        rate=rate,
        lift=lift,
        lengths=lengths,
        error=error,
        omega=omega,
        spell=spell,
    )
    if question.rates is None:
        noise = 1.0 if sigma is None else sigma
        lead = f"{gap:g} (noise with standard deviation {noise:.4g})"
    else:
        lead = f"{100.0 * (lift or 0.0):g} % (conversion rate of the others {rate:.4g})"
    return answer_question(
        question, f"{question.arms} arms, one better by {lead}", replications, seed, progress
    )
