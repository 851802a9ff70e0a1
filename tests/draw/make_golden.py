"""Write the golden files anew, after a picture was meant to change: `python tests/draw/make_golden.py`."""

import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def golden():
    """Return name and text of every golden file."""
    from draw.describe import describe
    from draw.samples import figures, svgs

    made = {f"{name}.svg": svg.replace("><", ">\n<") + "\n" for name, svg in svgs().items()}
    return made | {f"{name}.txt": describe(figure) for name, figure in figures().items()}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    for name, text in golden().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
