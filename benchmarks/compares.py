"""Other libraries in the same worlds and on the same log; docs/compares.md shows the output.

    python benchmarks/compares.py [runs]

Each library chooses 200 pulls among five arms, one of which is better by a standard deviation, and then
names the best arm in its own way. First there are no shifts. Then a new day adds 0 to 20 to all rewards
after every ten pulls.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tideproof as tp
from lab import processor, table
from tideproof.lab.share_intervals import binomial

ARMS = ["A", "B", "C", "D", "E"]
BEST = "C"
PULLS, DAY = 200, 10
ROWS, DAYS = 100_000, 365

Play = Callable[
    [int, Callable[[str, int], float]], str
]  # called with a seed and the world, which returns the reward of an arm at a step


def world(seed: int, shifts: bool) -> Callable[[str, int], float]:
    random = np.random.default_rng(seed)
    tide = random.uniform(0.0, 20.0, PULLS // DAY) if shifts else np.zeros(PULLS // DAY)
    noise = random.normal(size=PULLS)
    return lambda arm, step: float((arm == BEST) + tide[step // DAY] + noise[step])


def tideproof(seed: int, reward: Callable[[str, int], float]) -> str:
    run = tp.Experiment(ARMS, budget=PULLS, seed=seed)
    for step in range(PULLS):
        pull = run.ask(environment=step // DAY)
        run.tell(pull, reward(pull.arm, step))
    return str(run.recommend().arm)


def hidden(seed: int, reward: Callable[[str, int], float]) -> str:
    run = tp.Experiment(ARMS, budget=PULLS, seed=seed)
    for step in range(PULLS):
        pull = run.ask()
        run.tell(pull, reward(pull.arm, step))
    return str(run.recommend().arm)


def river(policy: Any) -> Play:
    def play(seed: int, reward: Callable[[str, int], float]) -> str:
        made = policy(seed)
        for step in range(PULLS):
            arm = made.pull(ARMS)
            made.update(arm, reward(arm, step))
        return str(made.ranking[0])

    return play


def mabwiser(policy: Any) -> Play:
    from mabwiser.mab import MAB

    def play(seed: int, reward: Callable[[str, int], float]) -> str:
        made = MAB(ARMS, policy, seed=seed)
        first = [(arm, reward(arm, step)) for step, arm in enumerate(ARMS)]
        made.fit([arm for arm, _ in first], [x for _, x in first])
        for step in range(len(ARMS), PULLS):
            arm = made.predict()
            made.partial_fit([arm], [reward(arm, step)])
        expected = made.predict_expectations()
        return str(max(expected, key=expected.get))

    return play


def optuna(seed: int, reward: Callable[[str, int], float]) -> str:
    import optuna as library

    library.logging.set_verbosity(library.logging.ERROR)
    study = library.create_study(direction="maximize", sampler=library.samplers.TPESampler(seed=seed))
    for step in range(PULLS):
        trial = study.ask()
        study.tell(trial, reward(trial.suggest_categorical("arm", ARMS), step))
    return str(study.best_params["arm"])


def methods() -> Iterator[tuple[str, Play]]:
    from mabwiser.mab import LearningPolicy
    from river import bandit, stats

    yield "tideproof, `Experiment`, days told", tideproof
    yield "tideproof, `Experiment`, nothing told", hidden
    yield "river, `bandit.UCB(delta=1)`", river(lambda seed: bandit.UCB(delta=1.0, seed=seed))
    yield (
        "river, `bandit.EpsilonGreedy(0.1)`",
        river(lambda seed: bandit.EpsilonGreedy(0.1, reward_obj=stats.Mean(), seed=seed)),
    )
    yield "MABWiser, `LearningPolicy.UCB1()`", mabwiser(LearningPolicy.UCB1())
    yield "MABWiser, `LearningPolicy.EpsilonGreedy()`", mabwiser(LearningPolicy.EpsilonGreedy())
    yield "Optuna, `TPESampler`, `best_params`", optuna


def played(runs: int) -> Iterator[list[str]]:
    for name, play in methods():
        play(0, world(0, True))  # imports and compiles before the clock starts
        row, seconds = [name], []
        for shifts in (False, True):
            wrong = 0
            for seed in range(runs):
                reward = world(seed, shifts)
                start = time.perf_counter()
                wrong += play(seed, reward) != BEST
                seconds.append(time.perf_counter() - start)
            found = binomial(np.array([wrong]), runs, 0.95)
            row.append(f"{wrong / runs:.3f} ({float(found.low[0]):.3f} to {float(found.high[0]):.3f})")
        yield [*row, f"{1e6 * min(seconds) / PULLS:,.0f}"]


def log() -> dict[str, Any]:
    random = np.random.default_rng(1)
    day = np.sort(random.integers(DAYS, size=ROWS))
    arm = random.integers(len(ARMS), size=ROWS)
    sales = 0.05 * (arm == 2) + random.normal(0.0, 5.0, DAYS)[day] + random.normal(size=ROWS)
    return {"arm": np.array(ARMS)[arm], "day": day, "sales": sales}


def fitted() -> Iterator[list[str]]:
    import pandas
    import pyfixest
    import statsmodels.formula.api as formulas

    data = log()
    frame = pandas.DataFrame(data)

    def ours() -> float:
        return tp.fit(data, arm="arm", environment="day", reward="sales").contrast("C", "A").estimate

    def fixest() -> float:
        return float(pyfixest.feols("sales ~ C(arm) | day", frame).coef()["C(arm)[T.C]"])

    def models() -> float:
        return float(formulas.ols("sales ~ C(arm) + C(day)", frame).fit().params["C(arm)[T.C]"])

    for name, task, rounds in (
        ("tideproof, `tp.fit`, scale and candidates too", ours, 5),
        ('pyfixest, `feols("sales ~ C(arm) \\| day")`', fixest, 5),
        ('statsmodels, `ols("sales ~ C(arm) + C(day)")`', models, 2),
    ):
        estimate, best = task(), float("inf")
        for _ in range(rounds):
            start = time.perf_counter()
            task()
            best = min(best, time.perf_counter() - start)
        yield [name, f"{estimate:.6f}", f"{best:.3f}"]


def report(runs: int) -> Iterator[str]:
    yield f"{processor()}; {runs:,} runs of {PULLS} pulls each."
    yield table(
        "Share of wrongly named arms (exact 95 % confidence intervals), and the time of a pull.",
        ["library", "nothing moves", "days move", "µs a pull"],
        list(played(runs)),
    )
    yield table(
        f"C against A in a log of {ROWS:,} rows, five arms, {DAYS} days, and the time of the computation.",
        ["library", "estimate", "s"],
        list(fitted()),
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in report(int(sys.argv[1]) if len(sys.argv) > 1 else 200):
        print(part, end="\n\n", flush=True)
