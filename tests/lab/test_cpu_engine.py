"""Replications on several threads are those of one call."""

import numpy as np
import pytest

import tideproof as tp
from tideproof.lab.engines import cpu_engine
from tideproof.lab.simulation_plan import make_plan

pytest.importorskip("numba")


@pytest.mark.parametrize("count", [1, 7, 20, 21])
def test_parts_on_all_cores_are_put_together_in_order(monkeypatch, count):
    monkeypatch.setattr(cpu_engine, "CHUNK", 7)
    plan = make_plan(tp.mdm(3), "linlucb", [20, 30], 5)
    spec = plan.policies[0]
    parts = cpu_engine.score_on_all_cores(plan, spec, 11, count)
    whole = cpu_engine.score_policy(plan, spec, 11, count)
    assert parts.selected.shape == (2, count)
    assert np.array_equal(parts.selected, whole.selected)
    assert np.array_equal(parts.counts, whole.counts)
