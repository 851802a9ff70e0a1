"""What the figures of the paper and the demo share: their style, how they are begun, and how they are saved.

Nothing is changed for others who draw in the same process: the style holds inside `house_style` only.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tideproof.draw.palette import INK, PAPER
from tideproof.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_STYLE: dict[Any, Any] = {
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


def house_style() -> AbstractContextManager[Any]:
    """Return a context in which to draw and to save, or say which extra brings matplotlib."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra.of("matplotlib", "plot", "drawing") from None
    return matplotlib.rc_context(_STYLE)


def in_house_style(draw: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a function that draws or saves in this style."""

    @wraps(draw)
    def styled(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        with house_style():
            return draw(*args, **options)

    return styled


def subplots(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """Return a new figure of that size, in inches, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


@in_house_style
def save(figure: Any, *paths: Path, tight: bool = True) -> None:
    """Write the figure, without a date so that the same data give the same file."""
    for path in paths:
        metadata = {"Date": None} if path.suffix == ".svg" else None
        box = "tight" if tight else None
        figure.savefig(path, dpi=150, bbox_inches=box, facecolor=PAPER, metadata=metadata)
        figure.set_layout_engine("none")  # what the first drawing arranged stays
