"""The Dockerfile and the compose file name only settings, files and routes that there are; no daemon is needed."""

import re
import sys
from dataclasses import fields
from pathlib import Path

import yaml

from serve.service_clients import app_of
from tideproof.serve.auth.access_control import routes_and_rights
from tideproof.serve.service_settings import Settings

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "release"))

import image  # noqa: E402

RECIPE = (ROOT / "Dockerfile").read_text()
SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
KNOWN = {f"TIDEPROOF_{each.name.upper()}" for each in fields(Settings)} | {
    "TIDEPROOF_STORE", "TIDEPROOF_HOST", "TIDEPROOF_PORT",
}  # fmt: skip


def test_every_setting_is_known():
    named = set(re.findall(r"TIDEPROOF_[A-Z_]+", RECIPE)) | set(SERVICES["tideproof"]["environment"])
    assert len(named) > 4
    assert named <= KNOWN


def test_it_runs_without_rights_and_with_one_volume():
    last = RECIPE.split("FROM ")[-1]
    assert re.findall(r"^USER (\d+)", last, re.MULTILINE) == ["10001"]
    assert re.findall(r"^VOLUME (.*)", last, re.MULTILINE) == ["/data"]
    assert "sqlite:////data/" in last


def test_what_is_copied_is_there_and_is_not_ignored():
    copied = [
        word for line in re.findall(r"^COPY (?!--)(.*) /", RECIPE, re.MULTILINE) for word in line.split()
    ]
    allowed = set(re.findall(r"^!(.*)", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert set(copied) == allowed
    assert set(copied) == {"dist/*.whl", "constraints.txt"}
    steps = re.search(r"^image:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert re.search(r"tools/release --build\n.*docker build", steps)  # the wheel comes first


def test_its_entry_point_starts_with_its_settings_is_healthy_and_stops(tmp_path):
    assert image.served(Path(sys.executable), tmp_path) == ""
    assert (tmp_path / "tideproof.db").exists()


def test_its_health_is_a_route(tmp_path):
    (path,) = re.findall(r"127\.0\.0\.1:8080(/\w+)", RECIPE)
    app = app_of(tmp_path)
    assert ("GET", path) in {route[:2] for route in routes_and_rights(app)}
    app.state.service.close()
