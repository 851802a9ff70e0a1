"""What docs/serve.md says works: its commands are run, its tables are those of the code."""

import os
import re
import subprocess
from dataclasses import fields
from pathlib import Path

from serve.service_clients import ADMIN, MODULES, Served
from tideproof.serve.route_documentation import table
from tideproof.serve.service_settings import Settings

PAGE = (Path(__file__).parent.parent.parent / "docs" / "serve.md").read_text()


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_command_works(tmp_path, capsys):
    with Served(tmp_path) as served:
        shell = f"set -euo pipefail\nKEY={ADMIN}\n" + "\n".join(blocks("sh"))
        shell = shell.replace("http://127.0.0.1:8080", served.url)
        found = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=120)
        assert found.returncode == 0, found.stderr + found.stdout
        for said in (
            '"name":"prices"',
            '"arm":null',
            '"kind":"Asked"',
            '"environment":"monday"',
            '"role":"public"',
            '"reason":"SPLIT"',
            '{"flags":[{"key":"buttons"',
        ):
            assert said in found.stdout
        for python in blocks("python"):
            exec(python.replace("http://127.0.0.1:8080", served.url), {"KEY": ADMIN})
        said = capsys.readouterr().out
        assert said.startswith("select B")
        assert said.endswith("True\n")
        (script,) = blocks("js")
        if MODULES.exists():
            how = os.environ | {"NODE_PATH": str(MODULES), "KEY": ADMIN}
            script = script.replace("http://127.0.0.1:8080", served.url)
            found = subprocess.run(
                ["node", "-e", script], capture_output=True, text=True, timeout=60, env=how
            )
            assert found.stdout.strip() in ("red", "green"), found.stderr


def test_the_table_of_routes_is_that_of_the_routes():
    assert table() in PAGE, "python -m tideproof.serve.route_documentation prints it"


def test_the_table_of_settings_is_that_of_the_settings():
    rows = dict(re.findall(r"^\| `TIDEPROOF_(\w+)` \| (\S*?) ?\|", PAGE, re.MULTILINE))
    assert rows == {each.name.upper(): str(each.default) for each in fields(Settings)}
