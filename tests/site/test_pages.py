"""Pages as they are in the repository: links lead somewhere, commands are commands, code is code, pictures are fresh."""

import csv
import doctest
import itertools
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tideproof.cli import app

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "site"))

import attributes  # noqa: E402
import pages  # noqa: E402
import pictures  # noqa: E402
import reference  # noqa: E402
import tideproof as tp  # noqa: E402

PAGES = ["README.md", *pages.markdown(), *pages.tutorials()]
OWN = {
    "docs/gallery.md",  # tests/tools/test_gallery.py runs its commands
    *("docs/serve.md", "docs/live.md", "docs/operations.md"),  # tests/serve runs their blocks, in order
}


def text_of(page):
    """Return a page as Markdown, also one that is a notebook."""
    text = (ROOT / page).read_text()
    return re.sub(r"^# ?", "", text, flags=re.MULTILINE) if page.endswith(".py") else text


def anchors(page):
    """Return the places of a page as git hosts and the site name them."""
    headings = re.findall(r"^#+ (.+)$", pages.outside_code(text_of(page), str), re.MULTILINE)
    words = [re.sub(r"\[(.+?)\]\(.+?\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in words}


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_a_place_in_it(page):
    for link in pages.links(text_of(page)):
        found = pages.target(page, link)
        if found is None:
            continue
        file, place = found
        assert (ROOT / file).exists(), link
        if place:
            assert place in anchors(file), link


def test_a_link_that_leads_nowhere_is_seen():
    assert "no-such-place" not in anchors("docs/guide.md")
    assert pages.target("docs/guide.md", "nowhere.md") == ("docs/nowhere.md", "")
    assert list(pages.links("[a](b.md)\n```\n[c](d.md)\n```\n")) == ["b.md"]


def test_every_page_is_in_the_navigation_once():
    titles = {pages.site_path(page): page for page in [*pages.markdown(), *pages.tutorials()]}
    titles["new.md"] = "A page that nobody placed"

    def leaves(entries):
        for entry in entries:
            for value in entry.values():
                yield from leaves(value) if isinstance(value, list) else [value]

    found = list(leaves(pages.navigation(titles, [])))
    assert sorted(found) == sorted(titles)
    assert found[0] == "index.md"


def test_examples_of_the_tool():
    assert doctest.testmod(pages) == (0, 6)


def test_pictures_of_concepts_are_those_of_their_examples():
    for name, svg in pictures.pictures().items():
        assert (ROOT / "docs" / "pictures" / name).read_text() == svg, "run: make docs"


def test_every_public_name_has_a_place_in_the_reference():
    found = sorted(name for names in reference.parts().values() for name in names)
    parts = {f"{part}.{name}" for part in ("errors", "worlds") for name in getattr(tp, part).__all__}
    assert found == sorted(set(tp.__all__) - {"__version__", "errors", "worlds"} | parts)


def test_attributes_are_described_where_griffe_looks_for_it():
    found = attributes.split_attributes(tp.Fit.__doc__.replace("\n    ", "\n"))
    assert re.search(r"^sigma\n    standard deviation of the noise\.$", found, re.MULTILINE)


# -- code


def commands():
    """Yield each command of ours that a page shows, once; without what only a shell knows."""
    seen = set()
    for page in PAGES:
        for block in [] if page in OWN else blocks(page, "sh"):
            for line in re.sub(r"\\\n\s*", "", block).splitlines():
                words = shlex.split(re.split(r"\s(?:[|&<>;]|2>)", line)[0], comments=True)
                if words[:1] != ["tideproof"] or "$" in line or tuple(words) in seen:
                    continue
                seen.add(tuple(words))
                plain = [word for word in words[1:] if not word.startswith("[")]
                yield pytest.param(page, plain, id=f"{page}: {line[:60]}")


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """Logs by the names that pages give them, in the folder where commands are run."""
    monkeypatch.chdir(tmp_path)
    rows = [(d, v, d * 3 + v) for d in range(8) for v in range(3) for _ in range(4)]

    def write(name, **columns):
        with open(tmp_path / name, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

    arms = ["ABC"[v] for _, v, _ in rows]
    days = [f"2026-05-{d + 1:02}" for d, _, _ in rows]
    earned = [10 + d % 3 + v + (i * 37 % 11) / 5 for i, (d, v, _) in enumerate(rows)]
    times = [f"2026-05-{i // 12 + 1:02}T{i % 12:02}:00:00" for i in range(len(rows))]
    write("log.csv", variant=arms, day=days, sales=earned, ts=times)
    write("pilot.csv", variant=arms, day=days, sales=earned)
    write("times.csv", version=arms, machine=days, hour=[i % 2 for i in range(len(rows))], seconds=earned)
    clicks = [20 + 3 * v + i * 7 % 5 for i, (_, v, _) in enumerate(rows)]
    headlines = [{"A": "plain"}.get(a, a) for a in arms]
    write("scores.csv", model=arms, item=[f"q{i // 3}" for i in range(96)], score=clicks, passage=days)
    shutil.copytree(ROOT / "tests" / "evaluations" / "logs", tmp_path / "logs")
    write("ads.csv", headline=headlines, day=days, impressions=[1000] * len(rows), clicks=clicks)


def parsed(words):
    """Return the name of the command in a command line; raise an error for unknown commands and options."""
    group: Any = typer.main.get_command(app)
    name, *rest = words
    if name in group.commands:
        group.commands[name].make_context(name, rest)
    else:
        group.make_context("tideproof", list(words))  # an option of tideproof itself
    return name


@pytest.mark.parametrize(("page", "words"), list(commands()))
def test_every_command_is_one_and_logs_can_be_analysed(page, words, logs):
    name = parsed(words)
    if name == "analyze" or (name == "plan" and "--from" not in words):
        less = ["--replications", "200", "--no-progress"] if name == "plan" else []
        done = CliRunner().invoke(app, [*words, *less])
        assert done.exit_code in (0, 3, 4, 5), (done.output, done.exception)


@pytest.mark.parametrize("page", ["docs/guide.md", "docs/tutorials/1-log-to-decision.py"])
def test_what_a_command_is_shown_to_print_is_what_it_prints(page, tmp_path, monkeypatch):
    """The log is the one of the first tutorial; both pages show the same answer."""
    monkeypatch.chdir(tmp_path)
    cells = (ROOT / "docs/tutorials/1-log-to-decision.py").read_text().split("# %%\n")
    exec(compile(cells[1].split("# %% [markdown]")[0], "the first cell", "exec"), {})
    [words] = [
        line.split()
        for block in blocks(page, "sh")
        for line in re.sub(r"\\\n\s*", "", block).splitlines()
        if line.startswith("tideproof analyze log.csv --arm variant")
    ]
    done = CliRunner().invoke(app, words[1:], env={"COLUMNS": "84"})
    printed = re.sub(r"\n{3,}", "\n\n", re.sub(r" +$", "", done.stdout, flags=re.MULTILINE))
    assert printed.strip() == blocks(page, "text")[0].strip()
    for block in blocks(page, "csv"):
        assert (tmp_path / "log.csv").read_text().startswith(block)


def test_an_option_that_is_none_is_seen():
    with pytest.raises(Exception, match="No such option"):
        parsed(["analyze", "log.csv", "--no-such-option"])


def scripts():
    """Return the blocks of Python that are no doctests, which pytest runs by itself."""
    return [
        pytest.param(page, block, id=page)
        for page in PAGES
        if page not in OWN
        for block in blocks(page, "python")
        if ">>>" not in block
    ]


@pytest.mark.parametrize(("page", "block"), scripts())
def test_every_script_runs(page, block):
    names = {"POLICY": tp.policy("round-robin").policy}
    exec(compile(block, page, "exec"), names)


def test_no_paragraph_turns_into_a_quotation():
    """A line of prose that begins with a sign for "more than" would be one."""
    torn = []
    for page in pages.markdown():
        kept: list[str] = []
        pages.outside_code((ROOT / page).read_text(), lambda part, kept=kept: kept.append(part) or "")
        for part in kept:
            lines = part.splitlines()
            torn += [
                f"{page}: {line}"
                for before, line in itertools.pairwise(lines)
                if line.startswith(">") and before.strip() and not before.startswith(">")
            ]
    assert torn == []


# -- glossary


def test_the_glossary_has_at_most_thirty_terms_and_the_start_page_leads_there():
    text = (pages.DOCS / "glossary.md").read_text()
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", text, re.MULTILINE)
    assert 20 <= len(terms) <= 30
    assert len(set(terms)) == len(terms)
    assert "(glossary.md)" in (pages.DOCS / "index.md").read_text()
