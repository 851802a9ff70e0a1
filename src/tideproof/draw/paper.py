"""The pictures that are no curves of PICS: a run, the arm graph, and the theory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from tideproof.draw.figure import in_house_style, subplots
from tideproof.draw.palette import FAINT, INK, NOTE, PAPER, RAW, SHADE, TIDE
from tideproof.draw.styles import of_arms
from tideproof.table import Table


@in_house_style
def draw_run(table: Table, means: Sequence[float]) -> Any:
    """Draw the rewards of a run, by arm, over the levels `means` that the environments shift."""
    figure, axes = subplots(1, 1, (8.4, 4.4))
    step, environment, shift = (np.array(table[name]) for name in ("step", "environment", "shift"))
    arm, reward = np.array(table["arm"]), np.array(table["reward"])
    looks = of_arms()
    for j in range(environment[-1] + 1):
        inside = step[environment == j]
        left, right = inside[0] - 0.5, inside[-1] + 0.5
        if j % 2:
            axes.axvspan(left, right, color=SHADE, zorder=0)
        for i, mean in enumerate(means):
            level = mean + shift[environment == j][0]
            axes.hlines(level, left, right, color=looks[i].colour, linewidth=1.2, zorder=1)
    for i, look in enumerate(looks):
        axes.scatter(
            step[arm == i], reward[arm == i], look.size, look.colour, marker=look.marker,
            label=f"arm {i + 1}", edgecolors=INK, linewidths=0.5, zorder=2,
        )  # fmt: skip
    axes.set(xlabel="pull", ylabel="reward", xlim=(-0.5, len(step) + 1.5))
    axes.set_title("environments alternate in shade", fontsize=9, loc="right", color=NOTE)
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


@in_house_style
def draw_graph(table: Table) -> Any:
    """Draw the arm graph after each environment, one row a policy."""
    names = list(dict.fromkeys(table["policy"]))
    last = max(table["environment"])
    figure, grid = subplots(len(names), last + 1, (8.4, 5.6), squeeze=False)
    for line, name in zip(grid, names, strict=True):
        for j, axes in enumerate(line):
            played = [
                [row["arm"] for row in table if row["policy"] == name and row["environment"] == past]
                for past in range(j + 1)
            ]
            _arms(axes, played)
            path = " → ".join(str(arm + 1) for arm in played[-1])
            axes.set_title(f"environment {j + 1}: {path}", fontsize=9)
        line[0].text(-1.75, 0.0, name, rotation=90, va="center", ha="center", fontweight="bold")
    return figure


def _arms(axes: Any, played: list[list[int]]) -> None:
    """Draw five arms, joined where an environment saw both; edges of the last one are dark."""
    turn = [math.pi / 2 - 2 * math.pi * i / 5 for i in range(5)]
    at = [(math.cos(t), math.sin(t)) for t in turn]
    for past, arms in enumerate(played):
        new = past == len(played) - 1
        for a, b in combinations(sorted(set(arms)), 2):
            style = {"color": INK, "linewidth": 2.2} if new else {"color": FAINT, "linewidth": 1.4}
            axes.plot(*zip(at[a], at[b], strict=True), zorder=2 if new else 1, **style)
    seen = {arm for arms in played for arm in arms}
    for i, (x, y) in enumerate(at):
        face, ink = (TIDE, PAPER) if i in seen else (PAPER, INK)
        axes.plot(x, y, "o", markersize=19, color=face, markeredgecolor=INK, zorder=3)
        axes.text(x, y, str(i + 1), color=ink, ha="center", va="center", zorder=4)
    axes.set(xlim=(-1.5, 1.5), ylim=(-1.35, 1.35), aspect="equal")
    axes.axis("off")


@in_house_style
def draw_theorem(table: Table) -> Any:
    """Draw the variances of a mean and of a difference against the number of environments.

    A row has design, environments, quantity, exact, and where it was simulated: simulated, low, high.
    """
    names = list(dict.fromkeys(table["design"]))
    figure, grid = subplots(1, len(names), (13.0, 3.9), sharey=True)
    for axes, name in zip(grid, names, strict=True):
        _growth(axes, table, name, "Var(mu_1)", TIDE, "-", "o", "variance of a mean")
        _growth(axes, table, name, "Var(difference)", RAW, "--", "s", "variance of a difference of two means")
        _growth(axes, table, name, "1/m_1", INK, ":", "", "1/m_1, one over the first environment's size")
        axes.set_title(name, fontsize=10, loc="left")
    grid[0].set_ylabel("variance, sigma = 1")
    _legend(figure, grid[0], 3)
    return figure


@in_house_style
def draw_conjecture(table: Table) -> Any:
    """Draw the range of covariances of shifts and of variances of means, and one of each simulated."""
    names = list(dict.fromkeys(table["design"]))
    figure, grid = subplots(2, len(names), (13.0, 6.4), sharex="col")
    lines = (("Cov(s_j, s_m)", "Cov(s_2, s_3)"), ("Var(mu_i)", "Var(mu_1)"))
    for line, (every, one) in zip(grid, lines, strict=True):
        for axes, name in zip(line, names, strict=True):
            x, low = _series(table, name, f"smallest {every}", "exact")
            _, high = _series(table, name, f"largest {every}", "exact")
            axes.fill_between(x, low, high, color=TIDE, alpha=0.3, linewidth=0, label="all, by formula")
            _growth(axes, table, name, one, TIDE, "-", "o", "one of them")
            _growth(axes, table, name, "1/m_1", INK, ":", "", "1/m_1")
            axes.set_yscale("linear")
            axes.set_ylim(bottom=min(0.0, min(low)))
        line[0].set_ylabel(f"{every}, sigma = 1")
    for axes, name in zip(grid[0], names, strict=True):
        axes.set_xlabel("")
        axes.set_title(name, fontsize=10, loc="left")
    _legend(figure, grid[0, 0], 3)
    return figure


def _growth(
    axes: Any, table: Table, name: str, quantity: str, colour: str, line: str, marker: str, label: str
) -> None:
    """Draw a quantity by formula, and with a marker by simulation, with its interval."""
    x, exact = _series(table, name, quantity, "exact")
    axes.plot(x, exact, color=colour, linestyle=line, linewidth=1.6, label=label)
    if marker:
        _, simulated = _series(table, name, quantity, "simulated")
        low, high = (np.array(_series(table, name, quantity, end)[1], float) for end in ("low", "high"))
        reach = simulated - low, high - simulated
        axes.errorbar(
            x, simulated, reach, fmt=marker, color=colour, markersize=4.5, capsize=2, markeredgecolor=INK,
            markeredgewidth=0.4, label=f"{label}, simulated",
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="environments")
    axes.grid(alpha=0.25, which="major", linewidth=0.6)


def _series(table: Table, name: str, quantity: str, column: str) -> tuple[list[Any], list[Any]]:
    rows = [row for row in table if row["design"] == name and row["quantity"] == quantity]
    return [row["environments"] for row in rows], [row[column] for row in rows]


def _legend(figure: Any, axes: Any, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
