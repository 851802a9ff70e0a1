"""Write the golden files anew, after a picture was meant to change: `python tests/draw/make_golden.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from draw.describe import describe
from draw.samples import FIGURES, SVGS

FOLDER = Path(__file__).parent / "golden"
NAMES = [*(f"{name}.svg" for name in SVGS), *(f"{name}.txt" for name in FIGURES)]


def golden(file):
    """Return the text of a golden file."""
    name, kind = file.split(".")
    return SVGS[name]().replace("><", ">\n<") + "\n" if kind == "svg" else describe(FIGURES[name]())


if __name__ == "__main__":
    for name in NAMES:
        (FOLDER / name).write_text(golden(name), encoding="utf-8")
