"""Errors of `Experiment` for several ways of running a live test, compared with the plain way.

    python benchmarks/live.py 2000                # the table of docs/experiment.md, some minutes on two cores
    python benchmarks/live.py 400 MDM plain lost  # fewer runs, one world, two ways

Every way meets the same worlds in each run: the same environments, shifts and noise of each step. Ratios
are paired. The last rows come from the compiled lab.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

import tideproof as tp
from lab import table
from tideproof.lab.share_intervals import binomial, paired_ratio

BUDGET, ARMS, SEED, BATCH = 200, 5, 18, 20
LARGE = 200  # rewards of one summary, in the way with few pulls and many rewards
NAMES = [str(arm) for arm in range(ARMS)]
SIGMA = 2.0  # large enough for errors to be frequent
WORLDS = {"MDM": tp.mdm(ARMS, sigma=SIGMA), "slippage": tp.slippage(ARMS, sigma=SIGMA)}


class Course:
    """One simulated course of a world: the current environment, and the noise of each step.

    With `days`, every environment is a tenth of the budget long.
    """

    def __init__(self, world: tp.World, number: int, days: bool = False) -> None:
        random = np.random.default_rng([SEED, number])
        self.means = world.means
        shortest, longest = (BUDGET // 10,) * 2 if days else world.lengths
        lengths = random.integers(shortest, longest, 2 * BUDGET, endpoint=True)
        self.environment = np.repeat(np.arange(2 * BUDGET), lengths).tolist()
        self.shift = random.uniform(0.0, 20.0, 2 * BUDGET).tolist()
        self.noise = SIGMA * random.standard_normal(2 * BUDGET)
        self.lost = random.random(2 * BUDGET) < 0.1
        self.step = 0

    @property
    def label(self) -> int:
        return self.environment[self.step]

    @property
    def left(self) -> int:
        """Return the number of steps before the environment changes."""
        return self.environment.index(self.label + 1) - self.step

    def play(self, pull: tp.Pull) -> float:
        """Return the reward of a pull that was asked for in the current environment, and advance one step."""
        reward = self.means[int(pull.arm)] + self.shift[pull.environment] + self.noise[self.step]
        self.step += 1
        return reward


def best(run: tp.Experiment) -> int:
    """Return the arm that an experiment would select."""
    arm = run.recommend().arm
    return -1 if arm is None else int(arm)


def plain(course: Course, seed: int) -> int:
    """Ask and tell one by one, each reward before the next pull."""
    run = tp.Experiment(NAMES, budget=BUDGET, seed=seed)
    while run.remaining:
        pull = run.ask(environment=course.label)
        run.tell(pull, course.play(pull))
    return best(run)


def batches(course: Course, seed: int, size: int = BATCH, summaries: bool = False) -> int:
    """Ask for up to `size` pulls of one environment together; tell them one by one or as summaries of arms."""
    run = tp.Experiment(NAMES, budget=BUDGET, seed=seed)
    while run.remaining:
        label = course.label
        pulls = run.ask(n=min(size, course.left, run.remaining), environment=label)
        rewards = [course.play(pull) for pull in pulls]
        if not summaries:
            run.tell_many(pulls, rewards)
            continue
        for arm in dict.fromkeys(pull.arm for pull in pulls):
            own = [reward for pull, reward in zip(pulls, rewards, strict=True) if pull.arm == arm]
            variance = float(np.var(own, ddof=1)) if len(own) > 1 else None
            run.tell_summary(
                arm=arm, environment=label, n=len(own), mean=float(np.mean(own)), variance=variance
            )
    return best(run)


def late(course: Course, seed: int, arm: int | None = None) -> int:
    """Add one arm when half of the budget is spent, a different one in each run unless `arm` is given."""
    newcomer = NAMES[seed % ARMS if arm is None else arm]
    run = tp.Experiment([name for name in NAMES if name != newcomer], budget=BUDGET, seed=seed)
    while run.remaining:
        if run.remaining == BUDGET // 2 and newcomer not in run.arms:
            run.add_arm(newcomer)
        pull = run.ask(environment=course.label)
        run.tell(pull, course.play(pull))
    return best(run)


def lost(course: Course, seed: int, cancels: bool = True) -> int:
    """Lose a tenth of the rewards; cancel their pulls, or leave them pending for ever."""
    run = tp.Experiment(NAMES, budget=BUDGET, seed=seed)
    while run.remaining:
        gone = course.lost[course.step]
        pull = run.ask(environment=course.label)
        reward = course.play(pull)
        if not gone:
            run.tell(pull, reward)
        elif cancels:
            run.cancel(pull)
    return best(run)


def control(course: Course, seed: int) -> int:
    """Give at least a fifth of the pulls to the first arm, which is not the best."""
    run = tp.Experiment(NAMES, budget=BUDGET, seed=seed, minimum_shares={NAMES[0]: 0.2})
    while run.remaining:
        pull = run.ask(environment=course.label)
        run.tell(pull, course.play(pull))
    return best(run)


def shares(course: Course, seed: int) -> int:
    """Ask for nothing: split each day by the experiment's shares and tell a summary of each arm."""
    run = tp.Experiment(NAMES, budget=BUDGET, seed=seed)
    while course.step < BUDGET:
        label, day = course.label, BUDGET // 10
        counts = {arm: round(share * day) for arm, share in run.shares(environment=label, n=day).items()}
        for arm, n in counts.items():
            own = [course.play(tp.Pull("", arm, label)) for _ in range(n)]
            if own:
                variance = float(np.var(own, ddof=1)) if n > 1 else None
                run.tell_summary(arm=arm, environment=label, n=n, mean=float(np.mean(own)), variance=variance)
    return best(run)


def few_pulls(course: Course, seed: int) -> int:
    """Let each pull stand for 200 rewards with accordingly more noise, told as one summary."""
    random = np.random.default_rng([SEED + 1, seed])
    run = tp.Experiment(NAMES, budget=BUDGET, seed=seed)
    while run.remaining:
        pull = run.ask(environment=course.label)
        variance = SIGMA**2 * LARGE * random.chisquare(LARGE - 1) / (LARGE - 1)
        run.tell_summary(
            arm=pull.arm, environment=pull.environment, n=LARGE, mean=course.play(pull), variance=variance
        )
    return best(run)


Way = Callable[[Course, int], int]
DAYS = ("days", "days-batches", "shares")
WAYS: dict[str, tuple[str, Way, str]] = {  # name: description, function, name of the way to compare with
    "plain": ("one by one", plain, ""),
    "batches": ("asked in batches of 20, told one by one", batches, "plain"),
    "summaries": ("the same batches, told as a summary an arm", partial(batches, summaries=True), "batches"),
    "days": ("ten environments of a tenth of the budget, one by one", plain, ""),
    "days-batches": (
        "ten environments, each asked as one batch",
        partial(batches, size=BUDGET // 10),
        "days",
    ),
    "shares": ("ten environments, split by shares, nothing asked for", shares, "days"),
    "control": ("a control arm with at least 20 %", control, "plain"),
    "late": ("an arm, any, joins half-way", late, "plain"),
    "late-best": ("the best arm joins half-way", partial(late, arm=ARMS - 1), "plain"),
    "lost": ("10 % of rewards lost, their pulls cancelled", lost, "plain"),
    "never": ("10 % of rewards lost, pulls left pending", partial(lost, cancels=False), "plain"),
    "few-pulls": ("each pull told as a summary of 200 rewards, noise times √200", few_pulls, "plain"),
}


def wrong(world: str, way: str, number: int) -> bool:
    """Return whether one run selects a wrong arm."""
    course = Course(WORLDS[world], number, days=way in DAYS)
    return WAYS[way][1](course, number) not in WORLDS[world].best


def rows(runs: int, chosen: list[str]) -> Iterator[list[str]]:
    """Yield the rows of the table, for all worlds and ways or for the chosen ones."""
    worlds = [name for name in WORLDS if name in chosen] or list(WORLDS)
    ways = [way for way in WAYS if way in chosen] or list(WAYS)
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for name in worlds:
            found: dict[str, np.ndarray] = {}
            for way in ways:
                words, _, against = WAYS[way]
                found[way] = np.fromiter(pool.map(partial(wrong, name, way), range(runs), chunksize=20), bool)
                yield [name, words, share(found[way].sum(), runs), error_ratio(found, way, against)]
            if ways == list(WAYS):
                yield from compiled(name, WORLDS[name], runs)


def compiled(name: str, world: tp.World, runs: int) -> Iterator[list[str]]:
    """Yield the lab's results for the plain way, and for as many single rewards as the summaries stand for."""
    noisy = tp.World(
        world.means, SIGMA * LARGE**0.5, tuple(LARGE * each for each in world.lengths), world.shifts
    )
    cases = {
        "lab: one by one": (world, BUDGET, 50 * runs),
        f"lab: {LARGE * BUDGET:,} single rewards, noise times √200": (noisy, LARGE * BUDGET, 2 * runs),
    }
    for words, (played, budget, times) in cases.items():
        study = tp.simulate(played, ["contrast"], [budget], times, SEED)
        yield [name, words, share(study.errors("contrast")[0], times), ""]


def share(errors: int, runs: int) -> str:
    low, high = (float(end[0]) for end in binomial(np.array([errors]), runs, 0.95))
    return f"{errors / runs:.4f} ({low:.4f} to {high:.4f})"


def error_ratio(found: dict[str, np.ndarray], way: str, against: str) -> str:
    if against not in found:
        return ""
    a, b = found[way], found[against]
    counts = (np.array([np.sum(each)]) for each in (a, b, a & b))
    estimate, low, high = (float(each[0]) for each in paired_ratio(*counts, 0.95))
    return f"{estimate:.3f} ({low:.3f} to {high:.3f}) of {WAYS[against][0]}"


def report(runs: int = 200, chosen: list[str] | None = None) -> Iterator[str]:
    """Yield the table as Markdown."""
    header = ["world", "how it is run", "wrong arm, 95 % interval", "relative to, paired"]
    title = f"{runs:,} runs of {BUDGET} pulls, {ARMS} arms, noise {SIGMA:g}, `contrast`."
    yield "## Ways to run a live test\n\n" + table(title, header, list(rows(runs, chosen or [])))


if __name__ == "__main__":
    for part in report(int(float(sys.argv[1])), sys.argv[2:]):
        print(part)
