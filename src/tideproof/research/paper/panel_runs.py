"""Running panels: the one place that simulates. Finished panels are kept, and not run again.

A panel counts as finished only when all of its replications are; an interrupted one starts over, so
that stopping and going on gives the same numbers as one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

from tideproof.errors import InputError
from tideproof.lab.engines import find_engine
from tideproof.lab.simulation import simulate
from tideproof.lab.simulation_plan import make_plan
from tideproof.lab.study import Study
from tideproof.progress import progress_bar
from tideproof.research.paper.panels import Panel

KEPT = "panels"

Show = Callable[[Panel, int], None]


def run_panels(
    wanted: Iterable[Panel],
    replications: int,
    seed: int,
    folder: Path,
    executor: Executor | None = None,
    engine: str = "cpu",
    show: Show = lambda panel, done: None,
) -> dict[str, Study]:
    """Return the study of each panel, from the folder where it is kept or by running it.

    `show` is called with a panel that runs and how many of its replications are done.
    """
    (folder / KEPT).mkdir(parents=True, exist_ok=True)
    wanted, studies = list(wanted), {}
    left = missing(wanted, replications, seed, folder, engine)
    find_engine(engine, executor).prepare(
        [make_plan(panel.world, panel.policies, panel.budgets, seed, panel.keep) for panel in left]
    )
    for panel in wanted:
        path = folder / KEPT / panel.file(replications, seed, engine)
        study = _kept(path)
        if study is None:
            study = _run(panel, replications, seed, executor, engine, show)
            study.save(path)
        studies[panel.name] = study
    return studies


def missing(
    wanted: Iterable[Panel], replications: int, seed: int, folder: Path, engine: str = "cpu"
) -> list[Panel]:
    """Return the panels that are not kept."""
    return [
        panel for panel in wanted if not (folder / KEPT / panel.file(replications, seed, engine)).exists()
    ]


def _run(
    panel: Panel, replications: int, seed: int, executor: Executor | None, engine: str, show: Show
) -> Study:
    def done(count: int) -> None:
        show(panel, count)

    study = simulate(
        panel.world, panel.policies, panel.budgets, replications, seed, executor, done, engine, panel.keep
    )
    if study.interrupted:
        raise KeyboardInterrupt
    return study


def _kept(path: Path) -> Study | None:
    try:
        return Study.load(path) if path.exists() else None
    except InputError:  # damaged from outside: run it again
        return None


@contextmanager
def panels_bar(left: list[Panel], replications: int) -> Iterator[Show]:
    """Show how much of the panels left to run is done; yields what `run_panels` calls."""
    before = {panel.name: sum(each.work for each in left[:i]) for i, panel in enumerate(left)}
    total = replications * sum(panel.work for panel in left)
    with progress_bar("", total, first="compiling") as bar:

        def show(panel: Panel, done: int) -> None:
            if panel.name not in before:  # kept, but damaged
                return
            number = f"{list(before).index(panel.name) + 1} of {len(before)}"
            bar(before[panel.name] * replications + panel.work * done, f"{number}: {panel.title}")

        yield show
