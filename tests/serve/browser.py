"""Chromium, told what to do through a pipe (the DevTools protocol): no driver and no package is needed."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


# It is to talk to the page alone: no updates, no sync, no greeting
_QUIET = [
    f"--{flag}"
    for flag in (
        "disable-background-networking", "disable-component-update", "disable-sync", "disable-quic", "no-first-run",
    )
]  # fmt: skip


class Browser:
    """One page in a browser without a window."""

    def __init__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read, self._out = os.pipe()
        self._in, write = os.pipe()
        read, write = (fcntl.fcntl(each, fcntl.F_DUPFD, 20) for each in (read, write))
        self._process = subprocess.Popen(
            [
                "bash", "-c", f'exec "$0" "$@" 3<&{read} 4>&{write}', CHROMIUM, "--headless", "--no-sandbox",
                "--disable-gpu", *_QUIET, "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}", "about:blank",
            ],
            pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read)
        os.close(write)
        self._left, self._number, self._session = b"", 0, None
        self.complaints = []
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.tell(f"{domain}.enable")

    def tell(self, method, **params):
        """Return what the browser answers."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]

    def _next(self):
        while b"\0" not in self._left:
            got = os.read(self._in, 2**20)
            assert got, "the browser is gone"
            self._left += got
        first, self._left = self._left.split(b"\0", 1)
        found = json.loads(first)
        if found.get("method") == "Log.entryAdded":
            self.complaints.append(found["params"]["entry"]["text"])
        elif found.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(found["params"]["exceptionDetails"]))
        return found

    def run(self, script):
        """Return what a script says; awaits it if it is a promise."""
        found = self.tell("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script, seconds=60.0):
        """Wait until a script says yes."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.run(script):
                    return
            except AssertionError:  # between two pages
                pass
            time.sleep(0.1)
        raise AssertionError(f"not within {seconds} s: {script}; {self.run('document.body.innerText')[:500]}")

    def go(self, url):
        """Open a page."""
        self.run("window.left = true")
        self.tell("Page.navigate", url=url)
        self.until("!window.left && document.readyState === 'complete'")

    def press(self, selector):
        """Press something that leads to another page."""
        self.run("window.left = true")
        self.run(f"document.querySelector({json.dumps(selector)}).click()")
        self.until("!window.left && document.readyState === 'complete'")

    def write(self, selector, text):
        """Fill a field."""
        self.run(f"document.querySelector({json.dumps(selector)}).value = {json.dumps(text)}")

    def shape(self, width, height, dark=False):
        """Be a screen of that size."""
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tell("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path):
        """Save the whole page as a PNG."""
        found = self.tell("Page.captureScreenshot", captureBeyondViewport=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(found["data"]))

    def close(self):
        self._process.terminate()
        self._process.wait(30)
        os.close(self._out)
        os.close(self._in)
        self._profile.cleanup()
