"""The search for a paper's sentences in the repository, on a made-up paper and a made-up repository."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent.parent / "tools" / "phrases.py"

PAPER = r"""
\documentclass{article}
\newcommand{\whale}{never print what only a preamble says to anyone}
\begin{document}
\title{Identifying the Best Arm \\in the Presence of Global Environment Shifts}
The old \emph{lighthouse} keeper counts $n_{ij} \geq 2$ ships~\citep[p.~3]{keeper1900}
before he lights his lamp. % a remark of the author which nobody who reads it can see
\begin{align*}
  one two three four five six seven eight
\end{align*}
He never sleeps in 40\% of nights, \href{https://example.org/a/b/c/d/e/f/g}{so they say}.
\end{document}
what follows the end of a document is no text
"""


@pytest.fixture
def look(tmp_path):
    """Writes a paper and a repository's files; returns what the tool prints, and its status."""

    def run(files, paper=PAPER):
        root = tmp_path / "repository"
        root.mkdir()
        subprocess.run(["git", "init", "--quiet", root], check=True)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        source = tmp_path / "paper.tex"
        if paper is not None:
            source.write_text(paper)
        done = subprocess.run(
            [sys.executable, TOOL, source, "--root", root], capture_output=True, text=True, check=False
        )
        return done.stdout.splitlines(), done.stderr, done.returncode

    return run


@pytest.mark.parametrize(
    ("text", "line", "phrase"),
    [
        (
            "# Ours\n\nOld lighthouse\nkeeper counts ships before he.",
            3,
            "old lighthouse keeper counts ships before he",
        ),
        (
            'X = (\n    f"THE OLD, lighthouse-"\n    "keeper counts\\n{n} 2 ships before"\n)\n',
            2,
            "the old lighthouse keeper counts ships before",
        ),
        ("counts n ships before he lights his lamp, they", 1, "counts ships before he lights his lamp"),
        ("he never sleeps in of nights so they sat", 1, "he never sleeps in of nights so they"),
    ],
    ids=["over lines", "a string in pieces", "mathematics, citations and numbers", "a link's text"],
)
def test_a_phrase_is_found_with_its_file_and_line(look, text, line, phrase):
    printed, _, status = look({"a/b.py": text})
    assert printed == [f"a/b.py:{line}: {phrase}", "1 phrases of 7 words or more also occur in paper.tex"]
    assert status == 1


def test_two_phrases_of_a_file_are_two_lines(look):
    printed, _, status = look(
        {
            "a.md": "the old lighthouse keeper counts ships before\nand he never sleeps in nights\nhe lights his lamp he never sleeps\n"
        }
    )
    assert printed[:-1] == [
        "a.md:1: the old lighthouse keeper counts ships before",
        "a.md:3: he lights his lamp he never sleeps",
    ]
    assert status == 1


@pytest.mark.parametrize(
    "text",
    [
        "old lighthouse keeper counts ships before",
        "never print what only a preamble says to anyone",
        "a remark of the author which nobody who reads it can see",
        "one two three four five six seven eight",
        "what follows the end of a document is no text",
        "Somebody (2024), Identifying the best arm in the presence\nof global environment shifts, ECAI.",
        b"\xff\xfe the old lighthouse keeper counts ships before he lights his lamp",
    ],
    ids=[
        "six words",
        "preamble",
        "comment",
        "displayed mathematics",
        "after the end",
        "the title",
        "no text",
    ],
)
def test_what_is_not_the_papers_prose_is_not_found(look, text):
    printed, _, status = look({"a.md": text})
    assert printed == ["0 phrases of 7 words or more also occur in paper.tex"]
    assert status == 0


def test_what_git_ignores_is_not_read(look):
    files = {".gitignore": "built/\n", "built/a.md": "the old lighthouse keeper counts ships before he"}
    assert look(files)[2] == 0


@pytest.mark.parametrize(
    ("paper", "says"),
    [(None, "cannot read the paper"), ("", "has no 7 words in a row")],
    ids=["missing", "empty"],
)
def test_a_paper_that_cannot_be_read_is_no_pass(look, paper, says):
    printed, problem, status = look({"a.md": "text"}, paper)
    assert (printed, status) == ([], 2)
    assert says in problem
