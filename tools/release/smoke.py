"""Smoke test of an installed tideproof: `python -I smoke.py [EXTRA ...]`, run by its own Python.

Every named extra is used once, for a second or two. Functions of the other extras must be refused with one
line that names the extra. The script reads nothing of the repository, so it can be copied anywhere.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from importlib import metadata
from pathlib import Path

import numpy as np

import tideproof as tp

NOWHERE = "127.0.0.1:1"  # an address without a server
ADMIN = "smoke-admin-key-of-30-characters"
LOG = {"arm": list("ABABAB"), "day": list("112233"), "sales": [1.0, 2.1, 3.0, 3.9, 5.0, 6.2]}


def bare(folder: Path) -> None:
    """Fit arrays, read a file, run an experiment, and call the command line."""
    columns = {name: np.asarray(values) for name, values in LOG.items()}
    fit = tp.fit(columns, arm="arm", environment="day", reward="sales")
    assert fit.best == "B", fit
    assert "<svg" in fit.plot()._repr_html_()
    path = folder / "log.csv"
    rows = [",".join(LOG), *(",".join(map(str, row)) for row in zip(*LOG.values(), strict=True))]
    path.write_text("\n".join(rows) + "\n")
    run = tp.Experiment(["A", "B"], budget=20)
    while not run.done:
        pull = run.ask(environment="monday")
        run.tell(pull, {"A": 0.0, "B": 1.0}[pull.arm])
    assert run.recommend().arm == "B"
    assert metadata.version("tideproof") == tp.__version__
    assert command("--version").stdout == f"tideproof {tp.__version__}\n"
    assert "contrast" in command("policies").stdout
    assert "B" in command("analyze", str(path), "--html", str(folder / "log.html")).stdout
    assert "<style>" in (folder / "log.html").read_text()


def plot(folder: Path) -> None:
    """Draw a picture with matplotlib."""
    picture = folder / "demo.png"
    importlib.import_module("tideproof.files").check_picture_path(picture)
    command("demo", "--pace", "0", "--picture", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")


def lab(folder: Path) -> None:
    """Simulate with compiled code."""
    study = tp.simulate(tp.slippage(3), "round-robin", 60, replications=200, engine="cpu")
    assert study.replications == 200


def gpu(folder: Path) -> None:
    """Simulate on a GPU, or check the error message where there is none."""
    try:
        tp.simulate(tp.slippage(3), "round-robin", 60, replications=200, engine="cuda")
    except tp.errors.InputError as error:
        assert "finds no GPU" in str(error), error


def dask(folder: Path) -> None:
    """Simulate on a Dask cluster of one worker."""
    executors = importlib.import_module("tideproof.lab.executors")
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        with executors.dask(f"tcp://{NOWHERE}"):
            return
    with (
        distributed.LocalCluster(1, processes=False, protocol="tcp", dashboard_address=None) as cluster,
        executors.dask(cluster.scheduler_address) as pool,
    ):
        study = tp.simulate(tp.slippage(3), "round-robin", 60, replications=200, executor=pool)
    assert study.replications == 200


def postgres(folder: Path) -> None:
    """Connect to a PostgreSQL server that does not exist and check the error of the driver."""
    try:
        tp.Experiment.open(f"postgresql://nobody@{NOWHERE}/shop", "prices", ["A", "B"])
    except tp.errors.StoreError as error:
        assert "cannot connect" in str(error), error


def excel(folder: Path) -> None:
    """Fit a log from an Excel sheet."""
    office = "http://schemas.openxmlformats.org"
    main, links = f"{office}/spreadsheetml/2006/main", f"{office}/officeDocument/2006/relationships"
    parts = f"{office}/package/2006/relationships"
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'
    rows = [list(LOG), *zip(*LOG.values(), strict=True)]
    cells = "".join(f"<row>{''.join(map(cell.format, row))}</row>" for row in rows)
    with zipfile.ZipFile(folder / "log.xlsx", "w") as file:
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{parts}"><Relationship Id="r0" Type="{links}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        file.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets><sheet name="Log" sheetId="1" r:id="r1"/>'
            "</sheets></workbook>",
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{parts}"><Relationship Id="r1" Type="{links}/worksheet" '
            'Target="worksheets/sheet1.xml"/></Relationships>',
        )
        file.writestr(
            "xl/worksheets/sheet1.xml",
            f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
        )
    fit = tp.fit(str(folder / "log.xlsx"), arm="arm", environment="day", reward="sales")
    assert fit.best == "B", fit


def store(folder: Path) -> None:
    """Store an experiment in a SQLite file and open it again."""
    url = f"sqlite:///{folder}/store.db"
    with closing(tp.Experiment.open(url, "prices", ["A", "B"], budget=20)) as run:
        run.tell(run.ask(environment="monday"), 1.0)
    with closing(tp.Experiment.open(url, "prices")) as run:
        assert len(run.history()) == 1


def serve(folder: Path) -> None:
    """Make the service and request a page, a style sheet and its health."""
    app = importlib.import_module("tideproof.serve.app")
    settings = importlib.import_module("tideproof.serve.service_settings")
    httpx = importlib.import_module("httpx")
    made = app.make_app(f"sqlite:///{folder}/served.db", settings.Settings(admin_key=ADMIN, log_format="off"))

    async def ask() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(made), base_url="http://smoke") as client:
            health = (await client.get("/readyz")).json()
            assert health == {"status": "ready", "version": tp.__version__}, health
            page = await client.get("/login")
            assert page.status_code == 200, page
            for path in set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)):
                assert (await client.get(path)).status_code == 200, path
            begun = await client.post(
                "/v1/experiments",
                json={"name": "prices", "arms": ["A", "B"], "budget": 20},
                headers={"Authorization": f"Bearer {ADMIN}"},
            )
            assert begun.status_code == 201, begun.text

    try:
        asyncio.run(ask())
    finally:
        made.state.service.close()


def openfeature(folder: Path) -> None:
    """Ask an OpenFeature provider without a server for a flag and check that it returns the default."""
    ours = importlib.import_module("tideproof.remote.openfeature_provider")
    api = importlib.import_module("openfeature.api")
    api.set_provider(ours.TideproofProvider(f"http://{NOWHERE}", ADMIN))
    assert api.get_client().get_string_value("prices", "A") == "A"


def docs(folder: Path) -> None:
    """Import the packages that build the site."""
    for module in ("zensical", "mkdocstrings_handlers.python", "jupytext"):
        importlib.import_module(module)


USES: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (plot, lab, gpu, dask, postgres, excel, store, serve, openfeature, docs)
}
REFUSED = set(USES) - {"docs"}  # tools/site is not part of the package
COMMANDS = {  # commands that must be refused without the extra
    "plot": ["demo"],
    "serve": ["serve"],
    "lab": ["simulate", "--replications", "10"],
    "store": ["experiments", "sqlite:///none.db"],
}


def command(*words: str, rc: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the installed command and check its exit code."""
    path = Path(sys.executable).parent / "tideproof"
    done = subprocess.run([path, *words], capture_output=True, text=True)
    assert done.returncode == rc, f"tideproof {' '.join(words)}: {done.stdout}{done.stderr}"
    return done


def brought(extras: list[str]) -> set[str]:
    """Return these extras, and all other extras whose packages come with them, by the package's metadata."""
    needed: dict[str, set[str]] = {}
    for line in metadata.requires("tideproof") or []:
        if found := re.fullmatch(r"(.+?) *;.*extra == ['\"](.+)['\"]", line):
            needed.setdefault(found[2], set()).add(found[1])
    there = set().union(*(needed[extra] for extra in extras))
    return {extra for extra, packages in needed.items() if packages <= there}


def refused(extra: str, folder: Path) -> None:
    """Check that the use of a missing extra fails with one line that names the extra."""
    hint = f"pip install 'tideproof[{extra}]'"
    try:
        USES[extra](folder)
    except tp.errors.MissingExtra as error:
        assert str(error).endswith(hint), error
        assert "\n" not in str(error), error
    else:
        raise AssertionError(f"{extra} is not installed, and works")
    if extra in COMMANDS:
        said = command(*COMMANDS[extra], rc=2).stderr
        assert said.startswith("tideproof: "), said
        assert " ".join(said.split()).endswith(hint), said
        assert said.count("\n") == 1, said


def main(extras: list[str]) -> None:
    """Use the installed extras, and check that the others are refused."""
    there = brought(extras)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        bare(folder)
        for extra in USES:
            if extra in there:
                USES[extra](folder)
            elif extra in REFUSED:
                refused(extra, folder)
    print(f"tideproof {tp.__version__} works, with {', '.join(sorted(there)) or 'no extra'}")


if __name__ == "__main__":
    main(sys.argv[1:])
