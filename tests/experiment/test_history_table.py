"""The history table: `tp.fit` reads it as a log and gives the fit of the experiment."""

import numpy as np
import pytest

import tideproof as tp
from experiments import drive, experiment

COLUMNS = {
    "arm": "arm", "environment": "environment", "reward": "reward", "n": "n", "sample_variance": "variance",
}  # fmt: skip


BEFORE = {"arm": ["A", "B", "A"], "day": ["old", "old", "old"], "sales": [1.0, 2.0, 1.5]}


def played(**options):
    """Return an experiment whose history has every kind of row."""
    run = experiment(**options)
    run.warm_start(BEFORE, arm="arm", environment="day", reward="sales")
    drive(run, 60)
    run.ask(n=3, environment="later")
    run.cancel(run.ask())
    run.tell_summary(arm="A", environment=2, n=10, mean=0.5, variance=2.0)
    run.tell_summary(arm="B", environment=2, n=1, mean=0.25, key="b")
    visitor = run.ask(unit="visitor", environment=5)
    run.tell(visitor, 0.5)
    run.tell(run.ask(unit="visitor", environment=6), 0.25)
    settled = run.ask(environment=3)
    run.tell_summary(arm=settled.arm, environment=3, n=1, mean=1.5)
    told = run.ask(environment=4)
    run.tell(told, 9.0)
    run.correct(told, 1.0)
    return run


@pytest.mark.parametrize("variance", ["common", "by-arm", "sandwich"])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_fit_reads_the_history(variance, direction):
    run = played(direction=direction, policy="round-robin+ols")
    own = run.fit(variance=variance, confidence=0.9)
    read = tp.fit(run.history(), **COLUMNS, direction=direction, variance=variance, confidence=0.9)
    assert read.cells.dropped == 0
    assert int(read.cells.n.sum()) == int(own.cells.n.sum()) == 3 + 60 + 10 + 1 + 1 + 1 + 1
    assert (read.best, read.degrees_of_freedom) == (own.best, own.degrees_of_freedom)
    assert [sorted(group) for group in read.groups] == own.groups == [["A", "B", "C"]]
    assert (own.variance, own.confidence) == (variance, 0.9)
    for a, b in (("A", "B"), ("B", "C")):
        for field in ("estimate", "se", "low", "high"):
            assert getattr(read.contrast(a, b), field) == pytest.approx(
                getattr(own.contrast(a, b), field), rel=1e-9
            )


def test_skewed_rewards_have_the_limits_of_the_run(tmp_path):
    run, random = experiment(), np.random.default_rng(3)
    for step in range(60):
        pull = run.ask(environment=step // 20)
        run.tell(pull, float(random.exponential()))
    run.correct(run.history()["pull"][-1], 5.0)
    run.history().to_csv(tmp_path / "log.csv")
    own = run.fit().contrast("A", "B")
    for log in (run.history(), run.history().to_pandas(), tmp_path / "log.csv"):
        read = tp.fit(log, **COLUMNS, adaptive=True, scale="difference").contrast("A", "B")
        assert (read.low, read.high) == pytest.approx((own.low, own.high), rel=1e-9)


def test_the_history_through_a_frame_and_a_file(tmp_path):
    run = played()
    expected = run.fit().contrast("A", "C").estimate
    run.history().to_csv(tmp_path / "log.csv")
    for log in (run.history().to_pandas(), run.history().to_polars(), tmp_path / "log.csv"):
        assert tp.fit(log, **COLUMNS).contrast("A", "C").estimate == pytest.approx(expected, rel=1e-12)


def test_history_has_the_times_of_asks_and_rewards():
    now = [100.0]
    run = experiment(policy="round-robin", clock=lambda: now[0])
    a, b, c = run.ask(n=3, environment="mon")
    now[0] = 110.0
    run.tell_many([a, b], [1.0, 2.0])
    now[0] = 120.0
    run.correct(b, 3.0)
    run.cancel(c)
    visitor = run.ask(unit="visitor", environment="mon")
    now[0] = 130.0
    run.tell(visitor, 0.5)
    run.tell_summary(arm="A", environment="mon", n=1, mean=0.5)
    table = run.history()
    assert table["asked_at"] == [100.0, 100.0, 100.0, 120.0, None]
    assert table["told_at"] == [110.0, 120.0, None, 130.0, 130.0]


def test_warm_start_rewards_come_first():
    table = played().history()
    assert table["status"][:3] == ["warm", "warm", "told"]
    assert [table[name][:2] for name in ("pull", "arm", "n", "reward", "variance", "asked_at")] == [
        [None, None], ["A", "B"], [2, 1], [1.25, 2.0], [0.125, None], [None, None],
    ]  # fmt: skip


def test_an_empty_history_has_its_columns():
    table = experiment().history()
    assert (len(table), table.columns[:3]) == (0, ["pull", "arm", "environment"])
