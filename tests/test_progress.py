"""The progress bar: seen on a terminal, gone at its end, silent elsewhere."""

import time

import pytest

from tideproof.progress import is_stderr_interactive, progress_bar

ERASE_LINE = "\x1b[2K"


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


def test_a_bar_says_what_is_done_and_goes(terminal, capsys):
    assert is_stderr_interactive()
    with progress_bar("simulating", 200, "replications", first="compiling") as show:
        show(50)
    said = capsys.readouterr()
    assert said.out == ""
    first, _, last = said.err.partition("simulating")
    assert "compiling" in first
    assert "0/200" in first
    assert " 50/200" in last
    assert "replications, time left" in last
    assert last.endswith(ERASE_LINE)


def test_a_bar_without_a_unit_shows_a_percentage_and_what_is_being_done_now(terminal, capsys):
    with progress_bar("reading", 50.0) as show:
        show(20.0)
        show(70.0, "[done]")  # more than all is all; brackets are no markup
    said = capsys.readouterr().err
    assert "reading" in said
    assert "[done]" in said
    assert "100%" in said
    assert "replications" not in said


def test_nobody_looks(capsys, monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    assert not is_stderr_interactive()
    with progress_bar("simulating", 10) as show:
        show(10)
    assert capsys.readouterr() == ("", "")


def test_a_bar_that_waits(terminal, capsys):
    with progress_bar("reading", 2, after=60.0) as show:
        show(1)
    assert capsys.readouterr() == ("", "")
    with progress_bar("reading", 2, after=0.01) as show:
        time.sleep(0.2)
        show(1)
    said = capsys.readouterr().err
    assert "reading" in said
    assert said.endswith(ERASE_LINE)
