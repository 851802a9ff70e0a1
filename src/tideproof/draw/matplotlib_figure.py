"""What pictures of matplotlib share: their style, how they are begun, and how they are saved.

There are two styles: the house's, for screens, and one for print, where a figure has the size that it will
have on paper. Nothing is changed for others who draw in the same process: a style holds inside `styled` only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, wraps
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tideproof.draw.colour_palette import INK, PAPER
from tideproof.errors import MissingExtra
from tideproof.files import check_picture_path

if TYPE_CHECKING:
    from matplotlib import figure as drawn

    class Figure(drawn.Figure):
        """What `_shown` makes."""

        def save(self, path: str | os.PathLike[str]) -> None:
            """Write it as png, svg or pdf."""

        def _repr_png_(self) -> bytes: ...


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

COLUMN, PAGE = 3.4, 7.1  # inches: the width of one column of a journal, and of two

HOUSE: dict[Any, Any] = {
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
# Letters come with matplotlib, so that the same data give the same file anywhere; journals want them whole
# in a PDF (type 42), not as drawings (type 3).
PRINT: dict[Any, Any] = {
    **HOUSE,
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titlepad": 4,
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.labelpad": 2,
    "axes.linewidth": 0.6,
    "axes.grid.which": "major",
    "grid.alpha": 0.3,
    "grid.linewidth": 0.4,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.borderpad": 0.1,
    "legend.borderaxespad": 0.1,
    "legend.handlelength": 2.4,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.4,
    "legend.labelspacing": 0.3,
    "pdf.fonttype": 42,
}


def styled(style: dict[Any, Any] = HOUSE) -> AbstractContextManager[Any]:
    """Return a context in which to draw and to save, or say which extra brings matplotlib."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra.for_module("matplotlib", "plot", "drawing") from None
    return matplotlib.rc_context(style)


def _in_style(style: dict[Any, Any], draw: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    @wraps(draw)
    def drawn(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        with styled(style):
            return draw(*args, **options)

    return drawn


def in_house_style(draw: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a function that draws or saves for screens."""
    return _in_style(HOUSE, draw)


def in_print_style(draw: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a function that draws or saves at the size of a journal."""
    return _in_style(PRINT, draw)


@cache
def _shown() -> Any:
    """Return matplotlib's figure, which shows itself in a notebook, too; made when matplotlib is there."""
    from matplotlib.figure import Figure

    class Shown(Figure):
        """A figure that shows itself, and is saved by the suffix of a path."""

        def save(self, path: str | os.PathLike[str]) -> None:
            """Write it as png, svg or pdf."""
            check_picture_path(path)
            self.savefig(path, dpi=160)

        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png", dpi=110)
            return file.getvalue()

    return Shown


def blank(size: tuple[float, float]) -> Figure:
    """Return a new figure of that size, in inches."""
    figure: Figure = _shown()(figsize=size, layout="constrained")
    return figure


def subplots(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """Return a new figure of that size, in inches, and its axes."""
    figure = blank(size)
    return figure, figure.subplots(rows, columns, **options)


def letter(number: int) -> str:
    """Return the letter of the panel of that number, counted from 0."""
    return f"({chr(ord('a') + number)})"


def plain_numbers(axis: Any, more: bool = True) -> None:
    """Write the numbers of a log scale out, and if wanted more of them where it spans few powers of ten."""
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    low, high = axis.get_view_interval()
    if more and high < 100.0 * low:
        axis.set_minor_locator(
            LogLocator(subs=(1.5, 2.0, 3.0, 4.0, 6.0, 8.0) if high < 10.0 * low else (2.0, 5.0))
        )
        axis.set_minor_formatter(StrMethodFormatter("{x:g}"))


@in_house_style
def save(figure: Any, *paths: Path) -> None:
    """Write a picture for screens, cut to what is drawn."""
    _write(figure, paths, dpi=150, bbox_inches="tight")


@in_print_style
def save_for_print(figure: Any, *paths: Path) -> None:
    """Write a figure at its true size."""
    _write(figure, paths, dpi=240)


def _write(figure: Any, paths: tuple[Path, ...], **options: Any) -> None:
    """Write the figure, without a date so that the same data give the same file."""
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    for path in paths:
        figure.savefig(path, facecolor=PAPER, metadata=undated.get(path.suffix), **options)
        figure.set_layout_engine("none")  # what the first drawing arranged stays
