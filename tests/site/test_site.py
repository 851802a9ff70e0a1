"""The site that is built: whole, of one piece, and at home in a folder without a server or a network."""

import os
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from serve.browser import CHROMIUM, Browser

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "site"))

import pages  # noqa: E402

FOUND = """[...document.querySelectorAll("*")].some(each => each.shadowRoot &&
    [...each.shadowRoot.querySelectorAll("a")].some(link => link.href.includes("guide.html")))"""


COPIED = """Object.defineProperty(navigator, "clipboard", {value: {
    write: async items => { window.copied = await (await items[0].getType("text/plain")).text(); },
    writeText: async text => { window.copied = text; }}});
document.execCommand = () => { window.copied ??= document.activeElement.value; return true; };
document.querySelector(".md-code__button[data-md-type=copy]").click(); 0"""


class Page(HTMLParser):
    """What a page links to, fetches, and can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.fetched, self.ids = [], [], set()
        self.text = path.read_text()
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.fetched.append(found["src"])
        if tag == "link" and found.get("href") and found.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, with notebooks in short: all of them are run."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, ROOT / "tools" / "site", "--short", folder / "out"]
    how = {**os.environ, "NUMBA_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=how, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out"


@pytest.mark.no_cover
def test_the_site(site):
    """One test, so that the site is built once where tests are spread over processes."""
    found = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    assert len(found) > 80
    links_lead_somewhere(site, found)
    nothing_is_fetched_from_elsewhere(found)
    nothing_of_this_machine(site)
    pages_show_what_a_git_host_shows(site)
    notebooks_show_what_they_found(site)
    if CHROMIUM:
        a_browser_is_at_home_in_it(site)


def links_lead_somewhere(site, found):
    for path, page in found.items():
        for link in page.links + page.fetched:
            if re.match(r"[a-z]+:", link) or path.name == "404.html":
                continue
            file, _, place = link.partition("#")
            to = (path.parent / unquote(file)).resolve() if file else path
            assert to.exists(), (path.relative_to(site), link)
            if place and to.suffix == ".html":
                assert unquote(place) in found[to].ids, (path.relative_to(site), link)


def nothing_is_fetched_from_elsewhere(found):
    for path, page in found.items():
        assert not [link for link in page.fetched if re.match(r"https?:|//", link)], path


def nothing_of_this_machine(site):
    for path in site.rglob("*"):
        if path.suffix in (".html", ".js", ".css", ".ipynb", ".svg"):
            text = path.read_text()
            assert str(ROOT) not in text, path
            assert str(Path.home()) + "/" not in text, path
            assert "/tmp/" not in text.replace("/tmp/site", ""), path


def pages_show_what_a_git_host_shows(site):
    """As many lists, tables, headings and blocks of code as CommonMark has."""
    plain = MarkdownIt("commonmark").enable("table")
    for name in pages.markdown():
        to = site / pages.site_path(name).replace("README.md", "index.md").replace(".md", ".html")
        shown = to.read_text().split("<article", 1)[1].split("</article", 1)[0]
        meant = plain.render((ROOT / name).read_text())
        for tag in ("li", "td", "h2", "h3", "pre", "blockquote"):
            both = [len(re.findall(f"<{tag}[ >]", text)) for text in (meant, shown)]
            assert both[0] == both[1], (name, tag)


def notebooks_show_what_they_found(site):
    for name in pages.tutorials():
        text = (site / pages.site_path(name)).with_suffix(".html").read_text()
        assert 'class="shown"' in text
        assert (site / "tutorials" / f"{Path(name).stem}.ipynb").read_text().count('"output_type"') > 2
    assert "2.90 is best" in (site / "tutorials" / "1-log-to-decision.html").read_text()


def a_browser_is_at_home_in_it(site):
    browser = Browser()
    try:
        browser.shape(360, 800, dark=True)
        browser.go(f"file://{site}/index.html")
        browser.until("document.documentElement.scrollWidth <= 360")
        browser.until("document.body.dataset.mdColorScheme === 'slate'")
        browser.run("document.querySelector('.md-header [for=__search]').click()")
        time.sleep(0.5)
        browser.tell("Input.insertText", text="guardrails")
        browser.until(FOUND)
        browser.go(f"file://{site}/concepts/contrast.html")
        browser.run(COPIED)
        assert browser.run("window.copied").startswith("import tideproof as tp\nlog = {\n")
        assert browser.complaints == []
    finally:
        browser.close()
