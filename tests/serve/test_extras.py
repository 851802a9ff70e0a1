"""What says which extra is missing says the right one."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys
sys.modules |= dict.fromkeys({gone!r})
try:
    import {module}
except ImportError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("module", "gone", "said"),
    [
        (
            "tideproof.remote.openfeature_provider",
            ["httpx", "openfeature"],
            "TideproofProvider needs openfeature-provider-ofrep: pip install 'tideproof[openfeature]'",
        ),
        ("tideproof.remote.http_calls", ["httpx"], "tp.connect needs httpx: pip install 'tideproof[serve]'"),
        ("tideproof.serve.app", ["fastapi"], "tideproof serve needs fastapi: pip install 'tideproof[serve]'"),
    ],
)
def test_a_missing_extra_is_named(module, gone, said):
    command = [sys.executable, "-c", WITHOUT.format(module=module, gone=gone)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"MissingExtra {said}\n"
