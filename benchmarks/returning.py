"""Labels that come back, such as weekdays: the cost of treating each visit as a new environment.

    python benchmarks/returning.py --runs 200

Five arms (MDM), seven labels in turn, each with a constant shift, visits of several lengths, 140 pulls in
all. First, errors of live tests with `contrast`: `labels` keeps one shift for each label, `both` starts a
new one at every visit. Then, without a policy, the root mean square error of contrasts of arms drawn at
random: least squares with a shift for each label, with a shift for each visit, and with the known tide.
"""

from __future__ import annotations

import argparse

import numpy as np

import tideproof as tp

ARMS, LABELS, PULLS, SPREAD = 5, 7, 140, 5.0


def selected(tide: str, stay: int, seed: int) -> int:
    """Run a live test and return the selected arm."""
    random = np.random.default_rng(seed)
    levels = SPREAD * random.standard_normal(LABELS)
    run = tp.Experiment([str(arm) for arm in range(ARMS)], budget=PULLS, tide=tide, seed=seed)
    for step in range(PULLS):
        label = step // stay % LABELS
        pull = run.ask(environment=f"label {label}")
        run.tell(pull, 0.5 * int(pull.arm) + levels[label] + random.standard_normal())
    return int(run.recommend().arm)


def squared_errors(stay: int, seed: int) -> list[float]:
    """Return the mean squared error of contrasts to the first arm: by label, by visit, and with the known tide."""
    random = np.random.default_rng(seed)
    arm, visit = random.integers(ARMS, size=PULLS), np.arange(PULLS) // stay
    noise = random.standard_normal(PULLS)
    found = []
    for group in (visit % LABELS, visit, np.zeros(PULLS, int)):
        design = np.hstack([np.eye(ARMS)[arm], np.eye(group.max() + 1)[group]])
        error = np.linalg.lstsq(design, noise, rcond=None)[0]
        found.append(float(np.mean((error[1:ARMS] - error[0]) ** 2)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    print(
        "| pulls a visit | wrong, labels | wrong, both | error, by label | by visit | known tide |\n|---|---|---|---|---|---|"
    )
    for stay in (1, 2, 5, 10, 20):
        wrong = [
            sum(selected(tide, stay, seed) != ARMS - 1 for seed in range(given.runs)) / given.runs
            for tide in ("labels", "both")
        ]
        errors = np.sqrt(np.mean([squared_errors(stay, seed) for seed in range(20 * given.runs)], axis=0))
        cells = [f"{x:.3f}" for x in (*wrong, *errors)]
        cells[3] = cells[3] if stay > 1 else "nothing is learned"
        print(f"| {stay} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
