"""Write the table of docs/paper/instead.md: `contrast` with shifts against an oracle's best fixed plan without.

    python benchmarks/instead.py 4e6 docs/paper/instead.md

The table goes between two marks of the page, and its data into a file beside it. Without a page, the table is
printed. 4,000,000 replications need a GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tideproof as tp
from tideproof.files import read_text, replace_atomically, write_text_atomically
from tideproof.lab.study import Study
from tideproof.research.paper.oracle_yardstick import FRACTION, best_plan
from tideproof.research.paper.output_rounding import rounded
from tideproof.table import Table

SEED = 2028
CONFIGURATIONS = {"slippage": tp.slippage, "MDM": tp.mdm}
ARMS = (5, 10)
PULLS = (100, 200, 300)
FAMILY = 0.999  # probability with which all intervals of a column hold together
LEVEL = 1.0 - (1.0 - FAMILY) / (len(CONFIGURATIONS) * len(ARMS) * len(PULLS))
BEGIN, END = "<!-- begin: benchmarks/instead.py -->\n", "<!-- end: benchmarks/instead.py -->\n"


def rows(replications: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each configuration, number of arms and budget."""
    for name, configuration in CONFIGURATIONS.items():
        for arms in ARMS:
            shifted = tp.simulate(configuration(arms), ["contrast", "linlucb"], PULLS, replications, SEED)
            still = tp.simulate(configuration(arms, "stationary"), "contrast", PULLS, replications, SEED)
            difference = shifted.difference("contrast", "linlucb", confidence=LEVEL)
            for i, pulls in enumerate(PULLS):
                yield {
                    "configuration": name,
                    "arms": arms,
                    "pulls": pulls,
                    "replications": replications,
                    "oracle": best_plan(shifted.world.means, pulls, FRACTION).pics,
                    "oracle_whole_pulls": best_plan(shifted.world.means, pulls).pics,
                    **read("contrast", shifted, "contrast", i),
                    **read("contrast_no_shifts", still, "contrast", i),
                    **read("linlucb", shifted, "linlucb", i),
                    "contrast_minus_linlucb": float(difference.estimate[i]),
                    "contrast_minus_linlucb_low": float(difference.low[i]),
                    "contrast_minus_linlucb_high": float(difference.high[i]),
                }


def read(column: str, study: Study, policy: str, i: int) -> dict[str, Any]:
    low, high = study.interval(policy, LEVEL)
    return {
        column: float(study.pics(policy)[i]),
        f"{column}_low": float(low[i]),
        f"{column}_high": float(high[i]),
    }


def markdown(found: list[dict[str, Any]]) -> str:
    """Return the table as Markdown, and the outcomes of the comparisons."""
    head = (
        "arms, pulls",
        "oracle's plan, no shifts",
        "**`contrast`, shifts**",
        "`contrast`, no shifts",
        "LinLUCB, shifts",
        "`contrast`, shifts : oracle, none",
    )
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in found:
        cells = (
            f"{row['configuration']}, {row['arms']}, {row['pulls']}",
            digits(row["oracle"]),
            *(with_ends(row, column) for column in ("contrast", "contrast_no_shifts", "linlucb")),
            with_ends(row, "contrast", row["oracle"]),
        )
        lines.append("| " + " | ".join(cells) + " |")
    oracle = [(row["contrast_low"] - row["oracle"], row["contrast_high"] - row["oracle"]) for row in found]
    linlucb = [(row["contrast_minus_linlucb_low"], row["contrast_minus_linlucb_high"]) for row in found]
    return (
        "\n".join(lines)
        + f"\n\n{found[0]['replications']:,} replications. In brackets: intervals; the {len(found)} "
        f"of a column hold together with probability {100 * FAMILY:g} %.\n\n"
        f"* `contrast` under shifts against the oracle's plan without: {outcome(oracle)}.\n"
        f"* `contrast` against LinLUCB, both under shifts, paired: {outcome(linlucb)}.\n"
    )


def outcome(ends: list[tuple[float, float]]) -> str:
    """Return how many intervals lie below zero, above zero, and on both sides, in words."""
    less, more = sum(high < 0.0 for _, high in ends), sum(low > 0.0 for low, _ in ends)
    return f"fewer errors in {less} of {len(ends)} rows, more in {more}, not decided in {len(ends) - less - more}"


def with_ends(row: dict[str, Any], column: str, over: float = 1.0) -> str:
    value, low, high = (digits(row[name] / over) for name in (column, f"{column}_low", f"{column}_high"))
    return f"{value} [{low}, {high}]"


def digits(x: float) -> str:
    """Return a number as text with three significant digits, or two for a very small one."""
    if 0.0 < x < 1e-4:
        return f"{x:.1e}".replace("e-0", "e-")
    return f"{x:#.3g}" if 0.0 < x < 100.0 else f"{x:.0f}"


def put(page: Path, table: str) -> None:
    """Insert the table between the two marks of the page."""
    before, rest = read_text(page).split(BEGIN)
    write_text_atomically(page, f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}")


def report() -> Iterator[str]:
    """Yield the table from few replications."""
    yield f"## Instead\n\n{markdown(list(rows(2000)))}"


def main(replications: int, page: Path | None) -> None:
    found = list(rows(replications))
    print(markdown(found))
    if page is not None:
        put(page, markdown(found))
        with replace_atomically(page.with_name(f"{page.stem}-table.csv")) as path:
            rounded(Table({column: [row[column] for row in found] for column in found[0]})).to_csv(path)


if __name__ == "__main__":
    main(int(float(sys.argv[1])), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
