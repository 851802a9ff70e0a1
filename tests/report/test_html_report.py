"""The HTML report says the fit's own level, freedom and noise, and only what there is to say."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from tideproof._version import __version__
from tideproof.analysis import Fit
from tideproof.analysis.versus_control import ControlComparison
from tideproof.analysis.words.analysis_report import ExtraParts, describe_fit
from tideproof.report.html_report import html_report
from tideproof.table import Table


def page(fit):
    text = html_report(describe_fit(fit), "log <1>.csv", "arm = a & b")
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
    fit = Fit.from_arrays(*log(gap=2.0), confidence=0.8, variance="by-arm")
    tree, text = page(fit)
    assert tree.find("head/title").text == "B is best on average over these 5 environments (80 % confidence)"
    heading = tree.find("body/header/h1")
    assert (heading.get("class"), heading.text) == ("winner_on_these", fit.verdict + ".")
    assert tree.find("body/header/p").text == "log <1>.csv · arm = a & b"
    titles, words = [*cards(tree)], [said for said, _ in cards(tree).values()]
    assert titles == ["Arms", "The tide", f"B against {fit.decision.runner_up} in each environment"]
    assert all("80 % confidence interval" in said for said in words)
    assert [("Green" in said, "bars cross" in said) for said in words] == [
        (True, False), (False, False), (False, True),
    ]  # fmt: skip
    assert [picture for _, picture in cards(tree).values()] == [
        "adjusted means with intervals, raw means as crosses",
        "the shift of each environment",
        f"B minus {fit.decision.runner_up} in each environment with both arms",
    ]
    assert "confidence level 80 %" in tree.find("body/p[@class='legend']").text
    assert [e.find("summary").text for e in tree.iter("details")] == [
        "Raw and period-weighted means",
        "Shifts",
        "Each arm against the best other arm, simultaneous confidence intervals",
        "Influence of environments: the lead if one environment is left out",
    ]
    assert f"tideproof {__version__}." in tree.find("body/footer").text
    assert "Standard errors: by-arm." in tree.find("body/footer").text
    assert "95 %" not in text
    notes = [li.text for li in tree.find("body/ul[@class='notes']")]
    assert notes == describe_fit(fit).notes
    assert [p.text for p in tree.findall("body/p[@class='warning']")] == describe_fit(fit).warnings
    heads = [[th.text for th in table.iter("th")] for table in tree.iter("table")]
    assert heads[0] == [
        "arm", "adjusted mean", "80 % confidence interval of the mean", "can be best", "probability of being best", "raw mean",
        "raw minus adjusted", "rewards",
    ]  # fmt: skip
    assert heads[2] == ["environment", "shift", "80 % confidence interval", "rewards", "arms"]


def test_clustered_bars_allow_for_less():
    words = [said for said, _ in cards(page(Fit.from_arrays(*log(), variance="clustered"))[0]).values()]
    assert sum("only the noise within environments" in said for said in words) == 1
    assert not any("most bars cross" in said for said in words)


def test_a_report_of_groups():
    arm, day, reward = log(arms="ABCD")
    tree, text = page(Fit.from_arrays(arm, np.where(np.isin(arm, ["A", "B"]), day, day + 10), reward))
    assert tree.find("body/header/h1").get("class") == "not_comparable"
    assert list(cards(tree)) == ["Arms", "The tide", "Which arms shared environments"]
    assert "Green" not in "".join(said for said, _ in cards(tree).values())
    assert "only with arms of the same group" in tree.find("body/p[@class='legend']").text
    assert len(list(tree.iter("details"))) == 2
    assert "candidate" not in re.sub(r"<style>.*</style>", "", text, flags=re.DOTALL)


def test_without_freedom_nothing_is_said_of_intervals():
    tree, _ = page(Fit.from_arrays(list("ABBC"), [1, 1, 2, 2], [1.0, 2.0, 4.0, 7.0]))
    found = cards(tree)
    assert list(found) == ["Arms", "The tide", "Which arms shared environments"]
    assert found["Arms"][0].startswith("The dot is the adjusted mean. The cross")
    assert found["The tide"][0].endswith("all arms alike.")


def test_who_met_whom_is_drawn_where_not_all_did():
    arm, day, reward = log()
    kept = (arm != "C") | (day > 0)
    title = "Which arms shared environments"
    assert title not in cards(page(Fit.from_arrays(arm[kept], day[kept], reward[kept]))[0])
    chain = np.where(day < 3, arm != "C", arm != "A")
    words, picture = cards(page(Fit.from_arrays(arm[chain], day[chain], reward[chain]))[0])[title]
    assert (
        "Arms without a line between them are compared through arms that shared environments with both."
        in words
    )
    assert picture == "arms in the same environment are joined by a line"


@pytest.mark.parametrize(("arms", "said"), [(30, None), (31, "best 30 of 31")])
def test_many_arms_are_all_in_the_table_and_counted_below_the_picture(arms, said):
    arm = np.tile(np.arange(arms), 2)
    reward = np.random.default_rng(0).normal(size=arm.size)
    tree, _ = page(Fit.from_arrays(arm, np.repeat([0, 1], arms), reward))
    words = cards(tree)["Arms"][0]
    assert ("are drawn" in words) == (said is not None)
    for number in (0, 1, 3):  # the arms, other averages, comparisons with the best
        table = list(tree.iter("table"))[number]
        names = [row[0].text for row in table.find("tbody")]
        assert sorted(names, key=int) == [str(i) for i in range(arms)]
    if said is None:
        return
    assert words.endswith(f" Only the {said} arms are drawn.")
    apart = np.where(arm == 0, 2, np.repeat([0, 1], arms))
    assert "Only the first 30 of 31 arms" in cards(page(Fit.from_arrays(arm, apart, reward))[0])["Arms"][0]


def test_many_environments_are_counted_and_the_page_stays_small():
    arm, day = np.tile(list("AABB"), 3000), np.repeat(np.arange(3000), 4)
    tree, text = page(Fit.from_arrays(arm, day, np.random.default_rng(0).normal(size=arm.size) + 10.0))
    assert len(text) < 300_000
    found = {e.find("summary").text: e for e in tree.iter("details")}
    for title in ("Shifts", "Influence of environments: the lead if one environment is left out"):
        assert found[title].find("p").text == (
            "The table shows the first 500 of 3,000 rows. tideproof analyze --json lists all rows."
        )
        assert len(found[title].find("div/table/tbody")) == 500
    assert found["Raw and period-weighted means"].find("p") is None
    assert "A point is the mean shift of 13 consecutive environments" in cards(tree)["The tide"][0]
    gaps = next(said for title, (said, _) in cards(tree).items() if "in each environment" in title)
    assert gaps.endswith("Only the 240 most informative of 3,000 environments are drawn.")


def test_rates_and_ratios_are_in_percent():
    random = np.random.default_rng(0)
    arm, day = np.tile(np.repeat(list("AB"), 300), 8), np.repeat(np.arange(8), 600)
    clicks = (random.random(arm.size) < (0.05 + 0.01 * day) * np.where(arm == "B", 1.4, 1.0)).astype(float)
    fit = Fit.from_arrays(arm, day, clicks, scale="ratio")
    tree, _ = page(fit)
    rows = [[cell.text for cell in row] for row in tree.find("body/div/table/tbody")]
    assert [row[0] for row in rows] == ["B", "A"]
    for row, arms in zip(rows, describe_fit(fit).arms, strict=True):
        assert row[1] == f"{100 * arms['mean']:.1f} %"
        assert row[2] == f"{100 * arms['low']:.1f} % to {100 * arms['high']:.1f} %"
        assert row[-1] == "2,400"
    lift = fit.contrast("B", "A")
    assert f"{100 * lift.estimate:+.0f} % over A" in tree.find("body/header/h1").text
    assert "mean reward = arm * environment" in tree.find("body/footer").text
    (influence,) = [e for e in tree.iter("details") if "Influence" in e.find("summary").text]
    row = fit.influence().to_dicts()[0]
    cells = [cell.text for cell in influence.find("div/table/tbody")[0]]
    assert cells[2] == f"{100 * row['lead']:+.3g} %"
    assert row["lead"] - row["change"] == pytest.approx(lift.estimate, rel=0.01)  # a lift already


def test_a_control_is_in_the_heading_and_in_the_table():
    fit = Fit.from_arrays(*log(gap=2.0), about="these")
    other = fit.contrast("B", "A")
    rows = {"arm": ["B", "C"], "estimate": [other.estimate, None], "low": [other.low, None],
            "high": [other.high, None], "conclusion": ["better", "not comparable"]}  # fmt: skip
    text = html_report(
        describe_fit(fit, ExtraParts(against=ControlComparison("A", Table(rows)))), "log.csv", ""
    )
    shown = f"{other.estimate:+.1f} ({other.low:+.1f} to {other.high:+.1f}), better"
    assert f'<p class="control">Against A, the control: B {shown}; C cannot be compared.</p>' in text
    assert f"<td>{shown}</td>" in text
    assert "against A</th>" in text
