"""Draw file names and first lines of docstrings, for a reader who has never seen the project.

`python tools/reader_sample.py --seed 7 files` prints 60 paths, and `... docstrings` 100 first lines without
their names. The reader says what each file contains, or what each line means; the answers are then compared
with the code.
"""

from __future__ import annotations

import argparse
import ast
import random
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "tideproof"


def main() -> None:
    """Print a numbered sample."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["files", "docstrings"])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, help="60 files or 100 docstrings unless it is given")
    parser.add_argument("--key", action="store_true", help="print where each docstring stands, too")
    options = parser.parse_args()
    paths = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    if options.what == "files":
        lines = [str(path.relative_to(SOURCE)) for path in paths]
    else:
        lines = [
            f"{line}    [{path.relative_to(SOURCE)} {name}]" if options.key else line
            for path in paths
            for name, line in _first_lines(path)
        ]
    count = options.count or (60 if options.what == "files" else 100)
    for number, line in enumerate(random.Random(options.seed).sample(lines, count), 1):
        print(f"{number:3}. {line}")


def _first_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the first docstring line of a module and of everything defined in it."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", "module"), text.splitlines()[0]


if __name__ == "__main__":
    main()
