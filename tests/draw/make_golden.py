"""Write the golden files anew, after a picture was meant to change: `python tests/draw/make_golden.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from draw.describe import describe
from draw.describe_svg import describe_svg
from draw.samples import FIGURES, SVGS

FOLDER = Path(__file__).parent / "golden"
NAMES = [*SVGS, *FIGURES]


def path_of(name):
    """Return the path of a golden file."""
    return FOLDER / f"{name}.txt"


def description(name):
    """Return what the picture of this name shows now, as its golden file says it."""
    return describe_svg(SVGS[name]()) if name in SVGS else describe(FIGURES[name]())


if __name__ == "__main__":
    for name in NAMES:
        path_of(name).write_text(description(name), encoding="utf-8")
