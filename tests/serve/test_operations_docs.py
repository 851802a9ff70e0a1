"""docs/operations.md: its commands work beside a service that runs, and a backup brings everything back."""

import re
import subprocess
import sys
from pathlib import Path

import httpx

from serve.service_clients import ADMIN, Served, bearer
from tideproof.serve.service_settings import Settings

PAGE = (Path(__file__).parent.parent.parent / "docs" / "operations.md").read_text()


def blocks(kind):
    return "\n".join(re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


def typed(folder, url, text):
    """Run what the page says to type, in the folder of the store."""
    tideproof = f'tideproof() {{ "{sys.executable}" -m tideproof "$@"; }}\n'
    setting = f"set -euo pipefail\nKEY={ADMIN}\n{tideproof}export HOST={url} STORE=sqlite:///shop.db\n"
    found = subprocess.run(
        ["bash", "-c", setting + text], capture_output=True, text=True, timeout=120, cwd=folder
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_every_command_works_and_a_backup_brings_everything_back(tmp_path):
    commands = "\n".join(line for line in blocks("sh").splitlines() if not line.startswith("export HOST="))
    with Served(tmp_path, TIDEPROOF_TRUSTED_PROXIES="127.0.0.1") as served:
        client = httpx.Client(base_url=served.url, headers=bearer(ADMIN))
        made = client.post("/v1/keys", json={"name": "till", "role": "reporter"}).json()
        client.post("/v1/experiments", json={"name": "prices", "arms": ["A", "B"]}).raise_for_status()
        pull = client.post("/v1/experiments/prices/ask", json={"environment": "monday"}).json()["pulls"][0]
        said = typed(tmp_path, served.url, commands)
        for line in (
            "et-cookie: __Host-tideproof=",
            ": 1 experiment, 2 events, checked\nhead: ",
            "prices",
            '"name":"till 2"',
            '204\n{"status":"alive"',
            '{"status":"ready"',
            "tideproof_info{version=",
        ):
            assert line in said, said
        later = client.post("/v1/experiments/prices/ask", json={"environment": "monday"}).json()["pulls"][0]
        client.request("DELETE", f"/v1/keys/{made['id']}").raise_for_status()
        assert served.stop()[0] == 0
        client.close()
    typed(tmp_path, "", blocks("sh restore"))
    with Served(tmp_path) as served:
        client = httpx.Client(base_url=f"{served.url}/v1/experiments/prices", headers=bearer(made["secret"]))
        rewards = [{"pull": pull["id"], "reward": 2.0}]
        assert client.post("/tell", json={"rewards": rewards}).status_code < 300  # the key is good again
        found = client.post("/tell", json={"rewards": [{"pull": later["id"], "reward": 2.0}]})
        assert (found.status_code, found.json()["error"]) == (404, "UnknownName")
        client.close()


def test_headers_of_who_is_no_proxy_are_not_believed(tmp_path):
    with Served(tmp_path, TIDEPROOF_TRUSTED_PROXIES="192.0.2.1") as served:
        found = httpx.post(
            f"{served.url}/v1/session", json={"key": ADMIN}, headers={"X-Forwarded-Proto": "https"}
        )
        assert found.headers["set-cookie"].startswith("tideproof=")
        assert "Secure" not in found.headers["set-cookie"]


def test_the_proxy_lets_through_what_the_service_does():
    (most,) = re.findall(r"client_max_body_size (\d+)m;", PAGE)
    assert int(most) * 2**20 > Settings().upload_bytes + 2**16
