"""Reproduction of a paper in one folder: simulations, figures, claims and the pages that show them."""

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
from tideproof.lab.keyboard_interrupts import delay_ctrl_c, wait_for_result
from tideproof.research.paper.claim_verdicts import ClaimVerdict, judge
from tideproof.research.paper.claims import CLAIMS
from tideproof.research.paper.claims_ledger import claim_table, markdown
from tideproof.research.paper.figure_entries import FIGURES, PICTURES, PaperFigure
from tideproof.research.paper.index_page import index_page
from tideproof.research.paper.output_rounding import rounded
from tideproof.research.paper.panel_simulation import missing_panels, panels_bar, run_panels
from tideproof.research.paper.panels import Panel, panels
from tideproof.research.paper.side_studies import SIDE_STUDIES
from tideproof.table import Table


class Reproduction(NamedTuple):
    """Result of reproducing a paper: the figures that were drawn, and verdicts on the paper's claims.

    Attributes
    ----------
    folder : the folder with all files.
    figures : the drawn figures.
    judged : the claims that the simulated panels decide.
    facts : replications, seed and versions.
    """

    folder: Path
    figures: list[PaperFigure]
    judged: list[ClaimVerdict]
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
    """Reproduce a paper: run its simulations, draw its figures, and check its claims on the results.

    `names` are the figures to draw, by default all. If only some figures are drawn, claims that need other
    simulations are not checked. `engine` is that of `tp.simulate`. Each engine has stored panels of its own.
    """
    figures = _select_figures(list(names))
    replications = require_whole_number("replications", replications, 1)
    seed = require_whole_number("seed", seed, 0, 2**64 - 1)
    check_picture_path(None)
    engine = find_engine(engine, executor).name
    _make_folder(folder)
    everything = len(figures) == len(FIGURES)
    needs = {need for figure in figures for need in figure.needs}
    if everything:
        needs |= {need for claim in CLAIMS for need in claim.needs}
    wanted = [panel for name, panel in panels().items() if name in needs]
    with processes() as others:
        names = [name for name in SIDE_STUDIES if name in needs]
        with delay_ctrl_c() as look:
            studied = others.submit(_side_studies, names, seed, replications)
            look()
        results = _run_panels(wanted, replications, seed, folder, executor, engine, show)
        with delay_ctrl_c() as look:
            studies: dict[str, Any] = wait_for_result(studied, look)
            results |= studies
            drawn = [
                others.submit(_write_figure, figure.name, rounded(figure.table(results)), folder)
                for figure in figures
            ]
            judged = [judge(claim, results) for claim in CLAIMS if results.keys() >= set(claim.needs)]
            for picture in drawn:
                wait_for_result(picture, look)
    facts = _facts([results[panel.name] for panel in wanted], replications, seed)
    _write_claims(folder / "claims.csv", judged)
    write_text_atomically(folder / "ledger.md", markdown(judged, facts))
    write_text_atomically(folder / "index.html", index_page(figures, judged, wanted, results, facts, folder))
    return Reproduction(folder, figures, judged, facts)


def _select_figures(names: list[str]) -> list[PaperFigure]:
    known = {figure.name: figure for figure in FIGURES}
    for name in names:
        if name not in known:
            raise UnknownName.with_suggestion("figure", name, known)
    return [figure for figure in FIGURES if not names or figure.name in names]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {str(folder)!r}: {error.strerror}") from None


def _run_panels(
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
    with panels_bar(missing_panels(wanted, replications, seed, folder, engine), replications) as shown:
        return run_panels(wanted, replications, seed, folder, executor, engine, shown)


def _side_studies(names: list[str], seed: int, replications: int) -> dict[str, Any]:
    return {name: rounded(SIDE_STUDIES[name](seed, replications)) for name in names}


def _write_figure(name: str, table: Table, folder: Path) -> None:
    """Write the data of a figure as CSV, and draw it in all file formats."""
    figure = next(each for each in FIGURES if each.name == name)
    with replace_atomically(folder / f"{name}.csv") as path:
        table.to_csv(path)
    with ExitStack() as files:
        paths = [files.enter_context(replace_atomically(folder / f"{name}.{kind}")) for kind in PICTURES]
        save_for_print(figure.draw(table), *paths)


def _write_claims(path: Path, judged: list[ClaimVerdict]) -> None:
    with replace_atomically(path) as temporary_path:
        rounded(claim_table(judged)).to_csv(temporary_path)


def _facts(studies: list[Any], replications: int, seed: int) -> dict[str, Any]:
    facts = {"replications": f"{replications:,}", "seed": seed, "tideproof": __version__}
    for study in studies:
        facts |= {name: value for name, value in study.made.items() if name != "seconds"}
    return facts
