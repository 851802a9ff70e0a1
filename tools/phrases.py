"""Find phrases of a paper that stand in this repository too: `python tools/phrases.py paper.tex`.

A phrase is seven words in a row or more. Case, punctuation and line ends do not count; commands, mathematics
and citations of the paper's LaTeX are left out, and so, on both sides, is what has no two letters: numbers
and symbols. Every text of the repository is read: pages, code with its comments and strings, tables.
Exit code: 0 when nothing is found, 1 when something is, 2 when the paper cannot be read.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LEAST = 7

ALLOWED = {
    "Identifying the Best Arm in the Presence of Global Environment Shifts": "the title, in references",
    "worst-case, cannot-sample-all-arms, sample-1-to-10-per-arm, general": "names of the four scenarios",
    "MDM general, MDM cannot-sample-all-arms, SC general, SC cannot-sample-all-arms": "names of four panels",
}

_WORD = re.compile(r"[^\W\d_]{2,}|\ba\b", re.IGNORECASE)
_MATHS = "equation|align|eqnarray|gather|multline|math|displaymath"
_LEFT_OUT = [
    re.compile(r"(?<!\\)%.*"),  # comments
    re.compile(rf"\\begin\{{({_MATHS})(\*?)\}}.*?\\end\{{\1\2\}}", re.DOTALL),
    re.compile(r"(?<!\\)\$\$.*?(?<!\\)\$\$", re.DOTALL),
    re.compile(r"(?<!\\)\$.*?(?<!\\)\$", re.DOTALL),
    re.compile(r"\\\[.*?\\\]|\\\(.*?\\\)", re.DOTALL),
    re.compile(r"\\(?:cite\w*|\w*ref|label|includegraphics|vspace|hspace)\*?(?:\[[^\]]*\])*\{[^}]*\}"),
    re.compile(r"\\href\{[^}]*\}"),  # its text stays
    re.compile(r"\\(?:begin|end)\{[^}]*\}(?:\[[^\]]*\])?(?:\{[^}]*\})?"),
    re.compile(r"\\[A-Za-z]+\*?|\\."),  # a command's name; what is between its braces stays
]


class Found(NamedTuple):
    """A phrase of ours that is the paper's, and where it begins."""

    path: Path
    line: int
    phrase: str


def main() -> int:
    """Parse, compare, print."""
    options = _options()
    try:
        source = options.paper.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        print(f"cannot read the paper: {problem}", file=sys.stderr)
        return 2
    theirs = phrases(words(plain(source)))
    if not theirs:
        print(f"{options.paper} has no {LEAST} words in a row: is it the paper's source?", file=sys.stderr)
        return 2
    for name in ALLOWED:
        theirs -= phrases(words(name))
    found = [hit for path in _texts(options.root) for hit in _shared(options.root, path, theirs)]
    for hit in found:
        print(f"{hit.path}:{hit.line}: {hit.phrase}")
    print(f"{len(found)} phrases of {LEAST} words or more stand in {options.paper.name} too")
    return 1 if found else 0


def plain(source: str) -> str:
    r"""The prose of a LaTeX document, without its preamble; `\begin{document}` may be missing."""
    _, begin, body = source.partition(r"\begin{document}")
    text = body.partition(r"\end{document}")[0] if begin else source
    for pattern in _LEFT_OUT:
        text = pattern.sub(" ", text)
    return text


def words(text: str) -> list[str]:
    """Words of two letters or more, and the word "a", in lower case."""
    return [match.group().lower() for match in _WORD.finditer(text)]


def phrases(row: list[str]) -> set[tuple[str, ...]]:
    """Every run of `LEAST` words."""
    return {tuple(row[i : i + LEAST]) for i in range(len(row) - LEAST + 1)}


def _shared(root: Path, path: Path, theirs: set[tuple[str, ...]]) -> Iterator[Found]:
    """Longest phrases of one file whose every run of `LEAST` words is in `theirs`."""
    text = (
        (root / path).read_text(encoding="utf-8").replace("\\n", "  ")
    )  # an escape in a string is no letter
    places = [match.start() for match in _WORD.finditer(text)]
    row = words(text)
    begin = end = 0  # of the phrase at hand, in words
    for i in range(len(row) - LEAST + 2):
        if tuple(row[i : i + LEAST]) in theirs:
            begin, end = (begin if end else i), i + LEAST
        elif end:
            yield Found(path, text.count("\n", 0, places[begin]) + 1, " ".join(row[begin:end]))
            end = 0


def _texts(root: Path) -> list[Path]:
    """What git knows or would add under `root`, less what is no text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
        text=True,
    )
    return [path for name in listed.stdout.split("\0") if name and _is_text(root / (path := Path(name)))]


def _is_text(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return True


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paper", type=Path, help="LaTeX source of the paper")
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent, help="repository to read")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
