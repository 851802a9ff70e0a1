"""Everything that research declares is as it was stored: `research_listings.py` writes the values anew."""

import pytest

pytest.importorskip("numba")

from golden_data import differences
from research.research_listings import FILES, FOLDER

CASES = [(file, name) for file, cases in FILES.items() for name in cases]


@pytest.mark.parametrize(("file", "name"), CASES)
def test_a_declared_value_is_as_stored(file, name):
    assert not differences(name, FILES[file][name](), FOLDER / f"{file}.json")
