"""Picture with several SVG panels that notebooks display and that can be saved as an SVG or HTML file."""

from __future__ import annotations

import html
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tideproof.draw.colour_palette import DARK, LIGHT, chart_css, css, scoped_css
from tideproof.draw.svg_elements import WIDTH, element
from tideproof.errors import InputError
from tideproof.files import check_writable, require_path, write_text_atomically

_FORMATS = (".svg", ".html")
_EDGE = 10.0  # margin around the picture
_LINE, _LETTERS = 17.0, 60  # height of a line of text in a saved picture, and its maximum length
_LOOK = """
svg { display: block; width: 100%; height: auto; overflow: visible; }
text { fill: var(--quiet); font-size: 13px; }
text.name { fill: var(--ink); }
"""
_PAGE = """
.tideproof { color: var(--ink); background: var(--paper); padding: .8rem; border-radius: .4rem;
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
.tideproof .panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(320px, 100%), 1fr));
  gap: 1.2rem; }
.tideproof .said { margin: 0 0 .8rem; font-weight: 600; overflow-wrap: anywhere; }
.tideproof figure { margin: 0; max-width: 640px; }
.tideproof figcaption { margin: 0 0 .5rem; color: var(--quiet); font-size: .85em; font-style: normal;
  text-align: left; }
.tideproof figcaption b { color: var(--ink); font-size: 1.1em; display: block; }
"""

_SMALL_SCREEN = "@media (max-width: 560px) { .tideproof text { font-size: 17px; } }\n"


class PicturePanel(Protocol):
    """Panel of a picture: an SVG drawing with a title and an explanation."""

    @property
    def title(self) -> str:
        """Title of the panel of a picture."""

    @property
    def words(self) -> str:
        """Explanation of how to read the drawing of a panel."""

    @property
    def picture(self) -> str:
        """Drawing of the panel, as SVG."""


class Picture:
    """Picture of a sentence and several panels below it; notebooks display it, and it can be saved to a file.

    Attributes
    ----------
    said : the sentence above the panels.
    panels : the panels; each has `title`, `words` and `picture`, a string of SVG.
    """

    def __init__(self, said: str, panels: Sequence[PicturePanel]) -> None:
        self.said, self.panels = said, tuple(panels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the picture as a self-contained file: `.svg` or `.html`, depending on the suffix of `path`."""
        suffix = Path(require_path(path)).suffix.lower()
        if suffix not in _FORMATS:
            raise InputError(
                f"the name of a picture must end in {' or '.join(_FORMATS)}, not {os.fspath(path)!r}"
            )
        check_writable(path)
        page = f'<!doctype html>\n<meta charset="utf-8">\n<title>{html.escape(self.said)}</title>\n'
        write_text_atomically(path, self.svg if suffix == ".svg" else page + self._repr_html_())

    @property
    def svg(self) -> str:
        """All panels of the picture as one SVG drawing, with colours for a light and a dark theme."""
        y, inside = _EDGE, []
        for line in _wrapped(self.said, 48):
            y += 20.0
            inside.append(_text(line, y, "said"))
        for panel in self.panels:
            y += 34.0
            inside.append(_text(panel.title, y, "title"))
            for line in _wrapped(panel.words, _LETTERS):
                y += _LINE
                inside.append(_text(line, y, "words"))
            height = _height(panel.picture)
            y += 8.0
            place = f'<svg x="{_EDGE:g}" y="{y:g}" width="{WIDTH}" height="{height:g}" '
            inside.append(panel.picture.replace("<svg ", place, 1))
            y += height
        wide, high = WIDTH + 2.0 * _EDGE, y + _EDGE
        dark = f"@media (prefers-color-scheme: dark) {{ {_coloured(DARK)} }}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" '
            f'width="{1.4 * wide:.0f}" height="{1.4 * high:.0f}" class="tideproof" role="img" '
            f'aria-label="{html.escape(self.said)}">'
            f"<style>{_coloured(LIGHT)} {dark}</style>"
            f"{element('rect', x=0.0, y=0.0, width=wide, height=high, rx=6.0, class_='paper')}"
            f"{''.join(inside)}</svg>\n"
        )

    def _repr_html_(self) -> str:
        shown = "".join(
            f"<figure><figcaption><b>{html.escape(panel.title)}</b>{html.escape(panel.words)}</figcaption>"
            f"{panel.picture}</figure>"
            for panel in self.panels
        )
        look = (
            css(".tideproof")
            + _PAGE
            + chart_css(".tideproof ")
            + scoped_css(_LOOK, ".tideproof ")
            + _SMALL_SCREEN
        )
        return (
            f'<div class="tideproof"><style>{look}</style><p class="said">{html.escape(self.said)}</p>'
            f'<div class="panels">{shown}</div></div>'
        )

    def __repr__(self) -> str:
        return f"<Picture: {', '.join(panel.title for panel in self.panels)}; .save('picture.svg') keeps it>"


def save_if_requested(picture: Picture, path: str | os.PathLike[str] | None) -> Picture:
    """Save a picture if `path` is not None, and return the picture."""
    if path is not None:
        picture.save(path)
    return picture


def _coloured(colours: Mapping[str, str]) -> str:
    """Return the CSS of a saved picture with literal colours, because some programs ignore CSS variables."""
    own = (
        ".tideproof text { fill: var(--quiet); font: 13px system-ui, -apple-system, Roboto, sans-serif; }\n"
        ".tideproof text.name, .tideproof text.title, .tideproof text.said { fill: var(--ink); }\n"
        ".tideproof text.title { font-size: 15px; font-weight: 600; }\n"
        ".tideproof text.said { font-size: 16px; font-weight: 600; }\n"
        ".tideproof text.words { font-size: 13.5px; }\n"
        ".tideproof .paper { fill: var(--paper); }\n"
    )
    style = own + chart_css(".tideproof ")
    return re.sub(r"var\(--(\w+)\)", lambda found: colours[found[1]], style)


def _wrapped(words: str, letters: int) -> list[str]:
    """Wrap text into lines of at most `letters` letters; keep a number and its percent sign together."""
    return textwrap.wrap(words.replace(" %", "\N{NO-BREAK SPACE}%"), letters)


def _text(content: str, y: float, kind: str) -> str:
    """Return one line of SVG text at the left margin of the picture."""
    return element("text", html.escape(content), x=_EDGE, y=y, class_=kind)


def _height(drawing: str) -> float:
    """Return the height of an SVG drawing, as its view box gives it."""
    match = re.search(r'viewBox="0 0 \S+ ([\d.]+)"', drawing)
    assert match is not None
    return float(match[1])
