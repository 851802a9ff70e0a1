"""Write the gallery: `python tools/gallery [PAGE] [--data FOLDER]`, into `docs/gallery.md` by default.

`--data` also writes the data sets as CSV files.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gallery_page import gallery_page
from gallery_results import PARTS, analyze_entry, write_data

if __name__ == "__main__":
    parser = ArgumentParser(prog="tools/gallery", description="Write the gallery of real data sets.")
    parser.add_argument("page", nargs="?", type=Path, default=Path("docs/gallery.md"))
    parser.add_argument("--data", type=Path, help="a folder for the data sets as CSV files")
    words = parser.parse_args()
    if words.data is not None:
        write_data(words.data)
    words.page.write_text(
        gallery_page({title: [analyze_entry(x) for x in part] for title, part in PARTS.items()})
    )
    print(f"{words.page} is ready")
