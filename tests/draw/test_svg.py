"""Pictures of strings: marks stand where their numbers say, by the picture's own axes."""

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from draw import samples
from tideproof.draw.fit_charts import MeetingsInfo, draw_arms, draw_gaps, draw_meetings, draw_tide
from tideproof.draw.svg_elements import (
    WIDTH,
    Axis,
    choose_labels,
    element,
    format_points,
    format_ticks,
    grid_below,
    line,
    name_width,
    over_environments,
    pad_range,
    scale,
    shorten,
    text,
    ticks,
)
from tideproof.text import PERCENT

PLAIN_AXIS = Axis()


class Drawing:
    """A parsed picture, with the map from positions back to values that its grid and its labels define."""

    def __init__(self, svg):
        self.root = ElementTree.fromstring(svg)
        self.height = float(self.root.get("viewBox").split()[3])

    def all(self, tag, class_=None):
        found = self.root.findall(f"{{*}}{tag}")
        return [e for e in found if class_ is None or class_ in e.get("class").split()]

    def numbers(self, tag, class_, *names):
        return [tuple(float(e.get(name)) for name in names) for e in self.all(tag, class_)]

    def value(self, axis):
        """Return the map from positions to values along an axis."""
        lines = [place for (place,) in self.numbers("line", "grid", f"{axis}1")]
        said = [float(e.text) for e in self.all("text", "label")[: len(lines)]]
        assert len(lines) >= 2
        slope = (said[-1] - said[0]) / (lines[-1] - lines[0])
        for place, value in zip(lines, said, strict=True):
            assert value == pytest.approx(said[0] + slope * (place - lines[0]), abs=0.02 * abs(slope))
        return lambda place: said[0] + slope * (place - lines[0])

    def title(self, e):
        return e.find("{*}title").text


def test_arms_stand_where_their_numbers_say():
    drawing = Drawing(draw_arms(samples.ARMS, PLAIN_AXIS))
    value = drawing.value("x")
    dots = drawing.numbers("circle", "dot", "cx", "cy", "r")
    assert [value(x) for x, _, _ in dots] == pytest.approx([arm.mean for arm in samples.ARMS], abs=0.01)
    rows = [y for _, y, _ in dots]
    assert rows == sorted(rows)
    assert {b - a for a, b in pairwise(rows)} == {26.0}
    bars = drawing.numbers("line", "bar", "x1", "x2", "y1", "y2")
    assert [(value(a), value(b)) for a, b, _, _ in bars] == [
        pytest.approx(x, abs=0.01) for x in [(3.25, 4.75), (2.5, 4.5)]
    ]
    assert [(a, b) for _, _, a, b in bars] == [(y, y) for y in rows[:2]]
    crosses = [e.get("d") for e in drawing.all("path", "raw")]
    middles = [float(d[1:].split()[0]) + 4.0 for d in crosses]
    assert [value(x) for x in middles] == pytest.approx([arm.raw_mean for arm in samples.ARMS], abs=0.01)
    assert [float(d.split()[1].split("l")[0]) + 4.0 for d in crosses] == rows
    assert [e.get("class") for e in drawing.all("circle")] == ["dot candidate", "dot candidate", "dot arm"]
    assert [e.text for e in drawing.all("text", "name")] == ["B & <co>", "a name that is …", "C"]
    assert drawing.title(drawing.all("circle")[0]) == "B & <co>: raw 2.0, adjusted 4.0, interval 3.2 to 4.8"
    assert drawing.title(drawing.all("circle")[2]) == "C: raw 2.5, adjusted 1.5"
    names = drawing.numbers("text", "name", "x", "y")
    assert all(y - 4.5 == row for (_, y), row in zip(names, rows, strict=True))
    room = 8.6 * 16
    assert all(room < x < min(x for x, *_ in bars) for x, _ in names)
    assert max(x for _, x, *_ in bars) < WIDTH


def test_the_tide_and_its_band():
    drawing = Drawing(draw_tide(samples.TIDE, PLAIN_AXIS))
    value = drawing.value("y")
    places = [
        tuple(map(float, p.split(","))) for p in drawing.all("polyline", "tide")[0].get("points").split()
    ]
    assert [value(y) for _, y in places] == pytest.approx([each.shift for each in samples.TIDE], abs=0.01)
    steps = {round(b - a, 6) for (a, _), (b, _) in pairwise(places)}
    assert max(steps) - min(steps) < 0.11  # even, to a decimal
    band = [tuple(map(float, p.split(","))) for p in drawing.all("polygon", "band")[0].get("points").split()]
    assert [value(y) for _, y in band[:5]] == pytest.approx(
        [each.interval[1] for each in samples.TIDE], abs=0.01
    )
    assert [value(y) for _, y in band[:4:-1]] == pytest.approx(
        [each.interval[0] for each in samples.TIDE], abs=0.01
    )
    assert [x for x, _ in band[:5]] == [x for x, _ in places] == [x for x, _ in band[:4:-1]]
    ((zero, also),) = drawing.numbers("line", "zero", "y1", "y2")
    assert zero == also
    assert value(zero) == pytest.approx(0.0, abs=0.01)
    dots = drawing.numbers("circle", "dot", "cx", "cy")
    assert [(round(x, 1), round(y, 1)) for x, y in dots] == [
        pytest.approx(place, abs=0.06) for place in places
    ]
    assert drawing.title(drawing.all("circle")[1]) == "day 1: 11 rewards, -2.0, interval -2.5 to -1.2"
    below = [(e.text, e.get("text-anchor")) for e in drawing.all("text", "label")][-3:]
    assert below == [("day 0", "start"), ("day 2", "middle"), ("day 4", "end")]


def test_a_tide_without_intervals_has_no_band_and_a_long_one_no_dots():
    bare = Drawing(draw_tide(samples.BARE_TIDE, PLAIN_AXIS))
    assert bare.all("polygon") == []
    assert [bare.title(e) for e in bare.all("circle")] == [
        "monday: 1 reward, -0.5",
        "tuesday: 2 rewards, +1.5",
    ]
    assert len(Drawing(draw_tide(samples.LONG_TIDE[:120], PLAIN_AXIS)).all("circle")) == 120
    long = Drawing(draw_tide(samples.LONG_TIDE, PLAIN_AXIS))
    assert long.all("circle") == []
    assert len(long.all("polyline")[0].get("points").split()) == 121


def test_gaps_and_their_contrast():
    drawing = Drawing(draw_gaps(samples.GAPS, PLAIN_AXIS))
    value = drawing.value("y")
    dots = drawing.numbers("circle", "dot", "cx", "cy", "r")
    assert [value(y) for _, y, _ in dots] == pytest.approx([1.0, -1.0, 2.0], abs=0.02)
    bars = drawing.numbers("line", "bar", "x1", "x2", "y1", "y2")
    assert [(value(a), value(b)) for _, _, a, b in bars] == [
        pytest.approx(x, abs=0.02) for x in [(0.0, 2.0), (-2.5, 0.5)]
    ]
    assert [(a, b) for a, b, _, _ in bars] == [(x, x) for x, _, _ in dots[:2]]
    ((left, top, width, height),) = drawing.numbers("rect", "band", "x", "y", "width", "height")
    assert (value(top + height), value(top)) == pytest.approx((0.25, 1.25), abs=0.02)
    ((x1, x2, y1, y2),) = drawing.numbers("line", "tide", "x1", "x2", "y1", "y2")
    assert (x1, x2, y1) == (left, left + width, y2)
    assert value(y1) == pytest.approx(0.75, abs=0.02)
    assert drawing.root.get("aria-label") == "B minus A & <co> in each environment with both arms"
    assert [drawing.title(e) for e in drawing.all("circle")] == [
        "mon: +1.0, interval +0.0 to +2.0", "tue: -1.0, interval -2.5 to +0.5", "wed: +2",
    ]  # fmt: skip


def test_one_gap_stands_in_the_middle_and_many_are_small():
    one = Drawing(draw_gaps(samples.ONE_GAP, PLAIN_AXIS))
    assert one.all("rect") == []
    ((x, r),) = one.numbers("circle", "dot", "cx", "r")
    ((left, right),) = one.numbers("line", "zero", "x1", "x2")
    assert x == (left + right) / 2
    assert one.all("text", "label")[-1].get("text-anchor") == "middle"
    many = Drawing(draw_gaps(samples.MANY_GAPS, PLAIN_AXIS)).numbers("circle", "dot", "r")
    assert many == [(1.8,)] * 121
    fewer = samples.MANY_GAPS._replace(gaps=samples.MANY_GAPS.gaps[:120])
    assert Drawing(draw_gaps(fewer, PLAIN_AXIS)).numbers("circle", "dot", "r") == [(r,)] * 120


def test_a_few_arms_stand_at_even_angles():
    drawing = Drawing(draw_meetings(samples.FEW))
    dots = drawing.numbers("circle", "dot", "cx", "cy")
    middle = WIDTH / 2, drawing.height / 2
    for i, (x, y) in enumerate(dots):
        right, up = (x - middle[0]) / 122, (middle[1] - y) / 98
        assert math.atan2(right, up) % (2 * math.pi) == pytest.approx(2 * math.pi * i / 5, abs=1e-3)
        assert math.hypot(right, up) == pytest.approx(1.0, abs=1e-3)
    edges = drawing.numbers("line", "edge", "x1", "y1", "x2", "y2", "stroke-width")
    assert [(e[:2], e[2:4]) for e in edges] == [(dots[i], dots[k]) for i, k in samples.FEW.evidence]
    assert [e[4] for e in edges] == [0.6 + 5 / 2, 0.6 + 5, 0.6 + 5 / 4]  # roots of 4, 16 and 1 over 16
    names = [(e.text, e.get("text-anchor")) for e in drawing.all("text", "name")]
    assert names == [
        ("top", "middle"), ("right & <b>", "start"), ("low right", "start"), ("low left", "end"), ("a name on the…", "end"),
    ]  # fmt: skip
    assert [drawing.title(e) for e in drawing.all("circle")] == samples.FEW.arms
    assert [e.get("class") for e in drawing.all("circle")] == ["dot candidate"] * 2 + ["dot arm"] * 3


def test_eight_arms_still_stand_at_even_angles():
    info = MeetingsInfo([f"arm {i}" for i in range(8)], [False] * 8, {})
    assert Drawing(draw_meetings(info)).numbers("circle", "dot", "cx", "cy")[2] == (WIDTH / 2 + 122, 128.0)


@pytest.mark.parametrize("arms", [9, 12, 13, 30, 31])
def test_names_of_many_arms_have_room(arms):
    info = MeetingsInfo([f"arm {i}" for i in range(arms)], [False] * arms, {(0, 1): 1.0})
    drawing = Drawing(draw_meetings(info))
    dots = drawing.numbers("circle", "dot", "cx", "cy")
    half = -(-arms // 2)
    right, left = dots[:half], dots[half:]
    assert all(x > WIDTH / 2 for x, _ in right)
    assert all(x < WIDTH / 2 for x, _ in left)
    assert [y for _, y in right] == sorted(y for _, y in right)
    assert [y for _, y in left] == sorted((y for _, y in left), reverse=True)
    steps = [b - a for (_, a), (_, b) in pairwise(right)]
    assert min(steps) >= 16.98
    assert max(steps) - min(steps) < 0.03
    for x, y in dots:
        assert math.hypot(
            (x - WIDTH / 2) / 122, (y - drawing.height / 2) / (drawing.height / 2 - 4)
        ) == pytest.approx(1.0, abs=1e-3)
    assert {e.get("text-anchor") for e in drawing.all("text", "name")[:half]} == {"start"}
    assert {e.get("text-anchor") for e in drawing.all("text", "name")[half:]} == {"end"}
    ((width,),) = drawing.numbers("line", "edge", "stroke-width")
    assert width == pytest.approx(0.6 + 30 / arms, abs=0.005)


def test_every_picture_is_a_picture_and_escapes_names():
    for name, draw in samples.SVGS.items():
        svg = draw()
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img", name
        assert root.get("aria-label"), name
        assert "<co>" not in svg
        assert "<b>" not in svg


def test_elements():
    assert element("a") == "<a/>"
    assert element("a", "b", c=1.005, d='<&"') == '<a c="1" d="&lt;&amp;&quot;">b</a>'
    assert element("a", e_f=0.999, class_="x y") == '<a e-f="1" class="x y"/>'
    assert element("a", x=-0.25, y=100.0) == '<a x="-0.25" y="100"/>'
    assert text("<b>", 1.0, 2.0) == '<text x="1" y="2" text-anchor="start" class="label">&lt;b&gt;</text>'
    assert line(1.0, 2.0, 3.0, 4.0, "k") == '<line x1="1" y1="2" x2="3" y2="4" class="k"/>'
    assert format_points([(0.04, 1.06)]) == "0.0,1.1"
    assert shorten("abcde", 5) == "abcde"
    assert shorten("abcdef", 5) == "abcd…"


@pytest.mark.parametrize(
    ("low", "high", "count", "found"),
    [
        (0.0, 10.0, 5, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
        (-3.9, 4.2, 6, [-2.0, 0.0, 2.0, 4.0]),
        (0.0, 1.0, 2, [0.0, 0.5, 1.0]),
        (0.0, 1.0, 1, [0.0, 1.0]),
        (3e-7, 9e-7, 6, [3e-7, 4e-7, 5e-7, 6e-7, 7e-7, 8e-7, 9e-7]),
        (5.0, 5.0, 5, [5.0]),
        (99.0, 101.0, 5, [99.0, 99.5, 100.0, 100.5, 101.0]),
        (0.0, 299.0, 5, [0.0, 100.0, 200.0]),
    ],
)
def test_ticks_are_round_and_inside(low, high, count, found):
    assert ticks(low, high, count) == pytest.approx(found)


def test_about_five_ticks_unless_said():
    assert ticks(0.0, 5.5) == [0.0, 2.0, 4.0]
    assert ticks(0.2, 0.2) == [0.2]


def test_labels_have_the_decimals_of_their_step():
    assert format_ticks([99.5, 100.0]) == ["99.5", "100.0"]
    assert format_ticks([0.2]) == ["0.2"]
    assert format_ticks([0.0, 0.5, 1.0]) == ["0.0", "0.5", "1.0"]
    assert format_ticks([-0.0, 20.0]) == ["0", "20"]
    assert format_ticks([5.0]) == ["5"]
    assert format_ticks([0.001, 0.002]) == ["0.001", "0.002"]
    assert format_ticks([1e-6, 2e-6]) == ["0.000001", "0.000002"]
    assert format_ticks([1e-7, 2e-7]) == ["1e-07", "2e-07"]
    assert format_ticks([9e6, 1e7]) == ["9,000,000", "1e+07"]
    assert format_ticks([0.0, 0.0]) == ["0", "0"]
    assert format_ticks([10.0, 110.0]) == ["10", "110"]


def test_axes():
    at = scale(2.0, 4.0, 10.0, 30.0)
    assert [at(x) for x in (2.0, 3.0, 5.0)] == [10.0, 20.0, 40.0]
    assert pad_range([-1.0, 3.0]) == pytest.approx((-1.24, 3.24))
    assert pad_range([-4.0]) == (-6.0, -2.0)
    assert pad_range([0.0]) == (-1.0, 1.0)
    x = scale(0.0, 10.0, 0.0, 100.0)
    made = grid_below(Axis("money"), x, (0.0, 10.0), 6.0, 50.0)
    assert made[1] == line(20.0, 6.0, 20.0, 50.0, "grid")
    assert made[7] == text("2", 20.0, 70.0, "middle")
    assert made[12:] == [text("money", 50.0, 90.0, "middle")]
    assert name_width(["a", "abc"]) == pytest.approx(30.0 + 3 * 8.6)


def test_environments_stand_between_the_ends():
    x, y, left, elements = over_environments(["a", "b", "c"], [1.0, 3.0], Axis("height"))
    assert left == pytest.approx(10.0 + 8.6 * len("0"))
    assert (x(0), x(1), x(2)) == pytest.approx((left + 8.0, (left + 448.0) / 2, 440.0))
    assert y(-0.18) == pytest.approx(210.0)
    assert y(3.18) == pytest.approx(30.0)
    assert elements[0] == line(left, y(0.0), 448.0, y(0.0), "grid")
    assert text("height", 4.0, 14.0) in elements
    assert text("environment", 0.5 * (left + 448.0), 250.0, "middle") in elements
    alone = over_environments(["a"], [1.0], PLAIN_AXIS)
    assert alone.x(0) == (alone.left + 448.0) / 2
    assert over_environments(["a", "b"], [1.0], PLAIN_AXIS).x(1) == 440.0


def test_long_names_are_cut_and_shown_where_they_fit():
    names = ["a name of length", "a name of seventeen"]
    said = [ElementTree.fromstring(e).text for e in over_environments(names, [1.0], PLAIN_AXIS).elements[-2:]]
    assert said == ["a name of length", "a name of seven…"]
    five = over_environments(["a name of length"] * 5, [1.0], PLAIN_AXIS)
    said = [ElementTree.fromstring(e).text for e in five.elements]
    assert said.count("a name of length") == 2
    assert choose_labels(["a", "b", "c", "d", "a name of length"], 50.0) == [0, 4]


def test_names_are_shown_where_they_fit():
    assert choose_labels(["abcd"] * 4, 4 * 4 * 8.6) == [0, 1, 2, 3]
    assert choose_labels(["abcd"] * 4, 4 * 4 * 8.6 - 1) == [0, 1, 3]
    assert choose_labels(["abcd"] * 5, 1000.0) == [0, 2, 4]
    assert choose_labels(["abcd"] * 5, 3 * 4 * 8.6) == [0, 2, 4]
    assert choose_labels(["abcd"] * 5, 3 * 4 * 8.6 - 1) == [0, 4]
    assert choose_labels(["abcd"], 10.0) == [0]
    assert choose_labels(["abcd"] * 2, 1000.0) == [0, 1]


def test_lifts_stand_evenly_in_logarithms():
    axis = Axis("lift", PERCENT, lifts=True)
    ends = axis.ends([-0.75, 3.0, -1.0])  # a quarter and four times; nothing at all stands at the end
    assert math.log1p(ends[0]) == pytest.approx(-math.log1p(ends[1]))
    at = axis.place(ends, 0.0, 100.0)
    assert [at(x) for x in (-1.0, 0.0, 1e9)] == pytest.approx([0.0, 50.0, 100.0])
    assert at(-0.5) - at(-0.75) == pytest.approx(at(3.0) - at(1.0))
    assert axis.ticks(*ends) == [(-0.5, "-50 %"), (0.0, "0 %"), (1.0, "100 %")]
    assert [said for _, said in axis.ticks(-0.1, 0.1)] == ["-10 %", "-5 %", "0 %", "5 %", "10 %"]


def test_a_long_bar_of_lifts_is_cut():
    long = samples.GAPS._replace(gaps=[samples.GAPS.gaps[0]._replace(interval=(-0.9999, 1e6))])
    drawing = Drawing(draw_gaps(long, Axis("lift", PERCENT, lifts=True)))
    assert drawing.numbers("line", "bar", "y1", "y2") == [(210.0, 30.0)]


def test_rates_end_at_nothing_and_at_all():
    axis = Axis("rate", PERCENT, 0.0, 1.0)
    assert axis.ends([0.0, 0.5, 1.0]) == (0.0, 1.0)
    assert axis.ends([0.4, 0.5]) == pytest.approx((0.394, 0.506))
    assert [said for _, said in axis.ticks(0.0, 1.0)] == ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
