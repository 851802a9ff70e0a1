"""Every picture as it was when somebody last looked at it: `make_golden.py` writes the files anew."""

import pytest

pytest.importorskip("matplotlib")

from draw.make_golden import FOLDER, NAMES, golden


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_as_it_was(name):
    assert golden(name) == (FOLDER / name).read_text(encoding="utf-8"), "look at it, then run make_golden.py"


def test_there_are_no_others():
    assert sorted(NAMES) == sorted(path.name for path in FOLDER.iterdir())
