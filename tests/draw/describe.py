"""What a figure of matplotlib shows, for golden files: its panels, texts, series, data and colours by name.

Sizes, fonts, dashes and the place of a legend are left out, so that a change of them alone is no difference.
A number after `~` is a position on the page, which `same_description` compares coarsely.
"""

import re

import numpy as np
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex, to_rgba, to_rgba_array
from matplotlib.markers import MarkerStyle
from matplotlib.text import Annotation
from matplotlib.ticker import FixedLocator

from tideproof.draw import colour_palette

_NAMES = {
    to_hex(colour): name
    for name, colour in [
        *reversed(list(colour_palette.LIGHT.items())),
        *((f"series {i}", colour) for i, colour in enumerate(colour_palette.SERIES)),
        *((name.lower(), value) for name, value in vars(colour_palette).items() if name.isupper() and str(value)[0] == "#"),
    ]
}  # fmt: skip
_POSITION = re.compile(r"~(-?[\d.]+)( %)?")
_PERCENT, _VALUE = 3.0, 0.05  # how much positions may differ, in percent or in the units of an axis


def same_description(a, b):
    """Return whether two descriptions are the same, where positions may differ a little."""
    if _POSITION.sub(r"~\2", a) != _POSITION.sub(r"~\2", b):
        return False
    return all(
        abs(float(x) - float(y)) <= (_PERCENT if unit else _VALUE)
        for (x, unit), (y, _) in zip(_POSITION.findall(a), _POSITION.findall(b), strict=True)
    )


def describe(figure):
    """Return the figure as text, one line for each element, in the order in which they were drawn."""
    lines = [line for legend in figure.legends for line in _legend(legend)]
    for i, axes in enumerate(figure.axes):
        lines += ["", f"panel {i} {_grid_cell(axes)}", *(f"  {line}" for line in _panel(axes))]
        for inset in axes.child_axes:
            lines += [f"  inset of panel {i}", *(f"    {line}" for line in _panel(inset))]
    return "\n".join(lines).lstrip("\n") + "\n"


def _grid_cell(axes):
    spec = axes.get_subplotspec()
    found = f"in row {spec.rowspan.start}, column {spec.colspan.start}"
    for name, group in (("x", axes.get_shared_x_axes()), ("y", axes.get_shared_y_axes())):
        others = sorted(
            axes.figure.axes.index(other) for other in group.get_siblings(axes) if other is not axes
        )
        found += f", {name} shared with panels {others}" if others else ""
    return found


def _panel(axes):
    axes.get_xlim(), axes.get_ylim()  # these set the limits, which positions of texts depend on
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        yield f"{name} {axis.get_scale()} {axis.label.get_text()!r}" + ("" if axes.axison else " hidden")
        if isinstance(axis.get_major_locator(), FixedLocator):
            labels = [label.get_text() for label in axis.get_ticklabels()]
            yield f"  labels {labels} at {_numbers(axis.get_ticklocs())}"
    for where in ("left", "center", "right"):
        if axes.get_title(where):
            yield f"title {axes.get_title(where)!r}"
    if axes.get_legend():
        yield from _legend(axes.get_legend())
    for line in axes.lines:
        yield f"line {_label(line)} x {_numbers(line.get_xdata())} y {_numbers(line.get_ydata())} {_look(line)}{_hidden(line)}"
    for area in axes.collections:
        yield f"{_collection(area)} {_label(area)} {_colours(area)}"
    for patch in axes.patches:
        yield f"patch {_numbers(patch.get_bbox().extents)} {_colours(patch)}"
    for text in filter(lambda text: text.get_text(), axes.texts):
        transform = axes.transData if isinstance(text, Annotation) else text.get_transform()
        on_page = transform.transform(text.get_position())
        x, y = 100.0 * axes.transAxes.inverted().transform(on_page)
        yield f"text {text.get_text()!r} at ~{x:.0f} % ~{y:.0f} % {_colour(text.get_color())}"


def _legend(legend):
    for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
        look = _look(handle) if hasattr(handle, "get_marker") else _colours(handle)
        yield f"legend {text.get_text()!r} {look}"


def _look(line):
    """Return colour, dashes and marker of a line; a line without dashes consists of its markers only."""
    marker, dashes = str(line.get_marker()), str(line.get_linestyle())
    face = tuple(np.ravel(to_rgba_array(line.get_markerfacecolor())))
    hollow = face == (1.0, 1.0, 1.0, 1.0)
    marks = "" if marker == "None" else f" marks {'hollow ' if hollow else ''}{marker}"
    colour = line.get_color() if dashes != "None" else line.get_markeredgecolor() if hollow else face
    return _colour(np.ravel(to_rgba_array(colour))) + ("" if dashes == "None" else f" {dashes}") + marks


def _hidden(line):
    """Return how many points of a line lie outside its panel."""
    points = np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)
    points = points[np.isfinite(points).all(axis=1)]
    at = (
        line.axes.transAxes.inverted().transform(line.get_transform().transform(points))
        if len(points)
        else points
    )
    outside = ((at < -0.001) | (at > 1.001)).any(axis=-1).sum()
    return f", {outside} outside" if outside else ""


def _collection(area):
    paths = area.get_paths()
    if isinstance(area, PathCollection):
        return f"marks {_marker(paths[0])} at {_numbers(np.ravel(area.get_offsets()))}"
    kind = {LineCollection: "lines", PolyCollection: "area"}
    (name,) = (kind[each] for each in kind if isinstance(area, each))
    return f"{name} " + "; ".join(_numbers(np.unique(path.vertices, axis=0).ravel()) for path in paths)


def _marker(path):
    """Return matplotlib's letter for the marker with this outline."""
    for letter in ("o", "s", "^", "D", "*", "v"):
        style = MarkerStyle(letter)
        outline = style.get_path().transformed(style.get_transform()).vertices
        if outline.shape == path.vertices.shape and np.allclose(outline, path.vertices):
            return letter
    raise ValueError("an unknown marker; add its letter here")


def _label(artist):
    label = artist.get_label()
    return repr("" if label.startswith("_") else label)


def _colour(colour):
    name, opaque = _NAMES[to_hex(colour)], to_rgba(colour)[3] == 1.0
    return name if opaque else f"transparent {name}"


def _colours(area):
    """Return the colours that fill an area, or those of its lines if nothing is filled."""
    face = np.atleast_2d(area.get_facecolor())
    colours = face if face.size else np.atleast_2d(area.get_edgecolor())
    return " and ".join(sorted({_colour(tuple(colour)) for colour in colours}))


def _numbers(values):
    return "[" + " ".join(f"{float(value) + 0.0:.6g}" for value in values) + "]"
