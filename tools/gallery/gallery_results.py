"""Both analyses of each data set of the gallery, by tideproof and by a textbook."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner

import tideproof as tp
from block_entries import ENTRIES as BLOCKS
from count_entries import ENTRIES as COUNTS
from gallery_entry import GalleryEntry, TextbookAnswer
from tideproof.cli import app
from trial_entries import ENTRIES as TRIALS

ENTRIES: tuple[GalleryEntry, ...] = (*BLOCKS, *COUNTS, *TRIALS)
PARTS = {"Designed experiments": BLOCKS, "Counts and shares": COUNTS, "Trials": TRIALS}


@dataclass(frozen=True, slots=True)
class GalleryResult:
    """The answers of tideproof and of the textbook to the question of one data set.

    Attributes
    ----------
    entry : the data set.
    rows : its rows.
    found : the JSON that the command prints.
    ours : tideproof's comparison of the two arms of the entry; None if they cannot be compared.
    textbook : the textbook's comparison of them.
    """

    entry: GalleryEntry
    rows: pd.DataFrame
    found: dict[str, Any]
    ours: TextbookAnswer | None
    textbook: TextbookAnswer


def analyze_entry(entry: GalleryEntry) -> GalleryResult:
    """Return both analyses of a data set; raise an error if options that should give equal numbers do not."""
    rows = entry.load()
    textbook = entry.textbook(rows, entry.options, entry.pair)
    if entry.matching is not None:
        matched = compare_arms(entry, rows, entry.matching)
        assert matched is not None, entry.name
        expected, got = ([x.estimate, x.low, x.high, x.p] for x in (textbook, matched))
        if not np.allclose(got, expected, rtol=1e-4):
            raise AssertionError(f"{entry.name} with {entry.matching}: {got}; the textbook: {expected}")
    return GalleryResult(entry, rows, run_command(entry, rows), compare_arms(entry, rows), textbook)


def compare_arms(entry: GalleryEntry, rows: pd.DataFrame, more: Any = None) -> TextbookAnswer | None:
    """Return tideproof's comparison of the two arms of an entry, with further options.

    It is None if the arms cannot be compared.
    """
    fit = tp.fit(rows.to_dict("list"), **{**entry.options, **(more or {})})
    if fit.decision.standing == "not_comparable":
        return None
    found = fit.contrast(*entry.pair)
    if found.low is None or found.high is None or found.p is None:
        raise AssertionError(f"{entry.name}: the comparison of {entry.pair} has no interval")
    return TextbookAnswer(found.estimate, found.low, found.high, found.p, found.scale)


def run_command(entry: GalleryEntry, rows: pd.DataFrame) -> dict[str, Any]:
    """Return the JSON that the command of an entry prints."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{entry.name}.csv")
        rows.to_csv(path, index=False)
        words = [str(path) if word == path.name else word for word in entry.arguments]
        done = CliRunner().invoke(app, [*words, "--json", "--no-progress"])
    if done.exit_code not in (0, 3, 4, 5):
        raise AssertionError(f"{entry.command}: {done.output}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def write_data(folder: Path) -> None:
    """Write all data sets as CSV files, which the commands of the page read."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in ENTRIES:
        entry.load().to_csv(folder / f"{entry.name}.csv", index=False)
