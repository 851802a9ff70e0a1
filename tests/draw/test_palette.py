"""One palette: every colour stands in it once, and what is written in it can be read."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

import tideproof
from tideproof.draw import colour_palette, line_styles

SOURCE = Path(tideproof.__file__).parent
STYLES = {"report": "html_report.css", "research.paper": "index_page.css"}
HEX = r"#[0-9a-fA-F]{3,8}\b"


def luminance(colour):
    """Relative luminance, as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [colour_palette.LIGHT, colour_palette.DARK])
def test_words_and_marks_can_be_read(colours):
    for ground in ("paper", "card"):
        for words in ("ink", "quiet", "good", "half", "bad"):
            assert contrast(colours[words], colours[ground]) > 4.5, (words, ground)
        for marks in ("tide", "raw", "good"):
            assert contrast(colours[marks], colours[ground]) > 3.0, (marks, ground)
    assert colours["band"] == colours["tide"] + "33"


def test_light_and_dark_have_the_same_roles():
    assert list(colour_palette.LIGHT) == list(colour_palette.DARK)
    light, dark = colour_palette.css().split("@media (prefers-color-scheme: dark)")
    for said, colours in ((light, colour_palette.LIGHT), (dark, colour_palette.DARK)):
        assert dict(re.findall(r"--(\w+): (\S+);", said)) == colours
    assert "color-scheme: light dark" in light


@pytest.mark.parametrize(("room", "name"), STYLES.items())
def test_pages_take_their_colours_from_it(room, name):
    style = files(f"tideproof.{room}").joinpath(name).read_text(encoding="utf-8")
    assert not re.search(HEX, style)
    assert set(re.findall(r"var\(--(\w+)\)", style)) <= colour_palette.LIGHT.keys()
    assert style.count("{") == style.count("}")


def test_no_colour_is_written_anywhere_else():
    for path in SOURCE.rglob("*.py"):
        if path.name != "colour_palette.py":
            assert not re.search(HEX, path.read_text(encoding="utf-8")), path


def test_curves_of_the_paper_can_be_told_apart():
    apart = [
        style for label, style in line_styles.paper_styles().items() if label != "round robin, OLS selection"
    ]
    looks = [(style.colour, style.line, style.marker, style.hollow) for style in apart]
    assert len(set(looks)) == len(looks)
    assert (
        line_styles.paper_styles()["round robin, OLS selection"] == line_styles.paper_styles()["round robin"]
    )  # never in one picture
    for label, style in line_styles.paper_styles().items():
        assert style.hollow == label.endswith(("stationary", "P1, IPS")), label
        assert (style.width > 2.0) == (
            style.colour in (colour_palette.ASH, colour_palette.ICE, colour_palette.ROSE)
        ), label


def test_curves_of_a_study_differ_as_long_as_they_can():
    looks = [line_styles.curve_style(i) for i in range(140)]
    assert len(set(looks)) == 140  # of 7 colours, 4 lines and 10 markers
    assert line_styles.curve_style(0) == ("#000000", "-", "o", False, 1.5)
    assert line_styles.curve_style(8) == ("#0072B2", "-", "<", False, 1.5)
    assert line_styles.curve_style(140) == line_styles.curve_style(0)
