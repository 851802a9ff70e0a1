"""What all figures share: one palette that survives a grey printer, and saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tideproof.errors import MissingExtra

INK = "#22313f"
TIDE = "#2a6f97"
RAW = "#d1495b"
QUIET = "#9aa5b1"


def pyplot() -> Any:
    """Return matplotlib.pyplot, ready to draw without a screen, or say which extra brings it."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra.of("matplotlib", "plot", "drawing") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "text.color": INK,
            "svg.hashsalt": "tideproof",
        }
    )
    return plt


def save(figure: Any, *paths: Path, tight: bool = True) -> None:
    """Write the figure, without a date so that the same data give the same file."""
    for path in paths:
        metadata = {"Date": None} if path.suffix == ".svg" else None
        box = "tight" if tight else None
        figure.savefig(path, dpi=150, bbox_inches=box, facecolor="white", metadata=metadata)
        figure.set_layout_engine("none")  # what the first drawing arranged stays
    pyplot().close(figure)
