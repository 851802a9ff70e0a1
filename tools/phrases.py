"""Find phrases of a paper that also occur in this repository: `python tools/phrases.py paper.tex`.

A phrase is a run of seven words or more. Case, punctuation and line ends do not count. Commands, formulas
and citations of the paper's LaTeX source are left out. On both sides, so is everything without two letters,
such as numbers and symbols. All text files of the repository are read: pages, code with its comments and
strings, tables. Exit code: 0 if no phrase is found, 1 if some are found, 2 if the paper cannot be read.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LEAST = 7  # words of a phrase

ALLOWED = {
    "Identifying the Best Arm in the Presence of Global Environment Shifts": "the title, in references",
    "worst-case, cannot-sample-all-arms, sample-1-to-10-per-arm, general": "names of the four scenarios",
    "MDM general, MDM cannot-sample-all-arms, SC general, SC cannot-sample-all-arms": "names of four panels",
}

_WORD = re.compile(r"[^\W\d_]{2,}|\ba\b", re.IGNORECASE)
_MATHS = "equation|align|eqnarray|gather|multline|math|displaymath"
_LEFT_OUT = [
    re.compile(r"(?<!\\)%.*"),  # LaTeX comments
    re.compile(rf"\\begin\{{({_MATHS})(\*?)\}}.*?\\end\{{\1\2\}}", re.DOTALL),
    re.compile(r"(?<!\\)\$\$.*?(?<!\\)\$\$", re.DOTALL),
    re.compile(r"(?<!\\)\$.*?(?<!\\)\$", re.DOTALL),
    re.compile(r"\\\[.*?\\\]|\\\(.*?\\\)", re.DOTALL),
    re.compile(r"\\(?:cite\w*|\w*ref|label|includegraphics|vspace|hspace)\*?(?:\[[^\]]*\])*\{[^}]*\}"),
    re.compile(r"\\href\{[^}]*\}"),  # the address; the text of the link stays
    re.compile(r"\\(?:begin|end)\{[^}]*\}(?:\[[^\]]*\])?(?:\{[^}]*\})?"),
    re.compile(r"\\[A-Za-z]+\*?|\\."),  # the name of a command; the text between its braces stays
]


class SharedPhrase(NamedTuple):
    """A phrase of the paper that was found in a file, and the line where it begins."""

    path: Path
    line: int
    phrase: str


def main() -> int:
    """Compare the repository with the paper, print the shared phrases and return the exit code."""
    options = _options()
    try:
        source = options.paper.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        print(f"cannot read the paper: {problem}", file=sys.stderr)
        return 2
    paper_phrases = phrases(words(plain(source)))
    if not paper_phrases:
        print(
            f"{options.paper} has no {LEAST} words in a row; it must be the paper's LaTeX source",
            file=sys.stderr,
        )
        return 2
    for name in ALLOWED:
        paper_phrases -= phrases(words(name))
    found = [
        hit for path in _texts(options.root) for hit in _shared_phrases(options.root, path, paper_phrases)
    ]
    for hit in found:
        print(f"{hit.path}:{hit.line}: {hit.phrase}")
    print(f"{len(found)} phrases of {LEAST} words or more also occur in {options.paper.name}")
    return 1 if found else 0


def plain(source: str) -> str:
    r"""Return the prose of a LaTeX document without its preamble; `\begin{document}` may be missing."""
    _, begin, body = source.partition(r"\begin{document}")
    text = body.partition(r"\end{document}")[0] if begin else source
    for pattern in _LEFT_OUT:
        text = pattern.sub(" ", text)
    return text


def words(text: str) -> list[str]:
    """Return the words of two letters or more, and the word "a", in lower case."""
    return [match.group().lower() for match in _WORD.finditer(text)]


def phrases(row: list[str]) -> set[tuple[str, ...]]:
    """Return every run of `LEAST` words."""
    return {tuple(row[i : i + LEAST]) for i in range(len(row) - LEAST + 1)}


def _shared_phrases(root: Path, path: Path, paper_phrases: set[tuple[str, ...]]) -> Iterator[SharedPhrase]:
    """Yield the longest phrases of one file in which every run of `LEAST` words occurs in `paper_phrases`."""
    text = (root / path).read_text(encoding="utf-8").replace("\\n", "  ")  # an escape is not a letter
    starts = [match.start() for match in _WORD.finditer(text)]
    row = words(text)
    begin = end = 0  # first word of the current phrase, and the word after it
    for i in range(len(row) - LEAST + 2):
        if tuple(row[i : i + LEAST]) in paper_phrases:
            begin, end = (begin if end else i), i + LEAST
        elif end:
            yield SharedPhrase(path, text.count("\n", 0, starts[begin]) + 1, " ".join(row[begin:end]))
            end = 0


def _texts(root: Path) -> list[Path]:
    """Return the text files under `root` that git tracks or would add."""
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
