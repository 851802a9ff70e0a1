"""Map from pages of the repository to pages of the site, with their order and links.

Pages stay plain Markdown that a git host can show. The copies differ only in their links. A page that is
not listed here comes last in the guide, so that a new file appears on the site without a change here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "VISION.md")  # pages outside docs/ that the site includes
FIRST = (
    "guide",
    "looks",
    "live",
    "experiment",
    "evaluations",
    "evaluation-runs",
    "interaction",
    "bench",
    "store",
    "serve",
    "operations",
    "plugins",
    "research",
    "glossary",
)  # order of the pages of the guide
CONCEPTS = ("tide", "why-not-the-mean", "contrast", "stopping", "trust", "hidden-tides")
RECIPES = ("shop", "factory", "benchmarks", "agriculture", "ads")
REFERENCE = ("log", "live", "bench", "research", "policies", "commands", "errors")
EVIDENCE = ("trust", "gallery", "performance", "compares", "rivals")
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)


def title(text: str) -> str:
    """Return the heading of a page without code marks."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert found is not None, f"a page without a heading: {text[:60]!r}"
    return found[1].replace("`", "")


def site_path(path: str) -> str:
    """Return the path of a repository file on the site, both relative to their roots.

    >>> site_path("docs/guide.md"), site_path("README.md"), site_path("CHANGELOG.md")
    ('guide.md', 'index.md', 'project/changelog.md')
    >>> site_path("src/tideproof/cli.py")
    'files/src/tideproof/cli.py.md'
    >>> site_path("docs/tutorials/1-log.py"), site_path("docs/trust/logs.csv"), site_path("docs/decisions")
    ('tutorials/1-log.md', 'trust/logs.csv', 'decisions/index.md')
    """
    if path == "README.md":
        return "index.md"
    if path in PROJECT:
        return f"project/{path.lower()}"
    if not path.startswith("docs/"):
        return f"files/{path}.md"
    path = path.removeprefix("docs/")
    if path.startswith("tutorials/") and path.endswith(".py"):
        return path.removesuffix(".py") + ".md"
    return path if PurePosixPath(path).suffix else f"{path}/index.md"


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to a page, except to its code blocks, and return it."""
    found, start = [], 0
    for fence in FENCE.finditer(text):
        found += [change(text[start : fence.start()]), fence[0]]
        start = fence.end()
    return "".join([*found, change(text[start:])])


def links(text: str) -> Iterator[str]:
    """Yield the targets of all links and pictures of a page."""
    found: list[str] = []
    outside_code(text, lambda part: found.extend(each[1] for each in LINK.findall(part)) or "")
    yield from found


def target(page: str, link: str) -> tuple[str, str] | None:
    """Return the file and the anchor that a link of a page leads to, or None for a web address.

    >>> target("docs/trust.md", "decisions/0011-unequal-noise.md#why"), target("README.md", "https://x.org/a")
    (('docs/decisions/0011-unequal-noise.md', 'why'), None)
    >>> target("docs/guide.md", "#run-it")
    ('docs/guide.md', 'run-it')
    """
    if re.match(r"[a-z]+:", link):
        return None
    path, _, place = link.partition("#")
    return (os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page), place


def relink(page: str, text: str, seen: Callable[[str], None]) -> str:
    """Return a page with links changed for the site; `seen` is called with each linked file."""

    def change(found: re.Match[str]) -> str:
        to = target(page, found[2])
        if to is None or found[2].startswith("#"):
            return found[0]
        seen(to[0])
        link = os.path.relpath(site_path(to[0]), os.path.dirname(site_path(page)) or ".")
        return f"{found[1]}{link}{'#' if to[1] else ''}{to[1]}{found[3]}"

    return outside_code(text, lambda part: LINK.sub(change, part))


def mark_sessions(text: str) -> str:
    """Return a page whose Python sessions are marked as such, so that prompts are not copied.

    Words after the language of a block, which only tests use, are removed, because Zensical would not show
    the block as code.

    >>> mark_sessions("```sh restore")
    '```sh'
    """
    text = re.sub(r"^(```\w+) .*$", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"^```python\n(?=>>> )", "```pycon\n", text, flags=re.MULTILINE)


def markdown() -> list[str]:
    """Return the paths of all Markdown pages of the repository that the site includes."""
    return [*(path.relative_to(ROOT).as_posix() for path in sorted(DOCS.rglob("*.md"))), *PROJECT]


def tutorials() -> list[str]:
    """Return the paths of the tutorials, which are notebooks stored as text."""
    return [path.relative_to(ROOT).as_posix() for path in sorted((DOCS / "tutorials").glob("*.py"))]


def navigation(titles: dict[str, str], reference: list[str]) -> list[object]:
    """Return the navigation as titles with a page or a list each; it contains every page of `titles` once."""
    left = dict(titles)

    def take(*names: str) -> list[object]:
        return [{left.pop(name): name} for name in names if name in left]

    def folder(name: str, *first: str) -> list[object]:
        known = [f"{name}/{page}.md" for page in first]
        return take(*known, *sorted(page for page in left if page.startswith(f"{name}/")))

    left["index.md"] = "Start"
    start = take("index.md")
    learn = folder("tutorials")
    concepts, recipes = folder("concepts", *CONCEPTS), folder("recipes", *RECIPES)
    names = [*take("reference.md"), *folder("reference", *REFERENCE)]
    made, policies = take(*reference), folder("policies")
    evidence = take(*(f"{name}.md" for name in EVIDENCE))
    evidence += [{"The paper": folder("paper")}, {"Counted": [*folder("trust"), *folder("contrast")]}]
    project = take(
        "project/changelog.md", "project/contributing.md", "project/vision.md", "release.md", "licences.md"
    )
    project += [{"Decisions": folder("decisions")}]
    files = folder("files")
    guide = take(*(f"{name}.md" for name in FIRST), *sorted(left))
    return [
        *start,
        {"Tutorials": learn},
        {"Guide": guide},
        {"Concepts": concepts},
        {"Recipes": recipes},
        {"Reference": [*names, {"Policies": policies}, {"From docstrings": made}]},
        {"Evidence": evidence},
        {"Project": [*project, {"Files": files}]},
    ]
