"""Build the documentation site: `python tools/site [--short] [FOLDER]`, into `site` by default (`make site`).

Pages are copied to a temporary folder with changed links, notebooks are run, the reference is written, and
Zensical makes HTML from all. Files that it would load from other servers are added. `--short` runs short
notebooks.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import notebooks  # noqa: E402
import pages  # noqa: E402
import reference  # noqa: E402
from tideproof.draw.colour_palette import DARK, LIGHT  # noqa: E402

SHIM = "https://unpkg.com/iframe-worker/shim"  # the address that Zensical uses for search without a server
INLINE = re.compile(r"(?<!<pre>)(?<!</span>)(?<!</a>)<code>([^<\n]{1,24})</code>")  # short inline code
ASSETS = {".png", ".svg", ".csv", ".gz", ".pdf", ".json"}


def build(site: Path, short: bool = False) -> None:
    """Build the site into a folder."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        titles = stage(work / "docs", short)
        made = [path for path in titles if path.startswith("api/")]
        text = (HERE / "zensical.toml").read_text()
        nav = json.dumps(pages.navigation(titles, made), ensure_ascii=False)
        nav = re.sub(r'("(?:[^"\\]|\\.)*"): ', r"\1 = ", nav)  # turns a JSON object into a TOML table
        for name, path in (("SOURCE", pages.ROOT / "src"), ("ATTRIBUTES", HERE / "attributes.py")):
            text = text.replace(f"[{name}]", f"[{json.dumps(str(path))}]")
        (work / "zensical.toml").write_text(text.replace("NAVIGATION", nav))
        command = [str(Path(sys.executable).parent / "zensical"), "build"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True)
        complaints = [line for line in done.stdout.splitlines() if "arning" in line or "rror" in line]
        if done.returncode or complaints:
            sys.exit(done.stdout + done.stderr)
        finish(work / "site")
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(work / "site", site)


def stage(docs: Path, short: bool) -> dict[str, str]:
    """Write all pages in the form that Zensical reads; return their titles by path."""
    titles: dict[str, str] = {}
    linked: set[str] = set()

    def write(path: str, text: str) -> None:
        (docs / path).parent.mkdir(parents=True, exist_ok=True)
        (docs / path).write_text(text)
        titles[path] = pages.title(text)

    for page in pages.markdown():
        text = (pages.ROOT / page).read_text()
        write(pages.site_path(page), pages.mark_sessions(pages.relink(page, text, linked.add)))
    os.environ.update({"TIDEPROOF_SHORT": "1"} if short else {})
    for page in pages.tutorials():
        book, shown = notebooks.run(pages.ROOT / page)
        to = pages.site_path(page)
        text = pages.relink(page, notebooks.page(book, shown, Path(page).stem), linked.add)
        own = f"{Path(page).stem}.md"  # the text of the notebook is a file beside it, not another page
        write(to, text.replace(f"[text]({own})", f"[text]({Path(page).name})"))
        shutil.copy(pages.ROOT / page, docs / "tutorials")
        (docs / to).with_suffix(".ipynb").write_text(notebooks.notebook(book, shown))
    for path, text in reference.pages():
        write(path, text)
    for path in sorted(pages.DOCS.rglob("*")):
        if path.suffix in ASSETS:
            to = docs / path.relative_to(pages.DOCS)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
    for path in sorted(linked):
        if not path.startswith("docs/") and path not in (*pages.PROJECT, "README.md"):
            write(pages.site_path(path), code(path))
        elif (pages.ROOT / path).is_dir() and not (pages.ROOT / path / "README.md").exists():
            write(pages.site_path(path), listing(path))
    shutil.copy(HERE / "extra.css", docs)
    (docs / "colours.css").write_text(colours())
    shutil.copy(HERE / "worker.js", docs)
    return titles


def code(path: str) -> str:
    """Return a page that shows a file or a folder of the repository."""
    at = pages.ROOT / path
    files = (
        [at]
        if at.is_file()
        else sorted(file for file in at.rglob("*") if file.suffix in (".py", ".toml", ".md"))
    )
    parts = [f"# {path}\n"]
    for file in files:
        name = file.relative_to(pages.ROOT).as_posix()
        kind = {".py": "python", ".toml": "toml"}.get(file.suffix, "text")
        parts.append(f'````{kind} title="{name}"\n{file.read_text().rstrip()}\n````\n')
    return "\n".join(parts)


def listing(path: str) -> str:
    """Return a page that lists the pages of a folder."""
    found = sorted((pages.ROOT / path).glob("*.md"))
    lines = [f"* [{pages.title(file.read_text())}]({file.name})" for file in found]
    return "\n".join([f"# {Path(path).name.capitalize()}", "", *lines, ""])


def colours() -> str:
    """Return CSS with the colours of pictures, for the light and the dark scheme of the site."""
    return "".join(
        f"[data-md-color-scheme={scheme}] .tideproof {{ color-scheme: {side}; "
        + " ".join(f"--{role}: {colour};" for role, colour in roles.items())
        + " }\n"
        for scheme, side, roles in (("default", "light", LIGHT), ("slate", "dark", DARK))
    )


def finish(site: Path) -> None:
    """Replace the search script, mark short inline code, and remove files that only servers need."""
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text().replace(SHIM, f"{up}worker.js")
        page.write_text(INLINE.sub(r'<code class="whole">\1</code>', text))
    for made in (
        "sitemap.xml",
        "sitemap.xml.gz",
        "objects.inv",
        "search.json",
    ):  # search.json has the same content as search.js
        (site / made).unlink(missing_ok=True)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--short"]
    build(Path(words[0] if words else "site").resolve(), "--short" in sys.argv)
