"""Run all benchmarks with a report, or those named, and print Markdown (`make bench`)."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    here = Path(__file__)
    found = (path for path in here.parent.glob("*.py") if "\ndef report(" in path.read_text())
    names = sys.argv[1:] or sorted(path.stem for path in found)
    for name in names:
        for part in import_module(name).report():
            print(part, end="\n\n", flush=True)


if __name__ == "__main__":
    main()
