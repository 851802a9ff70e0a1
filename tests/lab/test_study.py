"""What a study says, and that it survives saving."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import tideproof as tp

FORMAT_1 = (
    Path(__file__).parent / "study-format-1.json"
)  # written by tideproof 0.1.0, before `apart` was renamed


def test_a_study_saved_by_an_older_version(tmp_path):
    old = json.loads(FORMAT_1.read_text())
    study = tp.Study.load(FORMAT_1)
    assert study.tally.cost_gap_squares.tolist() == old["tally"]["apart"]
    assert study.tally.both.tolist() == old["tally"]["both"]
    assert study.interrupted
    assert study.policies == ["linlucb", "round-robin+ols", "S"]
    assert study.pics("S").tolist() == [0.198, 0.085]
    # as 0.1.0 said them
    eoc = study.difference("linlucb", "S", of="eoc")
    np.testing.assert_allclose(eoc.estimate, [-0.0532, -0.0316], rtol=1e-12)
    np.testing.assert_allclose(eoc.stderr, [0.009669708540760845, 0.006170860516939231], rtol=1e-12)
    study.save(tmp_path / "new.json")
    new = json.loads((tmp_path / "new.json").read_text())
    assert (old["version"], new["version"]) == (1, 2)
    old["tally"]["cost_gap_squares"] = old["tally"].pop("apart")
    assert new == old | {"version": 2}
