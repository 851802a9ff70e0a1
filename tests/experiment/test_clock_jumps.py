"""A clock that is set forward ends no time limit early; the steady clock says what time has passed."""

import pytest

import tideproof as tp
from tideproof.experiment import locking
from tideproof.experiment.state.clock_jumps import ClockJumps, ClockMark
from tideproof.serve.clock_keeper import ClockKeeper

DAY = 86_400.0


class Clocks:
    """Two clocks that a test moves: one shows the time of day, the other cannot be set."""

    def __init__(self):
        self.at, self.steady = 1.7e9, 500.0
        self.jumps = ClockJumps(self.now, lambda: self.steady)

    def now(self):
        return self.at

    def wait(self, seconds):
        self.at, self.steady = self.at + seconds, self.steady + seconds

    def jump(self, seconds):
        self.at += seconds


@pytest.fixture
def clocks(monkeypatch):
    made = Clocks()
    monkeypatch.setattr(locking, "SYSTEM_CLOCK", made.jumps)
    return made


def visitors(clocks):
    run = tp.Experiment(
        ["A", "B"], rewards="conversions", lease=DAY, reserve=600.0, default=0, clock=clocks.now
    )
    return run, [run.ask(unit=f"visitor {number}", environment="monday") for number in range(4)]


def test_a_jump_forward_closes_no_window(clocks):
    """Conversions that arrive within a day of real time count, although the clock says it is a week later."""
    run, pulls = visitors(clocks)
    run.expose(pulls)
    clocks.wait(3600.0)
    clocks.jump(7 * DAY)
    assert len(run.pending_pulls()) == 4
    run.tell(pulls[0], 1)
    later = run.ask(unit="later", environment="monday")
    run.expose(later)
    clocks.wait(DAY - 3700.0)
    assert len(run.pending_pulls()) == 5
    run.tell(pulls[1], 1)
    clocks.wait(200.0)
    assert [pull.id for pull in run.pending_pulls()] == [later.id]
    assert sorted(row["reward"] for row in run.history() if row["status"] != "pending") == [0, 0, 1, 1]
    clocks.wait(DAY)
    assert run.pending_pulls() == []


def test_a_jump_forward_cancels_no_reservation(clocks):
    run, pulls = visitors(clocks)
    clocks.jump(DAY)
    assert run.reservations == 4
    run.expose(pulls[0])
    clocks.wait(601.0)
    assert run.reservations == 0
    assert len(run.pending_pulls()) == 1


def test_a_jump_that_is_corrected_changes_nothing(clocks):
    run, pulls = visitors(clocks)
    run.expose(pulls)
    clocks.jump(DAY)
    assert len(run.pending_pulls()) == 4
    clocks.jump(-DAY)
    clocks.wait(DAY - 1.0)
    assert len(run.pending_pulls()) == 4
    clocks.wait(2.0)
    assert run.pending_pulls() == []


def test_time_that_passes_is_no_jump(clocks):
    for seconds in (1.0, 3600.0, 100 * DAY):
        clocks.wait(seconds)
        clocks.jump(5.0)  # a small correction
        clocks.jumps.observe(clocks.at)
    assert clocks.jumps.end_of(1.7e9, DAY) == 1.7e9 + DAY


def test_a_jump_during_a_restart_is_noticed(clocks):
    """A mark of the process before says what both clocks were, as long as the machine was not restarted."""
    before = clocks.jumps.mark()
    clocks.wait(100.0)
    clocks.jump(DAY)
    after = ClockJumps(clocks.now, lambda: clocks.steady)
    after.resume(before)
    assert after.end_of(1.7e9 - 5.0, 60.0) == 1.7e9 - 5.0 + 60.0 + DAY
    assert after.end_of(clocks.at, 60.0) == clocks.at + 60.0
    for other in (
        before._replace(boot="another"),
        before._replace(boot=""),
        ClockMark(1.0, 1e9, before.boot),
    ):
        unknown = ClockJumps(clocks.now, lambda: clocks.steady)
        unknown.resume(other)
        assert unknown.end_of(1.7e9, 60.0) == 1.7e9 + 60.0


def test_a_service_keeps_marks_in_its_store(clocks, tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    keeper = ClockKeeper(url, clocks.jumps)
    keeper.start()
    keeper.keep()
    keeper.stop()
    clocks.wait(50.0)
    clocks.jump(DAY)
    after = ClockJumps(clocks.now, lambda: clocks.steady)
    again = ClockKeeper(url, after)
    again.start()
    again.stop()
    assert after.end_of(1.7e9, 60.0) == 1.7e9 + 60.0 + DAY
