"""Start the process that analyzes an uploaded file, and end it if it takes too long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import BinaryIO

from tideproof.data.sources.duckdb_files import UPLOAD_KINDS
from tideproof.errors import InputError
from tideproof.serve.pages import upload_process
from tideproof.serve.pages.upload_process import UploadForm, UploadRequest
from tideproof.serve.problem_details import Problem
from tideproof.serve.service_settings import Settings

_CHUNK = 2**20
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "HOME")  # no credentials

# At most two files are analyzed at the same time
SLOTS = threading.BoundedSemaphore(2)


def analyze_upload(
    file: BinaryIO, name: str, form: UploadForm, as_file: bool, settings: Settings
) -> dict[str, str]:
    """Analyze an uploaded log file in another process, and return the title and the HTML of the result.

    With `as_file`, the HTML is a report to save. The call blocks.
    """
    kind = Path(name).suffix.lower()
    if kind not in UPLOAD_KINDS:
        raise InputError(
            f"the file must be CSV, TSV, Parquet or JSON lines ({', '.join(UPLOAD_KINDS)}), "
            f"not {kind or name!r}"
        )
    if not SLOTS.acquire(timeout=10.0):
        raise Problem(
            503, "two other files are being analyzed, which is the maximum: retry later", "StoreError"
        )
    try:
        with tempfile.TemporaryDirectory(prefix="tideproof-") as folder:
            path = Path(folder) / f"upload{kind}"
            _copy(file, path, settings.upload_bytes)
            request = UploadRequest(
                str(path),
                Path(name).name,
                form._asdict(),
                as_file,
                settings.upload_memory_bytes,
                settings.upload_seconds,
                settings.upload_arms,
                settings.upload_cells,
            )
            found = _run(request, settings.upload_seconds)
    finally:
        SLOTS.release()
    if "error" in found:
        raise InputError(found["error"])
    return found


def _run(request: UploadRequest, seconds: float) -> dict[str, str]:
    """Run the process that analyzes a file, and return its output; kill it after a time limit."""
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment |= dict.fromkeys(threads, "1")
    try:
        done = subprocess.run(
            [sys.executable, "-m", upload_process.__name__],
            input=json.dumps(request._asdict()),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=seconds,
            env=environment | {"PYTHONIOENCODING": "utf-8"},
            cwd=Path(request.path).parent,
            check=False,
        )
        found: dict[str, str] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise InputError(
            f"the analysis of this file takes longer than {seconds:g} s, the maximum on this page: use "
            f"tideproof analyze, which has no such limit"
        ) from None
    except ValueError:  # it was ended by the operating system
        mebibytes = request.memory_bytes // 2**20
        raise InputError(
            f"the analysis of this file was ended, because it needs more than {mebibytes:,} MiB of memory or "
            f"{seconds:g} s: use tideproof analyze, which has no such limits"
        ) from None
    return found


def _copy(file: BinaryIO, path: Path, most: int) -> None:
    """Copy an uploaded file to a path, and raise an error if it is too large or empty."""
    written = 0
    with path.open("wb") as copy:
        while chunk := file.read(_CHUNK):
            written += len(chunk)
            if written > most:
                raise Problem(413, f"the file is too large: at most {most:,} bytes are allowed")
            copy.write(chunk)
    if not written:
        raise InputError("the file is empty")
