"""Colours of all pictures and pages: by name for matplotlib, and as CSS variables, light and dark.

A role such as "tide" has the same meaning everywhere. matplotlib pictures have a white background and use
LIGHT.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

# Roles: ink, quiet: text; line: grids, frames; paper, card: backgrounds; tide, band: estimates, and their
# intervals; raw: values without adjustment; good, half, bad: results; share0 to share5: arms in bars of
# traffic shares.
LIGHT: Mapping[str, str] = {
    "ink": "#22313f",
    "quiet": "#66727f",
    "line": "#dde3e8",
    "paper": "#ffffff",
    "card": "#f7f9fa",
    "tide": "#2a6f97",
    "band": "#2a6f9733",
    "raw": "#d1495b",
    "good": "#1b7f5c",
    "half": "#9c5d00",
    "bad": "#b3303f",
    "share0": "#2a6f97",
    "share1": "#e69f00",
    "share2": "#1b7f5c",
    "share3": "#cc79a7",
    "share4": "#7b4ea3",
    "share5": "#9aa5b1",
}
DARK: Mapping[str, str] = {
    "ink": "#e6ebef",
    "quiet": "#9aa5b1",
    "line": "#34414d",
    "paper": "#14191e",
    "card": "#1b2229",
    "tide": "#6db3d8",
    "band": "#6db3d833",
    "raw": "#f07f8d",
    "good": "#58c79b",
    "half": "#e0a458",
    "bad": "#f07f8d",
    "share0": "#6db3d8",
    "share1": "#e0a458",
    "share2": "#58c79b",
    "share3": "#e79bc4",
    "share4": "#b295d8",
    "share5": "#66727f",
}

INK, TIDE, RAW, PAPER = (LIGHT[role] for role in ("ink", "tide", "raw", "paper"))
FAINT = "#9aa5b1"  # unobtrusive lines on white
NOTE = "#595959"  # small notes
SHADE = "#f1f3f5"  # background of every other environment

# Hues of curves and arms, which also differ in lightness.
BLACK, NAVY, BLUE, STEEL = "#111111", "#08306b", "#5b7fb0", "#8fa8c8"
PALE, ICE, ASH = "#c8d4e3", "#a8cbe8", "#bdbdbd"
RED, ORANGE, OCHRE, BROWN, GREEN = "#c2332d", "#e6862d", "#b59a00", "#6b4b12", "#1a9e77"
VIOLET, MAGENTA, PINK, ROSE = "#7b4ea3", "#b5127a", "#d46a9f", "#efc3da"
# The palette of Okabe and Ito, from dark to light, for colour-blind readers and grey print.
SERIES = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def css(selector: str = ":root") -> str:
    """Return CSS that defines the colours as variables, light or dark as the reader's device prefers."""
    dark = f"@media (prefers-color-scheme: dark) {{ {selector} {{ {_variables(DARK)} }} }}"
    return f"{selector} {{ color-scheme: light dark; {_variables(LIGHT)} }}\n{dark}\n"


def _variables(colours: Mapping[str, str]) -> str:
    """Return CSS declarations of one variable for each colour role, such as `--ink: #22313f;`."""
    return " ".join(f"--{role}: {colour};" for role, colour in colours.items())


def chart_css(scope: str = "") -> str:
    """Return the CSS of chart elements, limited to the selector `scope`; its colours are CSS variables."""
    return scoped_css(files("tideproof.draw").joinpath("pictures.css").read_text(encoding="utf-8"), scope)


def scoped_css(style: str, scope: str) -> str:
    """Return CSS in which every rule begins with the selector `scope`."""
    return re.sub(r"^(?=\S)", scope, style, flags=re.MULTILINE)
