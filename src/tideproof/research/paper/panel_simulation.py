"""Simulation of panels (worlds with policies and budgets); finished panels are stored and not run again.

A panel is stored only when all of its replications are done, and an interrupted panel starts over. A run with
interruptions therefore gives the same numbers as a run without.
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

PANEL_FOLDER = "panels"

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
    """Return the results of each panel (world with policies), loaded from a folder or simulated now.

    New results are stored in the folder. `show` is called with the running panel and its number of finished
    replications.
    """
    (folder / PANEL_FOLDER).mkdir(parents=True, exist_ok=True)
    wanted, studies = list(wanted), {}
    left = missing_panels(wanted, replications, seed, folder, engine)
    find_engine(engine, executor).prepare(
        [make_plan(panel.world, panel.policies, panel.budgets, seed, panel.keep) for panel in left]
    )
    for panel in wanted:
        path = folder / PANEL_FOLDER / panel.file_name(replications, seed, engine)
        study = _load_study(path)
        if study is None:
            study = _run(panel, replications, seed, executor, engine, show)
            study.save(path)
        studies[panel.name] = study
    return studies


def missing_panels(
    wanted: Iterable[Panel], replications: int, seed: int, folder: Path, engine: str = "cpu"
) -> list[Panel]:
    """Return the panels (worlds with policies) whose simulation results the folder does not contain yet."""
    return [
        panel
        for panel in wanted
        if not (folder / PANEL_FOLDER / panel.file_name(replications, seed, engine)).exists()
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


def _load_study(path: Path) -> Study | None:
    try:
        return Study.load(path) if path.exists() else None
    except InputError:  # a damaged file is replaced by a new run
        return None


@contextmanager
def panels_bar(left: list[Panel], replications: int) -> Iterator[Show]:
    """Show a progress bar for the remaining simulations, and yield the function that advances it."""
    before = {panel.name: sum(each.work for each in left[:i]) for i, panel in enumerate(left)}
    total = replications * sum(panel.work for panel in left)
    with progress_bar("", total, first="compiling") as bar:

        def show(panel: Panel, done: int) -> None:
            if panel.name not in before:  # a stored file turned out to be damaged
                return
            number = f"{list(before).index(panel.name) + 1} of {len(before)}"
            bar(before[panel.name] * replications + panel.work * done, f"{number}: {panel.title}")

        yield show
