"""Pictures with one call, and what results look like in a notebook."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import tideproof as tp
from tideproof.draw.colour_palette import DARK, LIGHT, chart_css
from tideproof.errors import InputError, NotComparable

LOG = {
    "arm": ["A", "B", "C"] * 12,
    "day": [day for day in range(6) for _ in range(6)],
    "sales": [10.0 + day + i % 3 + (i * 37 % 11) / 9 for day in range(6) for i in range(6)],
}


@pytest.fixture(scope="module")
def fit():
    return tp.fit(LOG, arm="arm", environment="day", reward="sales")


def live(days=6, **options):
    run = tp.Experiment(["A", "<B>"], budget=200, seed=1, **options)
    for step in range(10 * days):
        pull = run.ask() if options else run.ask(environment=step // 10)
        run.tell(pull, (pull.arm == "<B>") + step // 10 * 3.0 + step * 37 % 11 / 11)
    return run


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).findall(".//{*}text")]


class TestFit:
    def test_one_call_draws_arms_tide_and_lead(self, fit):
        picture = fit.plot()
        assert [panel.title for panel in picture.panels][:2] == ["Arms", "The tide"]
        assert picture.said == fit.verdict
        assert {"A", "B", "C", "Arms"} <= set(texts(picture.svg))

    def test_it_is_saved_as_one_file_that_needs_nothing_else(self, fit, tmp_path):
        fit.plot(tmp_path / "fit.svg")
        svg = (tmp_path / "fit.svg").read_text()
        assert "var(" not in svg  # colours are written out, of both sides
        assert LIGHT["tide"] in svg.split("@media")[0]
        assert DARK["tide"] in svg.split("@media")[1]
        assert not re.search(r"(?:href|src)=|url\(", svg)
        fit.plot().save(tmp_path / "fit.html")
        assert (tmp_path / "fit.html").read_text().startswith("<!doctype html>")

    def test_its_style_is_of_the_picture_only(self, fit):
        shown = fit.plot()._repr_html_()
        style = re.search(r"<style>(.*?)</style>", shown, re.DOTALL)[1]
        heads = re.findall(r"(?:^|\})\s*(?:@media[^{]*\{\s*)?([^{}@]+?)\s*\{", style)
        assert len(heads) > 20
        assert all(head.startswith(".tideproof") for head in heads)

    @pytest.mark.parametrize(
        ("name", "said"), [("x.png", "must end in .svg or .html"), ("no/x.svg", "no folder")]
    )
    def test_what_cannot_be_saved_is_said_and_nothing_is_written(self, fit, name, said, tmp_path):
        with pytest.raises(InputError, match=said):
            fit.plot(tmp_path / name)
        assert list(tmp_path.iterdir()) == []


class TestRun:
    def test_one_call_draws_who_was_ahead_and_who_got_what(self):
        run = live()
        picture = run.plot()
        titles = [panel.title for panel in picture.panels]
        assert {"The lead over time", "Arms", "The tide", "Shares"} <= set(titles)
        assert picture.said.startswith("select <B>")
        assert "<B>" not in picture._repr_html_()
        assert "&lt;B&gt;" in picture._repr_html_()

    def test_a_tide_that_is_followed_shows_rewards_now_and_raw_means(self):
        run = live(tide="hidden")
        [panel] = run.plot().panels
        fit, history = run.fit(), run.history()
        rewards = [row["reward"] for row in history if row["arm"] == "A"]
        said = next(
            text for text in re.findall(r"<title>(.+?)</title>", panel.picture) if text.startswith("A:")
        )
        raw, now = (float(x) for x in re.search(r"raw ([\d.-]+), adjusted ([\d.-]+)", said).groups())
        assert raw == pytest.approx(np.mean(rewards), abs=0.06)
        assert now == pytest.approx(fit.now[0], abs=0.06)

    def test_before_anything_is_told(self):
        run = tp.Experiment(["A", "B"], budget=10)
        with pytest.raises(NotComparable, match="no reward has been recorded"):
            run.plot()
        assert "no rewards yet" in run._repr_html_()


def test_a_study_shows_itself_and_is_saved(tmp_path):
    study = tp.simulate(tp.mdm(2), ["round-robin"], budgets=[20], replications=20, seed=1)
    figure = study.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    figure.save(tmp_path / "study.svg")
    assert "<svg" in (tmp_path / "study.svg").read_text()
    with pytest.raises(InputError, match="must end in"):
        figure.save(tmp_path / "study.txt")


def test_results_are_tables_in_a_notebook(fit):
    run = live()
    for result in (fit, run, run.fit(), live(tide="hidden").fit(), tp.against(fit, "A")):
        assert result._repr_html_().count("<table>") == 1
    assert run.recommend()._repr_html_().startswith("<p>select &lt;B&gt;")
    log = {**LOG, "clicks": LOG["sales"], "land": ["x", "y"] * 18}
    shown = tp.metrics(log, rewards=["sales", "clicks"], arm="arm", environment="day")._repr_html_()
    assert shown.startswith(f"<p>{fit.verdict.split(':')[0]}")
    assert "<td" in tp.segments(log, by="land", arm="arm", environment="day", reward="sales")._repr_html_()


def test_marks_of_a_report_and_of_a_picture_look_alike():
    plain, scoped = chart_css(), chart_css(".tideproof ")
    assert scoped.replace(".tideproof ", "") == plain
    assert set(re.findall(r"var\(--(\w+)\)", plain)) <= LIGHT.keys()
