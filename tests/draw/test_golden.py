"""Every picture as it was when somebody last looked at it: `make_golden.py` writes the files anew."""

import pytest

pytest.importorskip("matplotlib")

from draw.make_golden import FOLDER, golden


def test_pictures_are_as_they_were():
    made = golden()
    assert sorted(made) == sorted(path.name for path in FOLDER.iterdir())
    for name, text in made.items():
        assert text == (FOLDER / name).read_text(encoding="utf-8"), f"{name}: look at it, then make_golden.py"
