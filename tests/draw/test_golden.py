"""Every picture shows what it showed when somebody last looked at it: texts, data, series, colours and their order.

Where a legend stands and how large a font is may change: `describe.py` leaves that out or compares it coarsely.
"""

from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib")

from draw import samples
from draw.describe import describe, same_description
from draw.describe_svg import describe_svg
from draw.make_golden import FOLDER, NAMES, description, path_of


def stored(name):
    return path_of(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_as_it_was(name):
    found = description(name)
    if not same_description(found, stored(name)):
        assert found == stored(name), "look at it, then run make_golden.py"


def test_there_are_no_others():
    assert sorted(path_of(name) for name in NAMES) == sorted(FOLDER.iterdir())


def set_of(name, value):
    return lambda e: e.set(name, value)


def moved(name, by):
    return lambda e: e.set(name, str(float(e.get(name)) + by))


@pytest.mark.parametrize(
    ("what", "name", "class_", "index", "edit"),
    [
        ("a longer bar", "arms", "bar", 0, moved("x2", 10.0)),
        ("a dot at another value", "tide", "dot", 1, moved("cy", -10.0)),
        ("a dot of another environment", "tide", "dot", 1, moved("cx", 100.0)),
        ("the colour of other arms", "arms", "dot", 2, set_of("class", "dot candidate")),
        ("a label of another environment", "gaps", "label", 8, moved("x", 200.0)),
        ("a number at another grid line", "gaps", "label", 2, moved("y", 36.0)),
        ("a lost label", "gaps", "label", 8, lambda e: setattr(e, "text", "")),
        ("a thinner line", "meetings", "edge", 0, moved("stroke-width", -1.0)),
        ("a line to another arm", "meetings", "edge", 2, moved("y2", 110.0)),
    ],
)
def test_a_wrong_chart_is_noticed(what, name, class_, index, edit):
    root = ElementTree.fromstring(samples.SVGS[name]())
    assert same_description(describe_svg(ElementTree.tostring(root)), stored(name))
    edit([e for e in root if class_ in e.get("class").split()][index])
    assert not same_description(describe_svg(ElementTree.tostring(root)), stored(name)), what


def test_a_wrong_figure_is_noticed():
    def same(edit):
        figure = samples.FIGURES["study"]()
        edit(figure.axes[0])
        return same_description(describe(figure), stored("study"))

    assert same(lambda axes: axes.get_legend().set_loc("lower left"))
    assert same(lambda axes: axes.title.set_fontsize(7.0))
    assert not same(lambda axes: axes.lines[0].set_ydata([0.3, 0.1, 0.002]))
    assert not same(lambda axes: axes.lines[0].set_color(axes.lines[2].get_color()))
    assert not same(lambda axes: axes.lines[0].set_label("round-robin"))
    assert not same(lambda axes: axes.get_legend().get_texts()[0].set_text(""))
    assert not same(lambda axes: axes.lines[-1].remove())
    assert not same(lambda axes: axes.set_ylim(0.2, 1.0))
