"""What commands print is as stored, without its words: `command_listings.py` writes the values anew."""

import pytest

pytest.importorskip("numba")

from commands.command_listings import CASES, FOLDER
from golden_data import differences


@pytest.mark.parametrize("name", CASES)
def test_an_output_is_as_stored(name):
    assert not differences(name, CASES[name](), FOLDER / "commands.json")
