"""Pictures of the concepts, from the examples beside them: `python tools/site/pictures.py` (make docs)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tideproof.draw.svg_picture import Picture

DOCS = Path(__file__).parent.parent.parent / "docs"


def example(page: str) -> dict[str, Any]:
    """Return the names that the examples of a page leave behind."""
    names: dict[str, Any] = {}
    lines = re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", (DOCS / page).read_text(), re.MULTILINE)
    exec("\n".join(lines), names)
    return names


def pictures() -> dict[str, str]:
    """Return each picture as SVG, by its name."""
    fit = example("concepts/tide.md")["fit"].plot()
    run = example("concepts/stopping.md")["run"].plot()
    said, arms, tide, gaps = fit.said, *fit.panels
    return {
        "tide.svg": Picture(said, [arms, tide]).svg,
        "contrast.svg": Picture(said, [gaps]).svg,
        "stopping.svg": Picture(run.said, run.panels[:2]).svg,
    }


if __name__ == "__main__":
    for name, svg in pictures().items():
        (DOCS / "pictures" / name).write_text(svg)
