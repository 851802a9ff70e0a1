"""Everything in one folder: run what is missing, draw, check, and write the page."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tideproof._version import __version__
from tideproof.checks import require_whole_number
from tideproof.draw.matplotlib_figure import save_for_print
from tideproof.errors import InputError, UnknownName
from tideproof.files import check_picture_path, replace_atomically, write_text_atomically
from tideproof.lab.engines import find_engine
from tideproof.lab.executors import processes
from tideproof.lab.keyboard_interrupts import awaited, ctrl_c_waits
from tideproof.research.paper.claim_verdicts import Judged, judge
from tideproof.research.paper.claims import CLAIMS
from tideproof.research.paper.claims_ledger import claim_table, markdown
from tideproof.research.paper.figure_entries import FIGURES, PICTURES, PaperFigure
from tideproof.research.paper.index_page import index_page
from tideproof.research.paper.output_rounding import rounded
from tideproof.research.paper.panel_runs import missing, panels_bar, run_panels
from tideproof.research.paper.panels import Panel, panels
from tideproof.research.paper.side_studies import SIDE_STUDIES
from tideproof.table import Table


class Reproduction(NamedTuple):
    """What was made.

    Attributes
    ----------
    folder : where it is.
    figures : the figures, drawn.
    judged : the claims that their panels decide.
    facts : replications, seed and versions.
    """

    folder: Path
    figures: list[PaperFigure]
    judged: list[Judged]
    facts: dict[str, Any]


def reproduce(
    names: Iterable[str],
    replications: int,
    seed: int,
    folder: Path,
    executor: Executor | None = None,
    show: bool = False,
    engine: str = "cpu",
) -> Reproduction:
    """Make the figures of those names, all if there are none, and judge every claim they bear on.

    `engine` is that of `tp.simulate`; its panels are kept apart from those of another.
    """
    figures = _chosen(list(names))
    replications = require_whole_number("replications", replications, 1)
    seed = require_whole_number("seed", seed, 0, 2**64 - 1)
    check_picture_path(None)
    engine = find_engine(engine, executor).name
    _prepare(folder)
    everything = len(figures) == len(FIGURES)
    needs = {need for figure in figures for need in figure.needs}
    if everything:
        needs |= {need for claim in CLAIMS for need in claim.needs}
    wanted = [panel for name, panel in panels().items() if name in needs]
    with processes() as others:
        beside = [name for name in SIDE_STUDIES if name in needs]
        with ctrl_c_waits() as look:
            studied = others.submit(_side_studies, beside, seed, replications)
            look()
        found = _run(wanted, replications, seed, folder, executor, engine, show)
        with ctrl_c_waits() as look:
            studies: dict[str, Any] = awaited(studied, look)
            found |= studies
            drawn = [
                others.submit(_write, figure.name, rounded(figure.table(found)), folder) for figure in figures
            ]
            judged = [judge(claim, found) for claim in CLAIMS if found.keys() >= set(claim.needs)]
            for picture in drawn:
                awaited(picture, look)
    facts = _facts([found[panel.name] for panel in wanted], replications, seed)
    _csv(folder / "claims.csv", judged)
    write_text_atomically(folder / "ledger.md", markdown(judged, facts))
    write_text_atomically(folder / "index.html", index_page(figures, judged, wanted, found, facts, folder))
    return Reproduction(folder, figures, judged, facts)


def _chosen(names: list[str]) -> list[PaperFigure]:
    known = {figure.name: figure for figure in FIGURES}
    for name in names:
        if name not in known:
            raise UnknownName.with_suggestion("figure", name, known)
    return [figure for figure in FIGURES if not names or figure.name in names]


def _prepare(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {str(folder)!r}: {error.strerror}") from None


def _run(
    wanted: list[Panel],
    replications: int,
    seed: int,
    folder: Path,
    executor: Executor | None,
    engine: str,
    show: bool,
) -> dict[str, Any]:
    if not show:
        return run_panels(wanted, replications, seed, folder, executor, engine)
    with panels_bar(missing(wanted, replications, seed, folder, engine), replications) as shown:
        return run_panels(wanted, replications, seed, folder, executor, engine, shown)


def _side_studies(names: list[str], seed: int, replications: int) -> dict[str, Any]:
    return {name: rounded(SIDE_STUDIES[name](seed, replications)) for name in names}


def _write(name: str, table: Table, folder: Path) -> None:
    """Write the data of the figure of that name, and draw it."""
    figure = next(each for each in FIGURES if each.name == name)
    with replace_atomically(folder / f"{name}.csv") as path:
        table.to_csv(path)
    with ExitStack() as files:
        paths = [files.enter_context(replace_atomically(folder / f"{name}.{kind}")) for kind in PICTURES]
        save_for_print(figure.draw(table), *paths)


def _csv(path: Path, judged: list[Judged]) -> None:
    with replace_atomically(path) as beside:
        rounded(claim_table(judged)).to_csv(beside)


def _facts(studies: list[Any], replications: int, seed: int) -> dict[str, Any]:
    facts = {"replications": f"{replications:,}", "seed": seed, "tideproof": __version__}
    for study in studies:
        facts |= {name: value for name, value in study.made.items() if name != "seconds"}
    return facts
