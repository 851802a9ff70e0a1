"""The HTML report says the fit's own level, freedom and noise, and only what there is to say."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from tideproof._version import __version__
from tideproof.estimate import Fit
from tideproof.report.analysis import analyse
from tideproof.report.html_report import html_report


def page(fit):
    text = html_report(analyse(fit), "log <1>.csv", "arm = a & b")
    return ElementTree.fromstring(re.sub(r"<meta[^>]*>", "", text.removeprefix("<!doctype html>\n"))), text


def cards(tree):
    """Title and words of each card, and the tags of its picture."""
    found = {}
    for section in tree.iter("section"):
        title, words, picture = section
        found[title.text] = words.text, picture.get("aria-label")
    return found


def log(gap=1.0, arms="ABC", seed=3, days=5):
    random = np.random.default_rng(seed)
    arm, day = np.tile(np.repeat(list(arms), 6), days), np.repeat(np.arange(days), 6 * len(arms))
    return arm, day, random.normal(size=arm.size) + gap * (arm == "B") + 3.0 * np.sin(day)


def test_a_report_of_a_winner():
    fit = Fit.from_arrays(*log(gap=2.0), level=0.8, variance="by-arm")
    tree, text = page(fit)
    assert tree.find("head/title").text == "B is best (80 %)"
    heading = tree.find("body/header/h1")
    assert (heading.get("class"), heading.text) == ("winner", fit.verdict + ".")
    assert tree.find("body/header/p").text == "log <1>.csv · arm = a & b"
    limits = "with its 80 % interval."
    assert cards(tree) == {
        "Arms": (
            f"Dot and bar: the adjusted mean, had the arm run in every environment, {limits} Cross: the raw mean, "
            "tide included. Green: can be the best.",
            "adjusted means with intervals, raw means as crosses",
        ),
        "The tide": (
            f"How far each environment lifted or lowered all arms alike, {limits}",
            "the shift of each environment",
        ),
        "B minus " + str(fit.decision.runner_up) + ", environment by environment": (
            f"Dot and bar: one environment alone, {limits} Line and band: all of them together. If one shift for all "
            "arms describes the data, the points scatter around the line by their bars and no more.",
            f"B minus {fit.decision.runner_up} in each environment that saw both",
        ),
        "Who met whom": (
            "Arms are joined if they ran in the same environment; a thick line is a lot of direct evidence. Green: can "
            "be the best.",
            "arms that met in an environment are joined",
        ),
    }
    assert "probability 80 % at least" in tree.find("body/p[@class='legend']").text
    assert [e.find("summary").text for e in tree.iter("details")] == [
        "What other averages say",
        "Shifts",
        "Each arm against the best of the others, simultaneous intervals",
        "Environments by influence: what if one were left out?",
    ]
    assert f"tideproof {__version__}." in tree.find("body/footer").text
    assert "Standard errors: by-arm." in tree.find("body/footer").text
    assert "95 %" not in text
    notes = [li.text for li in tree.find("body/ul[@class='notes']")]
    assert notes == analyse(fit).notes
    assert [p.text for p in tree.findall("body/p[@class='warning']")] == analyse(fit).warnings
    heads = [[th.text for th in table.iter("th")] for table in tree.iter("table")]
    assert heads[0] == analyse(fit).arms.columns
    assert heads[2] == fit.shifts.columns


def test_clustered_bars_allow_for_less():
    words = [said for said, _ in cards(page(Fit.from_arrays(*log(), variance="clustered"))[0]).values()]
    assert sum("noise inside environments only" in said for said in words) == 1
    assert not any("and no more" in said for said in words)


def test_a_report_of_groups():
    arm, day, reward = log(arms="ABCD")
    tree, text = page(Fit.from_arrays(arm, np.where(np.isin(arm, ["A", "B"]), day, day + 10), reward))
    assert tree.find("body/header/h1").get("class") == "not_comparable"
    assert list(cards(tree)) == ["Arms", "The tide", "Who met whom"]
    assert "Green" not in "".join(said for said, _ in cards(tree).values())
    assert "only with arms of the same group" in tree.find("body/p[@class='legend']").text
    assert len(list(tree.iter("details"))) == 2
    assert "candidate" not in re.sub(r"<style>.*</style>", "", text, flags=re.DOTALL)


def test_without_freedom_nothing_is_said_of_intervals():
    tree, _ = page(Fit.from_arrays(list("ABBC"), [1, 1, 2, 2], [1.0, 2.0, 4.0, 7.0]))
    found = cards(tree)
    assert list(found) == ["Arms", "The tide", "Who met whom"]
    assert found["Arms"][0].startswith("Dot: the adjusted mean, had the arm run in every environment. Cross")
    assert found["The tide"][0] == "How far each environment lifted or lowered all arms alike."


@pytest.mark.parametrize(("arms", "said"), [(30, None), (31, "best 30 of 31")])
def test_many_arms_are_counted(arms, said):
    arm = np.tile(np.arange(arms), 2)
    reward = np.random.default_rng(0).normal(size=arm.size)
    found = cards(page(Fit.from_arrays(arm, np.repeat([0, 1], arms), reward))[0])
    for title in ("Arms", "Who met whom"):
        assert ("are drawn" in found[title][0]) == (said is not None)
        if said:
            assert found[title][0].endswith(f" Only the {said} arms are drawn.")
    if said is None:
        return
    apart = np.where(arm == 0, 2, np.repeat([0, 1], arms))
    if arms == 31:
        assert (
            "Only the first 30 of 31 arms" in cards(page(Fit.from_arrays(arm, apart, reward))[0])["Arms"][0]
        )
