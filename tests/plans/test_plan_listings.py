"""Numbers of plans are as stored: `plan_listings.py` writes them anew."""

import pytest

pytest.importorskip("numba")

from golden_data import differences
from plans.plan_listings import CASES, FILE


@pytest.mark.parametrize("name", CASES)
def test_a_plan_is_as_stored(name):
    assert not differences(name, CASES[name](), FILE)
