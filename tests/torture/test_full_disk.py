"""A disk without room, and a folder that cannot be written: said clearly, nothing is lost, and it goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOM = Path(__file__).parent / "small_disk.py"
ALONE = ["unshare", "-rm"]  # in a name space of its own, where everybody may mount


def may_mount():
    return (
        shutil.which("unshare") is not None and subprocess.run([*ALONE, "true"], check=False).returncode == 0
    )


needs_mounts = pytest.mark.skipif(not may_mount(), reason="no file systems may be mounted here")


def said(what, folder):
    path = os.pathsep.join(each for each in sys.path if each)
    done = subprocess.run([*ALONE, sys.executable, str(ROOM), what, str(folder)], capture_output=True,
                          text=True, check=False, timeout=200, env=os.environ | {"PYTHONPATH": path})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_mounts
def test_a_full_disk_and_then_room(tmp_path):
    *errors, counts = said("full", tmp_path)
    assert errors == [f"StoreError: the disk of '{tmp_path}/disk/shop.db' is full: nothing was saved"]
    stuck, in_the_end = counts.split(" then ")
    assert int(in_the_end) > int(stuck) > 0


@needs_mounts
def test_a_read_only_folder_and_then_not(tmp_path):
    line = f"InputError: cannot write '{tmp_path}/disk/shop.db': it is read-only"
    assert said("read-only", tmp_path) == [line] * 2
