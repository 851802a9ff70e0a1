"""A figure of matplotlib in words: every line, area and text with its numbers, for golden files."""

import numpy as np
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex


def describe(figure):
    """Return the figure as text, one line an artist; numbers to six digits."""
    lines = [f"figure {_numbers(figure.get_size_inches())} {type(figure.get_layout_engine()).__name__}"]
    lines += map(_legend, figure.legends)
    for i, axes in enumerate(figure.axes):
        lines += ["", f"axes {i} {_place(axes)}"] + [f"  {line}" for line in _axes(axes)]
        for inset in axes.child_axes:
            lines += [f"inset {i} {_numbers(inset.get_position().bounds)}"]
            lines += [f"  {line}" for line in _axes(inset)]
    return "\n".join(lines) + "\n"


def _place(axes):
    spec = axes.get_subplotspec()
    grid = spec.get_gridspec()
    rows, columns = (f"{s.start}-{s.stop}" for s in (spec.rowspan, spec.colspan))
    ratios = grid.get_height_ratios()
    shared = [axes.figure.axes.index(other) for other in axes.get_shared_y_axes().get_siblings(axes)]
    same = [axes.figure.axes.index(other) for other in axes.get_shared_x_axes().get_siblings(axes)]
    return f"row {rows} column {columns} heights {_numbers(ratios)} y of {sorted(shared)} x of {sorted(same)}"


def _axes(axes):
    yield f"x {axes.get_xscale()} {_numbers(axes.get_xlim())} {_text(axes.xaxis.label)}"
    yield f"y {axes.get_yscale()} {_numbers(axes.get_ylim())} {_text(axes.yaxis.label)}"
    yield f"minor {type(axes.yaxis.get_minor_locator()).__name__} aspect {axes.get_aspect()} on {axes.axison}"
    yield f"spines {[side for side, spine in axes.spines.items() if spine.get_visible()]}"
    yield f"ticks {axes.yaxis.get_tick_params().get('labelsize')} labels {[t.get_text() for t in axes.get_xticklabels()][:5]}"
    grid = axes.yaxis.get_gridlines()[0]
    yield f"grid {grid.get_visible()} {_numbers([grid.get_alpha() or 1, grid.get_linewidth()])}"
    # matplotlib returns only the texts of titles publicly, not their fonts
    titles = {"left": axes._left_title, "center": axes.title, "right": axes._right_title}  # noqa: SLF001
    for where in titles:
        if axes.get_title(where):
            yield f"title {where} {_text(titles[where])}"
    if axes.get_legend():
        yield _legend(axes.get_legend())
    for line in axes.lines:
        dashes = line._unscaled_dash_pattern  # noqa: SLF001 - the public getter has no dash lengths
        yield (
            f"line {_label(line)!r} {_numbers(line.get_xdata())} {_numbers(line.get_ydata())} {_colour(line.get_color())} "
            f"{line.get_linestyle()} {dashes} {line.get_linewidth()} {line.get_marker()} {line.get_markersize()} "
            f"{_colour(line.get_markerfacecolor())} {_colour(line.get_markeredgecolor())} {line.get_markeredgewidth()} "
            f"every {line.get_markevery()} z {line.get_zorder()} clip {line.get_clip_on()}"
        )
    for area in axes.collections:
        paths = "; ".join(_numbers(np.unique(path.vertices, axis=0).ravel()) for path in area.get_paths())
        extra = _numbers(area.get_sizes()) if hasattr(area, "get_sizes") else ""
        offsets = _numbers(np.ravel(area.get_offsets()))
        yield (
            f"{_kind(area)} {_label(area)!r} {paths} at {offsets} size {extra} face {_colours(area.get_facecolor())} "
            f"edge {_colours(area.get_edgecolor())} {_numbers(area.get_linewidth())} z {area.get_zorder()}"
        )
    for patch in axes.patches:
        yield f"patch {_numbers(patch.get_bbox().extents)} {_colours([patch.get_facecolor()])} z {patch.get_zorder()}"
    for text in axes.texts:
        yield f"text {_numbers(text.get_position())} {_text(text)} {text.get_rotation()} {text.get_ha()} {text.get_va()} z {text.get_zorder()}"


def _kind(area):
    for kind, name in ((LineCollection, "lines"), (PathCollection, "marks"), (PolyCollection, "area")):
        if isinstance(area, kind):
            return name
    raise TypeError(type(area))


def _label(artist):
    label = artist.get_label()
    return "" if label.startswith("_") else label


def _legend(legend):
    words = [text.get_text() for text in legend.get_texts()]
    sizes = {text.get_fontsize() for text in legend.get_texts()}
    outside = getattr(legend, "_outside_loc", None)
    columns, location = legend._ncols, legend._loc  # noqa: SLF001 - matplotlib has no public getters
    return f"legend {words} {sizes} columns {columns} frame {legend.get_frame_on()} {location} {outside}"


def _text(text):
    return f"{text.get_text()!r} {text.get_fontsize():g} {text.get_fontweight()} {_colour(text.get_color())}"


def _colour(colour):
    return colour if colour in ("auto", "none") else to_hex(colour, keep_alpha=True)


def _colours(colours):
    return sorted({to_hex(colour, keep_alpha=True) for colour in colours})


def _numbers(values):
    return "[" + " ".join(f"{float(value):.6g}" for value in values) + "]"
