"""Errors of `contrast` with an interaction of arms and environments in its model, as tables and as a picture.

    python benchmarks/interaction.py --replications 100000 --picture docs/pictures/interaction.svg

Five and ten arms, both configurations, environments of 5 to 50 pulls, 40 and 100 pulls an arm, omega of 0.5
and 1 sigma: errors relative to plain `contrast` (paired), and to a policy that knows omega. With
`--picture`: PICS against omega. With `--outliers`: 5 % of cells off by 20 sigmas, `robust:contrast`, and a
policy that knows these cells.
"""

import argparse
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from oracle_noise import informed_policy
from told_cells import told_cells

import tideproof as tp
from tideproof.core.kernel_linker import kernel

POLICY = "auto:contrast"
LENGTHS = (5, 50)
SEED = 24
OMEGAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
LINES = {
    "round-robin+ols": "round robin",
    "linlucb": "linlucb",
    "contrast": "contrast",
    POLICY: "contrast, interaction",
}


@cache
def known_omega(omega):
    """Return `contrast` with a known standard deviation of the interaction."""
    variance = float(omega * omega)

    @kernel
    def noise(arm):
        return 1.0

    @kernel
    def ratio(f):
        return variance

    return informed_policy(POLICY, f"omega {variance}:", noise, ratio)


def table(replications, oracle, engine):
    logs = []
    for make in (tp.mdm, tp.slippage):
        for arms in (5, 10):
            for omega in (0.5, 1.0):
                world = replace(make(arms), lengths=LENGTHS, interaction=omega)
                policies = ["contrast", POLICY, *([known_omega(omega)] if oracle else [])]
                study = tp.simulate(
                    world, policies, [40 * arms, 100 * arms], replications, SEED, engine=engine
                )
                ratio = study.ratio(POLICY, "contrast", 0.998)
                told = study.ratio("told", "contrast").estimate if oracle else [np.nan, np.nan]
                for b, budget in enumerate(study.budgets):
                    logs.append(np.log([ratio.estimate[b], told[b]]))
                    print(
                        f"| {make.__name__} | {arms} | {omega} | {budget} | {study.pics('contrast')[b]:.4f} | "
                        f"{study.pics(POLICY)[b]:.4f} | {ratio.estimate[b]:.3f} | {ratio.low[b]:.3f} | "
                        f"{told[b]:.3f} |",
                        flush=True,
                    )
    ours, told = np.exp(np.mean(logs, axis=0))
    print(f"geometric mean {ours:.3f}, with known omega {told:.3f}")


def outliers(replications, engine):
    """Print PICS without and with outlying cells; the policy of the last line knows these cells by their size."""
    for make in (tp.mdm, tp.slippage):
        world = make(5)
        for policy, size in (("contrast", 20.0), ("robust:contrast", 20.0), (told_cells(), 1e6)):
            wrong = replace(world, outliers=tp.worlds.Outliers(0.05, size))
            studies = [
                tp.simulate(w, [policy], [200], replications, SEED, engine=engine) for w in (world, wrong)
            ]
            clean, off = (study.pics(study.policies[0])[0] for study in studies)
            print(f"| {make.__name__} | {studies[0].policies[0]} | {clean:.5f} | {off:.5f} |", flush=True)


def picture(replications, path, engine):
    found = {label: [] for label in LINES}
    for omega in OMEGAS:
        study = tp.simulate(
            replace(tp.slippage(5), lengths=LENGTHS, interaction=omega),
            list(LINES),
            [500],
            replications,
            SEED,
            engine=engine,
        )
        for label in LINES:
            found[label].append(float(study.pics(label)[0]))
    for label, values in found.items():
        print(f"| {LINES[label]} |", " | ".join(f"{value:.4f}" for value in values), "|")
    draw(found, replications, path)


def draw(found, replications, path):
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "tideproof"
    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for (label, values), line, marker in zip(found.items(), ("-", "-", "-", "--"), "os^D", strict=True):
        axes.plot(OMEGAS, values, line, marker=marker, label=LINES[label])
    axes.set_yscale("log")
    axes.set_xlabel("omega: what an environment does to each arm alone, in sigmas")
    axes.set_ylabel("probability of incorrect selection")
    axes.set_title(f"slippage, 5 arms, 500 pulls; {replications:,} replications", fontsize=9, loc="right")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    print(f"picture: {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--outliers", action="store_true")
    parser.add_argument("--no-oracle", action="store_true")
    parser.add_argument("--engine", default="auto")
    given = parser.parse_args()
    if given.outliers:
        outliers(given.replications, given.engine)
    elif given.picture:
        picture(given.replications, given.picture, given.engine)
    else:
        table(given.replications, not given.no_oracle, given.engine)
