"""Run notebooks that are stored as text (jupytext's py:percent format); write them as pages and .ipynb.

Cells run in this process, one after another in one namespace. They show what Jupyter would show: printed
text, and the value of the last line if it is an expression. With `TIDEPROOF_SHORT=1`, which tests set, a
value followed by `# short: another` is replaced by the other value. Readers do not see this mark.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import linecache
import os
import re
import sys
import tempfile
import types
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
import nbformat.v4 as nb

SHORT = re.compile(r"([\w.]+)(\W*?)  # short: (\S+)$", re.MULTILINE)


class CellOutput(NamedTuple):
    """Output of a cell: its printed text, and its value in the richest available form."""

    printed: str
    kind: str  # a MIME type; "" if there is no value
    value: str


def run(path: Path) -> tuple[Any, list[CellOutput | None]]:
    """Run a notebook in a temporary folder; return it with the output of each cell, None for text cells."""
    book = jupytext.read(path, fmt="py:percent")
    for cell in book.cells:
        cell.source = SHORT.sub(r"\3\2" if os.environ.get("TIDEPROOF_SHORT") else r"\1\2", cell.source)
    module = sys.modules["notebook"] = types.ModuleType(
        "notebook"
    )  # annotations and kernels look up names in this module
    with tempfile.TemporaryDirectory() as folder, _inside(folder):
        return book, [
            _cell(cell.source, vars(module), f"<{path.name}, cell {number}>")
            if cell.cell_type == "code"
            else None
            for number, cell in enumerate(book.cells, 1)
        ]


@contextlib.contextmanager
def _inside(folder: str) -> Any:
    """Change into a folder and back, like `contextlib.chdir`."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _cell(source: str, names: dict[str, Any], where: str) -> CellOutput:
    linecache.cache[where] = (
        len(source),
        None,
        source.splitlines(keepends=True),
        where,
    )  # kernels read their own source
    body = ast.parse(source, where)
    last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
    if last is not None and source.rstrip().endswith(";"):
        body.body.append(last)
        last = None
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(body, where, "exec", dont_inherit=True), names)
        value = (
            None
            if last is None
            else eval(compile(ast.Expression(last.value), where, "eval", dont_inherit=True), names)
        )
    return CellOutput(out.getvalue(), *_rich(value))


def _rich(value: Any) -> tuple[str, str]:
    if value is None:
        return "", ""
    for method, kind in (("_repr_html_", "text/html"), ("_repr_png_", "image/png")):
        if (made := getattr(value, method, None)) is not None and (found := made()) is not None:
            return kind, base64.b64encode(found).decode() if isinstance(found, bytes) else found
    return "text/plain", repr(value)


def page(book: Any, shown: list[CellOutput | None], name: str) -> str:
    """Return a notebook as Markdown with the outputs of its cells."""
    parts = []
    for cell, found in zip(book.cells, shown, strict=True):
        if found is None:
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if found.printed.strip():
            parts.append(f'```text title="shows"\n{found.printed.rstrip()}\n```')
        if found.kind == "text/html":
            parts.append(f'<div class="shown">{_one_block(found.value)}</div>')
        elif found.kind == "image/png":
            picture = f'<img alt="what the cell above draws" src="data:image/png;base64,{found.value}">'
            parts.append(f'<div class="shown">{picture}</div>')
        elif found.kind:
            parts.append(f'```text title="shows"\n{found.value}\n```')
    head, rest = parts[0].partition("\n")[::2]
    note = f"*A notebook: [download it]({name}.ipynb), or run it from its [text]({name}.py) with jupytext.*"
    return "\n\n".join([head, note, rest.strip(), *parts[1:]]) + "\n"


def _one_block(text: str) -> str:
    """Return HTML without blank lines, because a blank line would end the block in Markdown."""
    return re.sub(r"\n\s*\n", "\n", text)


def notebook(book: Any, shown: list[CellOutput | None]) -> str:
    """Return a notebook as .ipynb with the outputs of its cells."""
    count = 0
    for cell, found in zip(book.cells, shown, strict=True):
        if found is None:
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = []
        if found.printed:
            cell.outputs.append(nb.new_output("stream", name="stdout", text=found.printed))
        if found.kind:
            data = {found.kind: found.value}
            cell.outputs.append(nb.new_output("execute_result", data=data, execution_count=count))
    made: str = jupytext.writes(book, fmt="ipynb")
    return made
