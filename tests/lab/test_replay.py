"""replay: one replication, exactly as simulate ran it."""

from __future__ import annotations

import numpy as np
import pytest

import tideproof as tp
from simulations import WORLD


def test_replay_is_what_simulate_ran():
    """What the fifth replication adds to a study is what its replay shows."""
    pytest.importorskip("numba")
    run = tp.replay(WORLD, "linlucb", seed=9, replication=4, budget=80)
    four, five = (tp.simulate(WORLD, "linlucb", [40, 80], n, seed=9).tally for n in (4, 5))
    added = {name: (getattr(five, name) - getattr(four, name))[0] for name in five._fields[:6]}
    assert np.flatnonzero(added["chosen"][1]).tolist() == [run.selected]
    for b, budget in enumerate((40, 80)):
        assert added["pulls"][b].tolist() == np.bincount(run.arm[:budget], minlength=5).tolist()
    assert added["samples"].tolist() == [40, 80]
    assert added["squares"].tolist() == [1600, 6400]
    assert not added["stopped"].any()
    assert not added["unidentified"].any()


def test_a_longer_replay_goes_on_from_a_shorter_one():
    run = tp.replay(WORLD, "linlucb", seed=9, replication=4, budget=80)
    later = tp.replay(WORLD, "linlucb", seed=9, replication=4, budget=200)
    for name in ("arm", "environment", "shift", "reward", "estimates"):
        assert np.array_equal(getattr(run, name), getattr(later, name)[:80])
    assert run.estimates.shape == (80, 5)
    assert run.selected == run.estimates[-1].argmax()
    changes = np.flatnonzero(np.diff(run.environment, prepend=-1))
    assert np.array_equal(run.shift, np.repeat(run.shift[changes], np.diff([*changes, 80])))
    table = run.table()
    assert table.columns[:5] == ["step", "arm", "environment", "shift", "reward"]
    assert table["step"] == list(range(1, 81))
    assert repr(run).startswith(f"Replay of 80 steps, selected arm {run.selected}\n")


def test_replay_shows_raw_means_where_nothing_else_is_known():
    run = tp.replay(WORLD, "round-robin", seed=9, budget=50)
    means = [run.reward[run.arm == arm].mean() for arm in range(5)]
    np.testing.assert_allclose(run.estimates[-1], means)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"world": None}, "world must be"),
        ({"policy": "nope"}, "unknown policy 'nope'"),
        ({"budget": 10}, "a budget of 10 is too small for linlucb"),
        ({"seed": -1}, "seed must be"),
        ({"replication": -1}, "replication must be a whole number"),
    ],
)
def test_bad_replays(change, message):
    with pytest.raises(tp.errors.InputError, match=message):
        tp.replay(**({"world": WORLD, "policy": "linlucb", "budget": 100} | change))


def test_a_replay_has_500_pulls_by_default():
    assert tp.replay(WORLD, "round-robin").arm.size == 500


def test_a_notebook_shows_the_first_line_of_the_text_and_all_steps():
    run = tp.replay(WORLD, "round-robin", budget=12)
    html = run._repr_html_()
    assert str(run).splitlines()[0] in html
    assert html.count("<tr>") == 1 + 12
