"""Write pictures for the concept pages, from the examples on these pages: `python tools/site/pictures.py`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tideproof.draw.svg_picture import Picture

DOCS = Path(__file__).parent.parent.parent / "docs"


def example(page: str) -> dict[str, Any]:
    """Run the examples of a page and return the resulting names."""
    names: dict[str, Any] = {}
    lines = re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", (DOCS / page).read_text(), re.MULTILINE)
    exec("\n".join(lines), names)
    return names


def pictures() -> dict[str, str]:
    """Return each picture as SVG, by file name."""
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
