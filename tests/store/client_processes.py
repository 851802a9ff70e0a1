"""Processes that ask and tell, and what they said was acknowledged."""

import json
import subprocess
import sys
from pathlib import Path

from store.stores import url_of

CLIENT = Path(__file__).parent / "client_process.py"


def start(place, steps):
    return subprocess.Popen(
        [sys.executable, str(CLIENT), url_of(place), str(steps)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )


def lines_of(output):
    """Return what a client said, without a line that it did not finish."""
    whole = output[: output.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines()]


def check_acknowledged(run, said):
    """Check that everything that was acknowledged is there, once."""
    table = run.history().to_dicts()
    rows = {row["pull"]: row for row in table}
    assert len(rows) == len(table)
    for kind, id, value in said:
        row = rows[id]
        assert row["arm" if kind == "asked" else "reward"] == value
    asked = [id for kind, id, _ in said if kind == "asked"]
    assert len(set(asked)) == len(asked)  # nobody got another's pull
    return rows
