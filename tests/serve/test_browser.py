"""The pages in a real browser: nothing is refused by the CSP, and what happens shows by itself.

Skipped where there is no Chromium; a newcomer's `make test` says so.
"""

import re
import shutil
import subprocess
import sys
import tempfile

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")


@pytest.fixture(scope="module")
def shop():
    """The demonstration, whose guests need no key; a day takes a second."""
    command = [sys.executable, "-m", "tideproof.serve.demo", "--port", "0", "--no-browser", "--seconds", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+", process.stdout.readline()).group()
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


def seen(url, seconds):
    """Return the page as it is after some seconds, and what the browser complained of."""
    with tempfile.TemporaryDirectory() as profile:
        found = subprocess.run(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                f"--user-data-dir={profile}", f"--timeout={1000 * seconds}", "--dump-dom", url,
            ],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    said = [line for line in found.stderr.splitlines() if "CONSOLE" in line]
    return found.stdout, said


def told(page):
    return int(re.search(r"rewards told</dt><dd>([\d,]+)", page).group(1).replace(",", ""))


def test_a_page_moves_by_itself(shop):
    first, said = seen(shop, 0)
    later, more = seen(shop, 7)
    assert said + more == []
    assert told(later) > told(first) > 0
    assert later.count("data-was") >= 3  # parts that were put in place while it was open
    assert '<th scope="col" data-text=""><button type="button">arm</button></th>' in later


@pytest.mark.parametrize("path", ["/", "/login", "/analyze", "/nothing"])
def test_the_browser_complains_of_nothing(shop, path):
    page, said = seen(shop[: shop.index("/experiments")] + path, 0)
    assert "<h1" in page
    assert [line for line in said if "404" not in line] == []
