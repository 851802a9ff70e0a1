"""Every answer of a scripted shop and the rows of its store are as stored: see `service_listings.py`."""

import pytest

pytest.importorskip("numba")

from golden_data import differences
from serve.service_listings import CASES, FOLDER


@pytest.mark.parametrize("name", CASES)
def test_an_answer_is_as_stored(name):
    assert not differences(name, CASES[name](), FOLDER / "service.json")
