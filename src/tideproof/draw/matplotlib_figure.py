"""Shared functions for matplotlib pictures: styles, new figures, and saving.

There are two styles: one for screens, and one for print, with figures at their true size. A style is only
active within `style_context`, so that other matplotlib code in the process is not affected.
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
        """Type of matplotlib figures that notebooks can display, for type checkers."""

        def save(self, path: str | os.PathLike[str]) -> None:
            """Save the figure as a PNG, SVG or PDF file."""

        def _repr_png_(self) -> bytes: ...


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

COLUMN, PAGE = 3.4, 7.1  # width of one and of two columns of a journal, in inches

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
# The fonts are part of matplotlib, so that the same data give the same file everywhere. Journals require
# complete fonts in a PDF (type 42), not drawings of letters (type 3).
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


def style_context(style: dict[Any, Any] = HOUSE) -> AbstractContextManager[Any]:
    """Return a context manager that activates a matplotlib style; raise an error without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra.for_module("matplotlib", "plot", "drawing") from None
    return matplotlib.rc_context(style)


def _in_style(style: dict[Any, Any], draw: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a function that calls the plotting function `draw` while a matplotlib style is active."""

    @wraps(draw)
    def drawn(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        with style_context(style):
            return draw(*args, **options)

    return drawn


def in_house_style(draw: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a plotting function so that its pictures have the matplotlib style for screens."""
    return _in_style(HOUSE, draw)


def in_print_style(draw: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a plotting function so that its figures have the matplotlib style for print."""
    return _in_style(PRINT, draw)


@cache
def _figure_class() -> Any:
    """Return the subclass of matplotlib's `Figure` that notebooks display, importing matplotlib."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """matplotlib figure that notebooks display, with a method `save`."""

        def save(self, path: str | os.PathLike[str]) -> None:
            """Save the figure as a PNG, SVG or PDF file."""
            check_picture_path(path)
            self.savefig(path, dpi=160)

        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png", dpi=110)
            return file.getvalue()

    return NotebookFigure


def new_figure(size: tuple[float, float]) -> Figure:
    """Return a new empty matplotlib figure with the given size in inches."""
    figure: Figure = _figure_class()(figsize=size, layout="constrained")
    return figure


def new_subplots(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """Return a new matplotlib figure with the given size in inches, and its grid of axes."""
    figure = new_figure(size)
    return figure, figure.subplots(rows, columns, **options)


def panel_letter(number: int) -> str:
    """Return the letter of a figure's panel, such as "(a)" for number 0."""
    return f"({chr(ord('a') + number)})"


def use_plain_numbers(axis: Any, more: bool = True) -> None:
    """Label the ticks of a logarithmic axis with plain numbers instead of powers of ten.

    With `more`, minor ticks are labelled, too, if the axis spans few powers of ten.
    """
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
    """Save a matplotlib picture for screens to one or more paths, cropped to its content."""
    _write(figure, paths, dpi=150, bbox_inches="tight")


@in_print_style
def save_for_print(figure: Any, *paths: Path) -> None:
    """Save a matplotlib figure for print at its true size to one or more paths."""
    _write(figure, paths, dpi=240)


def _write(figure: Any, paths: tuple[Path, ...], **options: Any) -> None:
    """Save a matplotlib figure without a date, so that the same data give the same file."""
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    for path in paths:
        figure.savefig(path, facecolor=PAPER, metadata=undated.get(path.suffix), **options)
        figure.set_layout_engine("none")  # all files share the layout of the first
