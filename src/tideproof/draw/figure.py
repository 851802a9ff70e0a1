"""What all figures of matplotlib share: how it is set up, and saving."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tideproof.draw.palette import INK, PAPER
from tideproof.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure


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
        figure.savefig(path, dpi=150, bbox_inches=box, facecolor=PAPER, metadata=metadata)
        figure.set_layout_engine("none")  # what the first drawing arranged stays
    pyplot().close(figure)
