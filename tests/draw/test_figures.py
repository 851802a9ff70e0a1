"""Pictures of matplotlib: lines, bands and limits are those of the numbers they are told."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib import image
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from draw import samples
from tideproof.draw import line_styles, paper_figures
from tideproof.draw.colour_palette import ORANGE, RAW, TIDE
from tideproof.draw.demo_picture import demo_figure, draw_demo
from tideproof.draw.matplotlib_figure import (
    PRINT,
    new_subplots,
    panel_letter,
    save_for_print,
    style_context,
    use_plain_numbers,
)
from tideproof.draw.panel_grid import draw_facets
from tideproof.draw.policy_curves import draw_study, log_scale_floor
from tideproof.errors import InputError, MissingExtra
from tideproof.research.paper import panels as named
from tideproof.research.paper.contrast_comparison import ORACLE, STATIONARY_CONTRAST


def band(area):
    """The lower and upper ends of a band, by x."""
    found = {}
    for x, y in area.get_paths()[0].vertices:
        low, high = found.get(float(x), (y, y))
        found[float(x)] = (min(low, y), max(high, y))
    return found


def test_a_study_is_its_curves():
    axes = draw_study(samples.STUDY, "pics", 12_345, True, None).axes[0]
    floor = log_scale_floor(samples.STUDY)
    assert floor == 1e-3  # the smallest positive number is an upper end, 0.01
    lines = [line for line in axes.lines if line.get_linestyle() != "None"]
    for line, area, curve in zip(lines, axes.collections, samples.STUDY, strict=True):
        assert line.get_label() == curve.label
        assert list(line.get_xdata()) == list(curve.x)
        assert list(line.get_ydata()) == list(np.maximum(curve.value, floor))
        assert band(area) == {
            x: (max(low, floor), high) for x, low, high in zip(curve.x, curve.low, curve.high, strict=True)
        }
    (hollow,) = (line for line in axes.lines if line.get_linestyle() == "None")
    assert (list(hollow.get_xdata()), list(hollow.get_ydata())) == ([30], [floor])
    assert axes.get_ylim()[0] == floor
    assert axes.get_title("right") == "12,345 replications; hollow markers: 0"
    assert axes.get_ylabel() == "probability of incorrect selection"


def test_a_linear_scale_has_no_floor():
    zero = [curve._replace(value=curve.value * 0.0) for curve in samples.LONG]
    axes = draw_study(zero, "eoc", 1, False, None).axes[0]
    assert len(axes.lines) == 2
    assert axes.get_title("right") == "1 replications"
    assert axes.get_ylabel() == "expected opportunity cost"
    assert [line.get_markevery() for line in axes.lines] == [(0, 2), (1, 2)]


def test_floors_are_powers_of_ten_below_all():
    def floor(*limits):
        high = np.array(limits)
        return log_scale_floor([samples.PolicyCurve("x", range(high.size), high * 0.0, high * 0.0, high)])

    assert [floor(0.5), floor(0.02, 0.3), floor(0.1), floor(0.0)] == pytest.approx([0.1, 0.01, 0.01, 0.1])


def drawn(axes):
    """The curves in a panel, without the edges of their bands."""
    return [line for line in axes.lines if line.get_marker() != "None"]


def test_facets_are_their_curves():
    figure = draw_facets(samples.FACETS, "PICS", 2, 5.0, 3)
    assert tuple(figure.get_size_inches()) == (7.1, 5.0)
    for axes, facet, name in zip(figure.axes, samples.FACETS, "abcd", strict=True):
        assert axes.get_title("left") == f"({name}) {facet.title}"
        assert axes.get_xlim() == (0.0, 1.04 * facet.longest)
        assert axes.get_yscale() == facet.scale
        for line, area, curve in zip(drawn(axes), axes.collections, facet.curves, strict=True):
            assert list(line.get_xdata()) == list(curve.x)
            assert list(line.get_ydata()) == list(curve.value)
            assert band(area) == {
                x: (low, high) for x, low, high in zip(*curve[1:2], *curve[3:], strict=True)
            }
            assert line.get_color() == line_styles.paper_styles()[curve.label].colour
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["of a kind", "of another"]
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["LinLUCB", "round robin, stationary", "0-1$_1$", "SER3", "SR"]


def test_a_row_has_the_limits_of_what_is_seen_in_it():
    first, second, third, fourth = draw_facets(samples.FACETS, "PICS", 2, 5.0, 3).axes
    low, high = 0.04, 0.41  # of bands up to the longest budget: LinLUCB's last, SER3's first
    room = max((high / low) ** 0.03, 1.1)
    assert first.get_ylim() == second.get_ylim() == pytest.approx((low / room, high * room))
    assert third.get_ylim() == pytest.approx((0.24 / 1.1, 0.31 * 1.1))
    assert fourth.get_ylim() == pytest.approx((0.0, 1.05 * 0.31))
    shown = [axes.yaxis.get_tick_params()["labelleft"] for axes in (first, second, third, fourth)]
    assert shown == [True, False, True, True]  # the last has a scale of its own
    exact = samples.curve("SR", [10, 20], [0.3, 1e-9], 0.0)
    more = samples.FACETS[2]._replace(curves=[*samples.FACETS[2].curves, exact])
    (axes,) = draw_facets([more], "PICS", 1, 2.0, 1).axes
    assert axes.get_ylim() == pytest.approx((0.24 / 1.1, 0.31 * 1.1))  # an exact curve may leave
    unsure = samples.PolicyCurve(
        "SR", [10, 20], np.array([0.4, 0.1]), np.array([0.3, -0.01]), np.array([0.5, 0.2])
    )
    (axes,) = draw_facets([more._replace(curves=[unsure])], "EOC", 1, 2.0, 1).axes
    room = (0.5 / 0.025) ** 0.03  # less than 1.1
    assert room < 1.1
    assert axes.get_ylim() == pytest.approx((0.025 / 1.1, 0.5 * 1.1))  # and an interval of costs reach zero


def test_markers_stand_apart_and_never_at_the_edge():
    first, second, *_ = draw_facets(samples.FACETS, "PICS", 2, 5.0, 3).axes
    seven = [1, 3, 5, 7, 10, 12, 14]  # nearest to 15 (k + 1/2)/7, the second of three curves
    assert [line.get_markevery() for line in drawn(first)] == [[0, 1, 2], seven, [0, 1, 2]]
    assert [line.get_markevery() for line in drawn(second)] == [[0]]  # the other lies beyond the budgets
    close = [30, 31, 32, 33, 34, 35, *range(40, 110, 10)]  # markers are spread over the axis, not over points
    facet = samples.FACETS[0]._replace(curves=[samples.curve("SR", close, [0.3] * 13)] * 2, longest=100)
    (axes,) = draw_facets([facet], "PICS", 1, 2.0, 1).axes
    assert [[close[i] for i in line.get_markevery()] for line in drawn(axes)] == [
        [32, 40, 50, 60, 70, 80, 90],  # nearest to 30 + 70 (k + 1/4)/7
        [35, 50, 60, 70, 80, 90, 100],  # k + 3/4; ties go to the first: 47.5, 57.5, ...
    ]


def test_bands_have_edges_where_these_can_be_seen():
    axes = draw_facets(samples.FACETS, "PICS", 2, 5.0, 3).axes[0]
    edges = [line for line in axes.lines if line.get_marker() == "None"]
    wide = samples.FACETS[0].curves[1]
    low, high = edges[2:4]
    assert list(low.get_ydata()) == pytest.approx(list(wide.low))
    assert list(high.get_ydata()) == pytest.approx(list(wide.high))
    height, dpi = axes.bbox.height, axes.figure.dpi
    first = samples.FACETS[0].curves[0]
    decades = np.log(np.divide(*axes.get_ylim()[::-1]))
    points = np.log(first.high / first.low) / decades * height * 72 / dpi
    assert list(np.isnan(edges[0].get_ydata())) == list(points < 1.2 + 1.0)  # LinLUCB's width and a point


def test_wide_curves_lie_below_thin_ones():
    for axes in draw_facets([samples.FACETS[0], samples.CROWD], "PICS", 2, 2.0, 3).axes:
        by_width = sorted(drawn(axes), key=lambda line: -line.get_linewidth())
        assert [line.get_zorder() for line in by_width] == sorted(line.get_zorder() for line in drawn(axes))


def test_curves_that_crowd_are_shown_again_where_there_is_room():
    (axes,) = draw_facets([samples.CROWD], "PICS", 1, 2.5, 2).axes
    (inset,) = axes.child_axes
    assert [list(line.get_ydata()) for line in drawn(inset)] == [
        list(c.value) for c in samples.CROWD.curves[1:]
    ]
    assert inset.get_yscale() == "linear"
    assert inset.get_xlim() == axes.get_xlim()
    assert inset.get_ylim() == pytest.approx((0.7 - 0.02, 0.9 + 0.06))  # SER3's last lies beyond the budgets
    whole, box = axes.get_position(), inset.get_position()
    left, bottom = (box.x0 - whole.x0) / whole.width, (box.y0 - whole.y0) / whole.height
    assert 0.02 < left < left + box.width / whole.width < 0.5  # LinLUCB runs through all boxes on the right
    assert bottom > 0.1
    assert [text.get_text() for text in inset.texts] == ["linear"]
    with style_context(PRINT):
        FigureCanvasAgg(axes.figure).draw()
    assert [text.get_text() for text in inset.get_xticklabels()][:2] == ["0", "25"]
    few = samples.CROWD._replace(curves=samples.CROWD.curves[:3])
    steep = samples.curve("SR", [2, 4, 6, 8, 10, 12], np.geomspace(0.9, 0.001, 6), 0.0005)
    full = samples.CROWD._replace(curves=[*samples.CROWD.curves, steep])
    linear = samples.CROWD._replace(scale="linear")
    for facet in (few, full, linear):
        (axes,) = draw_facets([facet], "PICS", 1, 2.5, 2).axes
        assert not axes.child_axes


def test_facets_below_each_other_and_without_any_error():
    never = [
        facet._replace(curves=[samples.curve("SR", [], [])], scale="log") for facet in samples.FACETS[:3]
    ]
    axes = draw_facets(never, "EOC", 1, 6.0, 1).axes
    assert [each.get_xlabel() for each in axes] == ["", "", "pulls"]
    assert [each.get_ylabel() for each in axes] == ["EOC"] * 3
    assert [each.get_ylim() for each in axes] == [pytest.approx((0.1 / 1.1, 1.1))] * 3


def test_rows_may_have_axes_of_their_own_and_exact_curves_alone_fill_theirs():
    exact = samples.curve("SR", [10, 20], [0.4, 0.001], 0.0)
    alone = samples.FACETS[2]._replace(curves=[exact])
    ratio = samples.FACETS[2]._replace(curves=[samples.curve("SR", [10, 20], [0.5, 2.0])], axis="ratio")
    above, below = draw_facets([alone, ratio], "PICS", 1, 4.0, 1).axes
    assert (above.get_ylabel(), below.get_ylabel()) == ("PICS", "ratio")
    room = 400**0.03
    assert above.get_ylim() == pytest.approx((0.001 / room, 0.4 * room))
    assert above.yaxis.get_major_formatter()(0.01) != "0.01"
    assert below.yaxis.get_minor_formatter()(2.0) == "2"  # it spans less than two powers of ten


def test_numbers_of_short_log_scales_are_written_out():
    for high, more, found in (
        (99.0, True, [2, 5, 20, 50]),
        (9.9, True, [1.5, 2, 3, 4, 6, 8]),
        (99.0, False, []),
        (100.0, True, []),
    ):
        _, axes = new_subplots(1, 1, (2.0, 2.0))
        axes.set(yscale="log", ylim=(1.0, high))
        use_plain_numbers(axes.yaxis, more)
        assert axes.yaxis.get_major_formatter()(10.0) == "10"
        inside = [float(t) for t in axes.yaxis.get_minorticklocs() if 1.0 < t < high]
        assert inside == (pytest.approx(found) if found else [i * p for p in (1, 10) for i in range(2, 10)])


def test_panels_have_letters():
    assert [panel_letter(i) for i in (0, 3, 15)] == ["(a)", "(d)", "(p)"]


def test_many_curves_need_a_wider_legend():
    for count, columns in ((7, 1), (8, 2), (15, 2), (16, 3)):
        figure = draw_study(samples.LONG[:1] * count, "pics", 1, True, None)
        figure.draw_without_rendering()
        names = figure.axes[0].get_legend().get_texts()
        assert len({round(name.get_window_extent().x0) for name in names}) == columns


def test_every_curve_of_the_paper_has_a_look():
    wanted = {*named.EXISTING, named.LINLUCB, named.SER3, named.REDUCED, named.REDUCED_ROBIN}
    wanted |= {f"{named.LINLUCB}, stationary", f"{named.ROUND_ROBIN}, stationary"}
    wanted |= {named.CONTRAST, STATIONARY_CONTRAST, ORACLE}
    tails = {named.ROBIN_OLS, "SR, reduced", "top-two Thompson"}
    assert wanted | tails == line_styles.paper_styles().keys()


def test_a_run_has_its_levels_and_rewards():
    means = [0.0, 0.5, 1.0, 1.5, 2.0]
    figure = paper_figures.draw_run(samples.RUN, means, "LinLUCB")
    (axes,), (legend,) = figure.axes, figure.legends
    assert axes.get_title("left") == "One run of LinLUCB"
    assert "lines: expected rewards, $\\mu_i + s_j$" in legend.get_title().get_text()
    colours = [line.get_color() for line in legend.get_lines()]
    assert colours == [look.colour for look in line_styles.arm_styles()]
    assert colours[-1] == ORANGE  # of the best arm, and of no other
    assert ORANGE not in colours[:-1]
    levels = [area for area in axes.collections if type(area).__name__ == "LineCollection"]
    assert len(levels) == 3 * 5
    first, last = levels[5].get_paths()[0].vertices  # the first arm in the second environment
    assert (list(first), list(last)) == ([1.5, -1.0], [4.5, -1.0])
    marks = [area for area in axes.collections if type(area).__name__ == "PathCollection"]
    assert [area.get_offsets().tolist() for area in marks] == [
        [[0, 5.5], [5, 2.25]], [[2, 0.0]], [[3, 0.25]], [[4, 1.75]], [[1, 7.5]],
    ]  # fmt: skip
    (shade,) = axes.patches  # every other environment
    assert (shade.get_bbox().x0, shade.get_bbox().x1) == (1.5, 4.5)


def test_one_policy_in_one_environment_is_a_graph_too():
    rows = [row for row in samples.GRAPH if (row["policy"], row["environment"]) == ("without a link", 0)]
    table = samples.Table({name: [row[name] for row in rows] for name in samples.GRAPH.columns})
    (axes,) = paper_figures.draw_graph(table).axes
    assert axes.get_title() == "(a) environment 1\n$1 \\rightarrow 2$"


def test_theory_has_its_limits():
    table = samples.theory()
    axes = paper_figures.draw_theorem(table).axes[0]
    bars = [area for area in axes.collections if type(area).__name__ == "LineCollection"]
    rows = [r for r in table if r["design"] == "one design, worst-case" and r["quantity"] == "Var(mu_1)"]
    ends = [tuple(segment[:, 1]) for segment in bars[0].get_segments()]
    assert ends == [pytest.approx((row["low"], row["high"])) for row in rows]
    assert [tuple(segment[:, 0]) for segment in bars[0].get_segments()] == [(2, 2), (10, 10)]


def test_theory_has_titles_of_two_lines_and_says_what_marks_are():
    table = samples.theory()
    theorem, conjecture = paper_figures.draw_theorem(table), paper_figures.draw_conjecture(table)
    assert [axes.get_title("left") for axes in theorem.axes] == [
        "(a) One design,\nworst case, $i, k = 1, 2$", "(b) Another\nwithout more, $i, k = 1, 3$",
    ]  # fmt: skip
    assert [axes.get_title("left") for axes in conjecture.axes] == [
        "(a) One design,\nworst case", "(b) Another\nwithout more", "(c) One design,\nworst case", "(d) Another\nwithout more",
    ]  # fmt: skip
    for figure in (theorem, conjecture):
        note = figure.legends[0].get_title().get_text()
        assert "95 % intervals (about one in twenty misses); vertical axes differ" in note


def test_the_demo_has_its_limits_and_says_their_level():
    info = samples.DEMO
    above, below = demo_figure(info).axes
    assert band(above.collections[0]) == {j + 1.0: (day.low, day.high) for j, day in enumerate(info.days)}
    assert [list(line.get_ydata()) for line in above.lines[:2]] == [
        [day.shift for day in info.days], [day.truth for day in info.days],
    ]  # fmt: skip
    assert above.get_legend().get_texts()[0].get_text() == "80 % interval"
    assert below.get_legend().get_texts()[-1].get_text() == "tideproof, 80 % interval"
    bars = next(
        area for area in below.collections if len(area.get_segments()) and to_hex(area.get_color()[0]) == TIDE
    )
    assert [tuple(segment[:, 1]) for segment in bars.get_segments()] == [(p.low, p.high) for p in info.prices]
    (raw,) = (line for line in below.lines if line.get_color() == RAW)
    assert list(raw.get_ydata()) == [p.raw_mean for p in info.prices]
    picks = {text.get_text(): text.xy for text in below.texts}
    assert picks["raw mean picks"] == pytest.approx((-0.14, 3.0 + 0.06 * 2.75))
    assert picks["tideproof picks"] == pytest.approx((1.14, 3.25 + 0.06 * 2.75))
    raw_means = zip(info.prices, (5.0, 1.0, 0.0), strict=True)  # which reach further than the intervals
    texts = demo_figure(info._replace(prices=[p._replace(raw_mean=x) for p, x in raw_means])).axes[1].texts
    assert [text.xy[1] for text in texts] == pytest.approx([5.0 + 0.06 * 5.0, 3.25 + 0.06 * 5.0])
    assert (
        below.get_title("left") == "After 3 days: the raw mean picks 9.90, tideproof 10.90; the best is 10.90"
    )


def test_files_have_the_size_that_was_drawn(tmp_path):
    draw_study(samples.LONG, "pics", 1, True, tmp_path / "study.png")
    assert image.imread(tmp_path / "study.png").shape[:2] == (720, 1120)
    figure, _ = new_subplots(1, 1, (4.0, 2.0))
    save_for_print(figure, tmp_path / "whole.png", tmp_path / "whole.svg")
    assert image.imread(tmp_path / "whole.png").shape[:2] == (480, 960)
    assert type(figure.get_layout_engine()).__name__ == "PlaceHolderLayoutEngine"  # it moves nothing any more
    assert "<dc:date>" not in (tmp_path / "whole.svg").read_text(encoding="utf-8")
    draw_demo(samples.DEMO, tmp_path / "demo.png")
    height, width = image.imread(tmp_path / "demo.png").shape[:2]
    assert (width, height) != (1260, 1080)  # cut to what is drawn
    assert abs(width - 1260) < 60
    assert abs(height - 1080) < 60


def test_drawing_changes_nothing_for_others(tmp_path):
    import matplotlib

    backend, before = matplotlib.get_backend(), matplotlib.rcParams.copy()
    with matplotlib.rc_context({"axes.labelcolor": "#123456"}):
        draw_demo(samples.DEMO, tmp_path / "demo.png")
        axes = draw_study(samples.LONG, "pics", 1, True, None).axes[0]
        assert axes.xaxis.label.get_color() == "#123456"  # a study's picture has the style of who draws it
        assert demo_figure(samples.DEMO).axes[0].xaxis.label.get_color() != "#123456"
    assert matplotlib.rcParams == before
    assert matplotlib.get_backend() == backend


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_the_same_numbers_give_the_same_file(tmp_path, monkeypatch, kind):
    for name, now in ((f"a.{kind}", 0), (f"b.{kind}", 86_400)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        save_for_print(draw_facets(samples.FACETS, "PICS", 2, 5.0, 3), tmp_path / name)
    assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_a_pdf_has_its_letters_and_no_date(tmp_path):
    save_for_print(draw_facets(samples.FACETS, "PICS", 2, 5.0, 3), tmp_path / "facets.pdf")
    content = (tmp_path / "facets.pdf").read_bytes()
    assert b"/CreationDate" not in content
    assert b"/Type3" not in content  # journals refuse letters that are drawings
    assert b"/FontFile2" in content
    assert b"/MediaBox [ 0 0 511.2 360 ]" in content  # 7.1 by 5 inches


def test_what_cannot_be_drawn_is_said(monkeypatch, tmp_path):
    with pytest.raises(InputError, match="must end in"):
        draw_study(samples.LONG, "pics", 1, True, tmp_path / "study.docx")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"tideproof\[plot\]"):
        style_context()
