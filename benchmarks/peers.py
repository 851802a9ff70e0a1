"""Ask and tell in a SQLite store, compared with Optuna's SQLite and journal storages.

    python benchmarks/peers.py [trials before]

One choice among five arms, and a reward for each. Optuna uses its random sampler, which computes nothing.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna

from lab import table
from store import (
    ARMS,
    PROCESSES,
    SECONDS,
    filled,
    machine,
    middle,
    one_commit,
    open_and_ask,
    ratio,
    times,
    together,
)

ROUNDS = 3


def study(storage: Any) -> Callable[[], None]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made = optuna.create_study(
        study_name="bench", storage=storage, sampler=optuna.samplers.RandomSampler(), load_if_exists=True
    )

    def work() -> None:
        trial = made.ask()
        trial.suggest_categorical("arm", ARMS)
        made.tell(trial, 0.5)

    return work


def sqlite(path: Path) -> Callable[[], None]:
    return study(f"sqlite:///{path.with_suffix('.optuna')}")


def journal(path: Path) -> Callable[[], None]:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return study(JournalStorage(JournalFileBackend(str(path.with_suffix(".journal")))))


WORKS = {
    "bare": ("one bare commit", one_commit),
    "ours": ("tideproof, SQLite", open_and_ask),
    "journal": ("Optuna, journal file", journal),
    "sqlite": ("Optuna, SQLite", sqlite),
}


def report(before: int = 300) -> Iterator[str]:
    """Yield the tables as Markdown."""
    version = f"Optuna {optuna.__version__}"
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "bench.db"
        filled(path, before).close()
        works = {each: make(path) for each, (_, make) in WORKS.items()}
        for each in ("journal", "sqlite"):
            for _ in range(before):
                works[each]()
        found = times(works, rounds=10, each=5)
        yield f"## Beside Optuna\n\n{machine()}. {version}."
        header = ["", "median", "times ours"]
        rows = [
            [words, middle(found[each]), f"{ratio(found[each], found['ours']):.2f}"]
            for each, (words, _) in WORKS.items()
        ]
        yield table(f"One ask + tell, one process, {before:,} told before, in turns.", header, rows)
        makers = {each: make for each, (_, make) in WORKS.items()}
        many, failed = together(path, makers, ROUNDS)
        rows = [
            [words, f"{statistics.median(many[each]):,.1f} a second",
             f"{statistics.median(a / b for a, b in zip(many['ours'], many[each], strict=True) if b):.1f}",
             str(failed[each])]
            for each, (words, _) in WORKS.items()
        ]  # fmt: skip
        title = f"{PROCESSES} processes at once on one file, ask + tell of all together, in turns of {SECONDS:g} s."
        yield table(title, ["", "median", "ours is so many times as fast", "errors"], rows)


if __name__ == "__main__":
    for part in report(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        print(part, end="\n\n", flush=True)
