"""The numbers of charts are as stored: `report_listings.py` writes them anew."""

import pytest

from golden_data import differences
from report.report_listings import CASES, FILE


@pytest.mark.parametrize("name", CASES)
def test_a_chart_shows_what_is_stored(name):
    assert not differences(name, CASES[name](), FILE)
