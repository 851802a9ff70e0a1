"""What is written does not depend on the order in which a machine adds up."""

import math

import numpy as np

from tideproof.research.paper.output_rounding import rounded
from tideproof.table import Table


def test_numbers_that_differ_by_rounding_are_written_alike():
    rng = np.random.default_rng(4)
    values = rng.standard_normal(1000) * 10.0 ** rng.integers(-8, 8, 1000)
    nearby = values * (1.0 + 4e-16)
    assert not np.array_equal(values, nearby)
    assert rounded(Table({"x": values})) == rounded(Table({"x": nearby}))
    assert np.allclose(rounded(Table({"x": values}))["x"], values, rtol=5.1e-10, atol=0.0)


def test_what_is_zero_but_for_rounding_is_zero_and_the_rest_keeps_its_kind():
    table = rounded(
        Table({"x": [2.3e-16, -7e-14, math.inf, None], "n": [10**12 + 1, 2, 3, 4], "a": [*"abcd"]})
    )
    assert table["x"] == [0.0, 0.0, math.inf, None]
    assert table["n"] == [10**12 + 1, 2, 3, 4]
    assert table["a"] == [*"abcd"]
