"""Uploaded files are analyzed in a process of their own, whose time, memory, arms and cells are limited."""

import html
import time

import psutil
import pytest

from tideproof.serve.pages import upload_runner

HEAD = "arm,day,reward\n"


def rows(arms, days, repeats=2):
    return HEAD + "".join(
        f"arm {arm},day {day},{(arm * 7 + day * 3 + turn) % 11}\n"
        for arm in range(arms)
        for day in range(days)
        for turn in range(repeats)
    )


def upload(here, text, **fields):
    data = text if isinstance(text, bytes) else text.encode()
    found = here.request("POST", "/analyze", files={"file": ("log.csv", data)}, data=fields)
    return found.status_code, html.unescape(found.text)


@pytest.mark.parametrize(
    ("settings", "text", "said"),
    [
        ({}, rows(4900, 1), "4,900 variants, but at most 200 are allowed"),
        ({"upload_arms": 3}, rows(4, 3), "4 variants, but at most 3"),
        ({"upload_cells": 11}, rows(4, 3), "12 pairs of a variant and an environment, but at most 11"),
        ({"upload_seconds": 0.2}, rows(4, 3), "takes longer than 0.2 s"),
        ({"upload_memory_bytes": 2**20}, rows(4, 3), "needs more than 1 MiB"),
    ],
    ids=["4,900 arms", "arms", "cells", "time", "memory"],
)
def test_a_file_beyond_a_limit_is_refused_in_a_sentence(begin, settings, text, said):
    begun = time.monotonic()
    status, page = upload(begin(**settings), text)
    assert (status, said in page) == (400, True), page
    assert time.monotonic() - begun < 20.0


def test_a_file_within_the_limits_is_analyzed(begin):
    status, page = upload(begin(upload_arms=4, upload_cells=12), rows(4, 3))
    assert status == 200
    assert "arm 3" in page


def test_an_analysis_that_takes_too_long_leaves_no_process(begin):
    """Also none that holds one of the two slots."""
    here = begin(upload_seconds=0.3)
    before = {each.pid for each in psutil.Process().children(recursive=True)}
    for _ in range(3):
        assert upload(here, rows(150, 30))[0] == 400
    assert {each.pid for each in psutil.Process().children(recursive=True)} <= before
    assert upload_runner.SLOTS.acquire(blocking=False)
    assert upload_runner.SLOTS.acquire(blocking=False)
    for _ in range(2):
        upload_runner.SLOTS.release()


def test_the_process_has_no_credentials(begin, monkeypatch):
    """Whoever takes over the process that reads the file finds no key and no password in it."""
    seen = {}
    real = upload_runner.subprocess.run

    def run(command, **how):
        seen.update(how["env"])
        return real(command, **how)

    monkeypatch.setenv("PGPASSWORD", "secret")
    monkeypatch.setenv("TIDEPROOF_ADMIN_KEY", "secret")
    monkeypatch.setattr(upload_runner.subprocess, "run", run)
    assert upload(begin(), rows(2, 3))[0] == 200
    assert "secret" not in seen.values()


def test_a_static_file_with_a_long_name_is_not_found(here):
    assert here.get(f"/static/{'a' * 5000}.css").status_code == 404
    assert here.get(f"/static/{'%C3%BC' * 300}.css").status_code == 404
    assert here.get("/static/..%2fapp.css").status_code == 404
    assert here.get("/static/pages.css").status_code == 200
