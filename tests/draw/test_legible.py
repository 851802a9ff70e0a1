"""Figures of the paper can be read in print: checked without eyes, on the data in docs/paper."""

import csv
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("numba")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from tideproof.draw.matplotlib_figure import COLUMN, PAGE, PRINT, style_context
from tideproof.research.paper import panels as named
from tideproof.research.paper.contrast_comparison import ORACLE
from tideproof.research.paper.figure_entries import FIGURES
from tideproof.table import Table

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "paper"
NAMES = [*(figure.name for figure in FIGURES), "tails"]
CURVES = [name for name in NAMES if name not in ("fig1", "fig3", "theorem1", "conjecture")]
SMALLEST = 6.5  # points


def value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None


def tails():
    """The benchmark that draws the picture of rare errors."""
    spec = spec_from_file_location("tails", ROOT / "benchmarks" / "tails.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def picture(name, monkeypatch):
    if name == "tails":
        monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
        benchmark = tails()
        return benchmark.draw(benchmark.kept(DATA / "tails.csv", []))
    with open(DATA / f"{name}.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = Table({column: [value(row[column]) for row in rows] for column in rows[0]})
    return next(figure for figure in FIGURES if figure.name == name).draw(table)


class Drawn:
    """A figure as it was drawn: its texts with their places, in points."""

    def __init__(self, figure):
        self.figure, self.texts, self.scale = figure, [], 72.0 / figure.dpi
        self.size = figure.get_size_inches() * 72.0

    def place(self, box):
        return Bbox(box.get_points() * self.scale)


@pytest.fixture(scope="module")
def draw():
    """Return a function that draws a figure once and notes every text that is drawn."""

    @cache
    def drawn(name):
        with pytest.MonkeyPatch.context() as patch, style_context(PRINT):
            made = Drawn(picture(name, patch))
            canvas = FigureCanvasAgg(made.figure)
            canvas.draw()  # arranges
            whole = Text.draw

            def noted(self, renderer):
                if self.get_visible() and self.get_text():
                    made.texts.append((self, made.place(self.get_window_extent(renderer))))
                whole(self, renderer)

            patch.setattr(Text, "draw", noted)
            canvas.draw()
        return made

    return drawn


def panels(figure):
    """Every pair of axes, insets too."""
    return [each for axes in figure.axes for each in (axes, *axes.child_axes)]


def curves(axes):
    return [line for line in axes.lines if line.get_marker() != "None"]


def meet(a, b, least=0.5):
    """Whether two boxes share more than half a point in both directions."""
    both = Bbox.intersection(a, b)
    return both is not None and both.width > least and both.height > least


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_fits_a_journal_and_its_letters_are_large_enough(draw, name):
    made = draw(name)
    width, height = made.figure.get_size_inches()
    narrow = any(figure.name == name and figure.narrow for figure in FIGURES)
    assert width == (COLUMN if narrow else PAGE)
    assert height < 9.0
    assert made.texts
    for text, _ in made.texts:
        assert text.get_fontsize() >= SMALLEST, text.get_text()


@pytest.mark.parametrize("name", NAMES)
def test_no_text_covers_another_or_leaves_the_page(draw, name):
    made = draw(name)
    for text, box in made.texts:
        assert box.x0 > -0.5, text.get_text()
        assert box.y0 > -0.5, text.get_text()
        assert box.x1 < made.size[0] + 0.5, text.get_text()
        assert box.y1 < made.size[1] + 0.5, text.get_text()
    for (a, first), (b, second) in combinations(made.texts, 2):
        assert not meet(first, second), (a.get_text(), b.get_text())


@pytest.mark.parametrize("name", NAMES)
def test_legends_and_insets_cover_no_data(draw, name):
    made = draw(name)
    renderer = made.figure.canvas.get_renderer()
    for legend in made.figure.legends:
        for axes in made.figure.axes:
            assert not meet(legend.get_window_extent(renderer), axes.bbox)
    for axes in made.figure.axes:
        for inset in axes.child_axes:
            box = inset.get_tightbbox(renderer)
            for line in axes.lines:
                assert not inside(line.get_transform().transform(fine(line)), box).any()


def fine(line):
    """The points of a line, and many between them."""
    x, y = (np.asarray(values, float) for values in line.get_data())
    along = np.linspace(0, len(x) - 1, 20 * len(x))
    return np.column_stack([np.interp(along, range(len(x)), values) for values in (x, y)])


def inside(points, box):
    x, y = points.T
    return (x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1)


@pytest.mark.parametrize("name", CURVES)
def test_names_of_policies_are_those_of_the_ledger(draw, name):
    ledger = {spec.label for panel in named.panels().values() for spec in panel.policies}
    ledger |= {named.SER3, ORACLE, *(f"{label}, stationary" for label in (*ledger, named.SER3))}
    ledger |= {"SR, reduced", "top-two Thompson"}  # which no claim is about
    (legend,) = draw(name).figure.legends
    assert {text.get_text().replace("$", "") for text in legend.get_texts()} <= ledger


@pytest.mark.parametrize("name", CURVES)
def test_no_curve_hides_another(draw, name):
    """Curves that come closer than their width must differ in it, the wider below, or be dashed above."""
    for axes in panels(draw(name).figure):
        for a, b in combinations(curves(axes), 2):
            below, above = sorted((a, b), key=lambda line: line.get_zorder())
            first, second = (dict(zip(*line.get_data(), strict=True)) for line in (below, above))
            common = sorted(first.keys() & second.keys())
            if len(common) < 2:
                continue
            places = [axes.transData.transform([(x, ys[x]) for x in common])[:, 1] for ys in (first, second)]
            near = np.abs(places[0] - places[1]) * 72.0 / axes.figure.dpi < 0.5
            if near.mean() > 0.5:
                wider = below.get_linewidth() > above.get_linewidth() + 0.4
                assert wider or above.is_dashed(), (axes.get_title("left"), below.get_color())


@pytest.mark.parametrize("name", CURVES)
def test_axes_end_where_data_end(draw, name):
    made = draw(name)
    rows = {}
    for axes in made.figure.axes:
        if axes.get_yscale() == "log":
            rows.setdefault(axes.get_subplotspec().rowspan.start, []).append(axes)
    for row in rows.values():
        (limits,) = {axes.get_ylim() for axes in row}
        seen = [
            y
            for axes in row
            for line in axes.lines
            for x, y in zip(*line.get_data(), strict=True)
            if x <= axes.get_xlim()[1] and limits[0] < y < limits[1]
        ]
        assert np.log10(min(seen) / limits[0]) < 0.5  # decades; the band of the last point lies between
        assert np.log10(limits[1] / max(seen)) < 0.25
