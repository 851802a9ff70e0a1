"""What tests of the service share: an app in this process, a service in another one, and clients of both."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from tideproof.serve.app import make_app
from tideproof.serve.service_settings import Settings

ADMIN = "test-admin-key-of-30-characters"
MODULES = Path(sys.prefix) / "node" / "node_modules"  # make clients brings OpenFeature's JavaScript clients


def app_of(folder, **settings):
    return make_app(
        f"sqlite:///{folder}/shop.db", Settings(**({"admin_key": ADMIN, "log_format": "off"} | settings))
    )


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


class Here:
    """A client of an app in this process; `here.post(...)` blocks."""

    def __init__(self, app, secret=ADMIN, loop=None):
        self.app, self._own = app, loop is None
        self.keys = {}
        self._loop = loop or asyncio.new_event_loop()
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app, raise_app_exceptions=False),
            base_url="http://test",
            headers=bearer(secret) if secret else {},
        )

    def other(self, secret):
        """Return another client of the same app, to be closed before this one."""
        return Here(self.app, secret, self._loop)

    def request(self, method, path, **how):
        return self._loop.run_until_complete(self.client.request(method, path, **how))

    def run(self, coroutine):
        """Return what a coroutine returns, run in the event loop of this client."""
        return self._loop.run_until_complete(coroutine)

    def get(self, path, **how):
        return self.request("GET", path, **how)

    def post(self, path, body=None, **how):
        return self.request("POST", path, json={} if body is None else body, **how)

    def close(self):
        self._loop.run_until_complete(self.client.aclose())
        if not self._own:
            return
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
        self.app.state.service.close()


class Served:
    """A service in a process of its own."""

    def __init__(self, folder, *arguments, store=None, **environment):
        self.store = store or f"sqlite:///{folder}/shop.db"
        self._log = open(f"{folder}/log", "a+")  # noqa: SIM115  a pipe that nobody reads would fill up
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tideproof",
                "serve",
                self.store,
                "--port",
                "0",
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=os.environ | {"TIDEPROOF_ADMIN_KEY": ADMIN, "TIDEPROOF_LOG_FORMAT": "json"} | environment,
        )
        self.lines = [self.process.stdout.readline()]
        found = re.search(r"http://\S+", self.lines[0])
        assert found, self.log()
        self.url = found.group()

    def log(self):
        self._log.seek(0)
        return self._log.read()

    def stop(self, sig=signal.SIGTERM):
        """Stop it, and return its exit code and what it wrote to its log."""
        self.process.send_signal(sig)
        out, _ = self.process.communicate(timeout=60)
        self.lines += out.splitlines()
        return self.process.returncode, self.log()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self.process.stdout.close()
        self._log.close()
