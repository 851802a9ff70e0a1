"""What commands print is as stored, without its words: `command_listings.py` writes the values anew."""

import io
import sys

import pytest

pytest.importorskip("numba")

from commands.command_listings import CASES, FOLDER
from golden_data import differences
from tideproof import cli


@pytest.mark.parametrize("name", CASES)
def test_an_output_is_as_stored(name):
    assert not differences(name, CASES[name](), FOLDER / "commands.json")


def test_a_terminal_without_a_letter_shows_a_question_mark(monkeypatch):
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(cli, "app", lambda **_: print("1 \N{PLUS-MINUS SIGN} 2"))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    screen.flush()
    assert (ended.value.code, screen.buffer.getvalue()) == (0, b"1 ? 2\n")
