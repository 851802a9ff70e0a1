"""A small study, made once."""

import pytest

import tideproof as tp
from simulations import BUDGETS, POLICIES, SIZES, WORLD


@pytest.fixture(scope="session")
def study():
    pytest.importorskip("numba")
    return tp.simulate(WORLD, POLICIES, BUDGETS, **SIZES)
