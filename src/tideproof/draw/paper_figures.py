"""Figures for a reproduced paper: rewards of one run, graphs of connected arms, variances of estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from tideproof.draw.colour_palette import FAINT, INK, PAPER, RAW, SHADE, TIDE
from tideproof.draw.line_styles import arm_styles
from tideproof.draw.matplotlib_figure import (
    COLUMN,
    PAGE,
    in_print_style,
    new_subplots,
    panel_letter,
    use_plain_numbers,
)
from tideproof.table import Table

_ACROSS = 4  # number of panels per row
_NOTE = (
    "lines: by formula; marks: simulated, with 95 % intervals (about one in twenty misses); "
    "vertical axes differ"
)
_DASHED, _DOTTED = (0, (3.2, 1.6)), (0, (1, 1.3))


@in_print_style
def draw_run(table: Table, means: Sequence[float], policy: str) -> Any:
    """Draw a figure of the rewards in one run of a policy, by arm, with each environment's expected rewards.

    `means` are the means of the arms without shifts.
    """
    figure, axes = new_subplots(1, 1, (PAGE, 3.0))
    step, environment, shift = (np.array(table[name]) for name in ("step", "environment", "shift"))
    arm, reward = np.array(table["arm"]), np.array(table["reward"])
    looks = arm_styles()
    for j in range(environment[-1] + 1):
        inside = step[environment == j]
        left, right = inside[0] - 0.5, inside[-1] + 0.5
        if j % 2:
            axes.axvspan(left, right, color=SHADE, zorder=0)
        axes.text(
            (left + right) / 2, 1.02, f"$s_{{{j + 1}}}$", transform=axes.get_xaxis_transform(), ha="center"
        )
        for i, mean in enumerate(means):
            level = mean + shift[environment == j][0]
            axes.hlines(level, left, right, color=looks[i].colour, linewidth=0.8, zorder=1)
    handles: dict[str, Any] = {}
    for i, look in enumerate(looks):
        marks = axes.scatter(
            step[arm == i], reward[arm == i], look.size, look.colour, marker=look.marker,
            edgecolors=INK, linewidths=0.4, zorder=2,
        )  # fmt: skip
        (line,) = axes.plot([], [], color=look.colour, linewidth=0.8)
        handles[rf"arm {i + 1}, $\mu_{i + 1} = {means[i]:g}$"] = (line, marks)
    axes.set(xlabel="pull", ylabel="reward", xlim=(step[0] - 1.5, step[-1] + 1.5))
    axes.set_title(f"One run of {policy}", pad=14)
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=len(looks),
        title=r"marks: rewards; lines: expected rewards, $\mu_i + s_j$ in environment $j$", title_fontsize=8,
    )  # fmt: skip
    return figure


@in_print_style
def draw_graph(table: Table) -> Any:
    """Draw graphs of which arms have shared an environment, after each environment and for each policy.

    Arms are connected by a line from the first environment that they share. Each policy has a row of panels.
    """
    names = list(dict.fromkeys(table["policy"]))
    across = max(table["environment"]) + 1
    figure, grid = new_subplots(len(names), across, (COLUMN, 1.32 * len(names)), squeeze=False)
    for start, line, name in zip(range(0, grid.size, across), grid, names, strict=True):
        for j, axes in enumerate(line):
            played = [
                [row["arm"] for row in table if row["policy"] == name and row["environment"] == past]
                for past in range(j + 1)
            ]
            _arms(axes, played)
            path = r" \rightarrow ".join(str(arm + 1) for arm in played[-1])
            axes.set_title(f"{panel_letter(start + j)} environment {j + 1}\n${path}$", loc="center")
        line[0].text(-1.6, 0.0, name, rotation=90, va="center", ha="center")
    return figure


def _arms(axes: Any, played: list[list[int]]) -> None:
    """Draw a graph of five arms with an edge between each two that were pulled in the same environment.

    Edges of the last environment are dark.
    """
    turn = [math.pi / 2 - 2 * math.pi * i / 5 for i in range(5)]
    at = [(math.cos(t), math.sin(t)) for t in turn]
    for past, arms in enumerate(played):
        new = past == len(played) - 1
        for a, b in combinations(sorted(set(arms)), 2):
            style = {"color": INK, "linewidth": 1.4} if new else {"color": FAINT, "linewidth": 0.9}
            axes.plot(*zip(at[a], at[b], strict=True), zorder=2 if new else 1, **style)
    seen = {arm for arms in played for arm in arms}
    for i, (x, y) in enumerate(at):
        face, ink = (TIDE, PAPER) if i in seen else (PAPER, INK)
        axes.plot(x, y, "o", markersize=10, color=face, markeredgecolor=INK, markeredgewidth=0.6, zorder=3)
        axes.text(x, y, str(i + 1), color=ink, ha="center", va="center_baseline", zorder=4)
    axes.set(xlim=(-1.35, 1.35), ylim=(-1.15, 1.25), aspect="equal")
    axes.axis("off")


@in_print_style
def draw_theorem(table: Table) -> Any:
    """Draw variances of an estimated mean and of a difference of means against the number of environments.

    The columns of `table` are design, environments, quantity, exact; for simulated quantities also simulated,
    low, high; and the pair of arms of the difference.
    """
    names = list(dict.fromkeys(table["design"]))
    lines = -(-len(names) // _ACROSS)
    figure, grid = new_subplots(lines, _ACROSS, (PAGE, 0.6 + 1.8 * lines), squeeze=False)
    for number, (axes, name) in enumerate(zip(grid.flat, names, strict=False)):
        handles = {
            r"$\mathrm{Var}(\hat\mu_1)$": _growth(axes, table, name, "Var(mu_1)", TIDE, "-", "o"),
            r"$\mathrm{Var}(\hat\mu_i - \hat\mu_k)$": _growth(
                axes, table, name, "Var(difference)", RAW, _DASHED, "s"
            ),
            "$1/m_1$": _growth(axes, table, name, "1/m_1", INK, _DOTTED),
        }
        (pair,) = {row["pair"] for row in table if row["design"] == name}
        axes.set_title(_titled(number, name, f"$i, k = {pair}$"), linespacing=1.0)
        axes.set_yscale("log")
        use_plain_numbers(axes.yaxis)
        axes.set_xlabel("environments")
    for axes in grid[:, 0]:
        axes.set_ylabel(r"variance $/\,\sigma^2$")
    _finish(figure, grid, handles, _NOTE)
    return figure


@in_print_style
def draw_conjecture(table: Table) -> Any:
    """Draw covariances of estimated shifts and variances of means against the number of environments.

    Bands show the range over all shifts and arms; simulated values are points.
    """
    names = list(dict.fromkeys(table["design"]))
    lines = -(-len(names) // _ACROSS)
    figure, grid = new_subplots(2 * lines, _ACROSS, (PAGE, 0.6 + 3.3 * lines), squeeze=False)
    rows = (
        ("Cov(s_j, s_m)", "Cov(s_2, s_3)", r"$\mathrm{Cov}(\hat s_j, \hat s_m)\,/\,\sigma^2$"),
        ("Var(mu_i)", "Var(mu_1)", r"$\mathrm{Var}(\hat\mu_i)\,/\,\sigma^2$"),
    )
    for half, (every, one, words) in enumerate(rows):
        for number, (axes, name) in enumerate(zip(grid[half::2].flat, names, strict=False)):
            x, low = _series(table, name, f"smallest {every}", "exact")
            _, high = _series(table, name, f"largest {every}", "exact")
            handles = {
                r"all $\mathrm{Cov}(\hat s_j, \hat s_m)$, $\mathrm{Var}(\hat\mu_i)$": axes.fill_between(
                    x, low, high, color=TIDE, alpha=0.25, linewidth=0
                ),
                r"$\mathrm{Cov}(\hat s_2, \hat s_3)$, $\mathrm{Var}(\hat\mu_1)$": _growth(
                    axes, table, name, one, TIDE, "-", "o"
                ),
                "$1/m_1$": _growth(axes, table, name, "1/m_1", INK, _DOTTED),
            }
            axes.set_title(_titled(half * len(names) + number, name), linespacing=1.0)
            axes.set_xlabel("environments" if half else "")
        for axes in grid[half::2, 0]:
            axes.set_ylabel(words)
    _finish(figure, grid, handles, f"bands and {_NOTE}")
    return figure


def _growth(
    axes: Any, table: Table, name: str, quantity: str, colour: str, line: Any, marker: str = ""
) -> Any:
    """Draw exact variances or covariances as a line and, if `marker` is given, simulated values as points.

    Returns the handles for the legend.
    """
    x, exact = _series(table, name, quantity, "exact")
    (formula,) = axes.plot(x, exact, color=colour, linestyle=line, linewidth=1.0)
    axes.set_xscale("log")
    use_plain_numbers(axes.xaxis, more=False)
    axes.grid(True)
    if not marker:
        return formula
    _, simulated = _series(table, name, quantity, "simulated")
    low, high = (np.array(_series(table, name, quantity, end)[1], float) for end in ("low", "high"))
    marks = axes.errorbar(
        x, simulated, (simulated - low, high - simulated), fmt=marker, color=colour, markersize=3.0,
        capsize=1.6, elinewidth=0.7, capthick=0.7, markeredgecolor=INK, markeredgewidth=0.4,
    )  # fmt: skip
    return formula, marks


def _series(table: Table, name: str, quantity: str, column: str) -> tuple[list[Any], list[Any]]:
    """Return numbers of environments and, for each of them, a variance or covariance in one test design."""
    rows = [row for row in table if row["design"] == name and row["quantity"] == quantity]
    return [row["environments"] for row in rows], [row[column] for row in rows]


def _titled(number: int, name: str, *more: str) -> str:
    """Return the title of a panel, broken into two lines at its comma or in the middle."""
    words = f"{panel_letter(number)} {name[:1].upper()}{name[1:].replace('worst-case', 'worst case')}".split()
    commas = (i for i, word in enumerate(words, 1) if word.endswith(","))
    half = next(commas, (len(words) + 1) // 2)
    return " ".join(words[:half]) + "\n" + ", ".join([" ".join(words[half:]), *more])


def _finish(figure: Any, grid: Any, handles: dict[str, Any], note: str) -> None:
    """Remove unused axes from a figure, and add one legend with a note below the panels."""
    for axes in grid.flat:
        if not axes.has_data():
            axes.remove()
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=len(handles),
        title=note,
        title_fontsize=8,
    )
