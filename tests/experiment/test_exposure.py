"""Reserved pulls: the pull of a unit counts once `expose` says that the unit has seen it."""

import random

import pytest

import tideproof as tp
from experiments import live_book
from faults import interrupted_at
from tideproof.experiment.events import event_records as e
from tideproof.experiment.snapshots.experiment_file import rebuild_state

HOUR = 3600.0


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def begun(clock, **options):
    given = {"budget": 100, "rewards": "conversions", "lease": 24 * HOUR, "reserve": HOUR} | options
    return tp.Experiment(["A", "B"], clock=clock, **given)


def test_pulls_that_units_did_not_see_in_time_are_cancelled():
    clock = Clock()
    run = begun(clock)
    seen, unseen = (run.ask(unit=name, environment="monday") for name in ("ann", "bob"))
    assert run.reservations == 2
    run.expose(seen)
    run.expose([seen.id])  # harmless
    assert run.reservations == 1
    clock.now = HOUR
    assert run.pending_pulls() == [seen]
    assert run.remaining == 99
    assert run.pull_of("bob") is None
    with pytest.raises(tp.errors.InputError, match="was cancelled"):
        run.expose(unseen)
    again = run.ask(unit="bob", environment="monday")
    assert again.arm == unseen.arm
    assert again.id != unseen.id
    clock.now = 24 * HOUR
    assert run.history()["status"] == ["defaulted", "cancelled", "cancelled"]
    assert [type(event) for event in run.events()].count(e.Exposed) == 1


def test_reserved_pulls_take_no_reward():
    clock = Clock()
    run = begun(clock)
    pull = run.ask(unit="ann", environment="monday")
    with pytest.raises(tp.errors.InputError, match="reserved"):
        run.tell(pull, 1)
    run.expose(pull)
    run.tell(pull, 1)
    clock.now = 25 * HOUR
    assert run.history()["reward"] == [1.0]
    assert run.pull_of("ann") == pull
    assert run.pull_of("cid") is None


def test_without_a_reserve_every_pull_counts():
    run = tp.Experiment(["A", "B"], budget=10)
    pull = run.ask(unit="ann")
    run.expose(pull)
    run.tell(pull, 2.0)
    assert run.reservations == 0
    assert not any(isinstance(event, e.Exposed) for event in run.events())


def test_pulls_without_a_unit_need_no_exposure():
    run = begun(Clock())
    pull = run.ask(environment="monday")
    run.tell(pull, 1)
    assert run.reservations == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lease": None}, "requires lease="),
        ({"reserve": 0}, "above 0"),
        ({"reserve": 25 * HOUR}, "above 0 and at most lease"),
        ({"reserve": "soon"}, "reserve must be"),
    ],
)
def test_invalid_reserves_are_refused(options, message):
    with pytest.raises(tp.errors.InputError, match=message):
        begun(Clock(), **options)


def test_impossible_events_are_refused():
    run = begun(Clock())
    run.ask(unit="ann")
    with pytest.raises(tp.errors.InputError, match="impossible after the events before it"):
        rebuild_state([*run.events(), e.Exposed(1.0, None, (7,))], None)
    with pytest.raises(tp.errors.InputError, match="impossible after the events before it"):
        rebuild_state([*run.events(), e.Exposed(1.0, None, (0,)), e.Exposed(1.0, None, (0,))], None)
    with pytest.raises(tp.errors.InputError, match="impossible after the events before it"):
        rebuild_state([*run.events(), e.Added(1.0, None, (0,), (1.0,), (None,))], None)


def test_memory_file_and_store_agree_on_reserved_pulls(tmp_path):
    """After random exposures, memory, a saved file and a database agree, also with a snapshot."""
    clocks = Clock(), Clock()
    kept = tp.Experiment.open(
        f"sqlite:///{tmp_path}/a.db",
        "p",
        ["A", "B"],
        clock=clocks[0],
        budget=5000,
        lease=24 * HOUR,
        reserve=HOUR,
    )
    rng = random.Random(3)
    pulls = []
    for step in range(200):
        clocks[0].now += 300.0
        pulls.append(kept.ask(unit=step, environment=step // 50))
        if rng.random() < 0.5:
            kept.expose(pulls[-1 - rng.randrange(min(3, len(pulls)))])
    other = tp.Experiment.open(f"sqlite:///{tmp_path}/a.db", "p", clock=clocks[0])
    kept.save(tmp_path / "a.json")
    loaded = tp.Experiment.load(tmp_path / "a.json", clock=clocks[0])
    assert kept.pending_pulls() == other.pending_pulls() == loaded.pending_pulls()
    reserved = [live_book(each)["reserved"] for each in (kept, other, loaded)]
    assert reserved[0] == reserved[1] == reserved[2]
    assert kept.reservations > 0
    assert len(kept.pending_pulls()) < 200
    kept.close(), other.close()


def test_an_interrupted_exposure_is_recorded_entirely_or_not_at_all():
    line, outcomes = 0, set()
    while True:
        line += 1
        run = begun(Clock())
        pulls = [run.ask(unit=name) for name in "abc"]
        if not interrupted_at(line, lambda run=run, pulls=pulls: run.expose(pulls[:2])):
            break
        outcomes.add(run.reservations)
        again = rebuild_state(run.events(), None)
        assert live_book(run)["reserved"] == list(again.book.reserved)
    assert line > 20
    assert outcomes <= {1, 3}
    assert 3 in outcomes


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ({"rewards": "conversions"}, (24 * HOUR, 600.0, 0.0)),
        ({"rewards": "money"}, (24 * HOUR, 600.0, 0.0)),
        ({"rewards": "counts", "default": 1.0}, (24 * HOUR, 600.0, 1.0)),
        ({}, (24 * HOUR, 600.0, None)),
        ({"lease": 60.0}, (60.0, 60.0, None)),
        ({"lease": HOUR, "reserve": 5.0}, (HOUR, 5.0, None)),
    ],
)
def test_one_argument_makes_an_experiment_for_visitors(tmp_path, options, times):
    run = tp.Experiment(["A", "B"], visitors=True, **options)
    settings = run.internals.state.settings
    assert (settings.lease, settings.reserve, settings.default) == times
    url = f"sqlite:///{tmp_path}/shop.db"
    first = tp.Experiment.open(url, "shop", ["A", "B"], visitors=True, **options)
    second = tp.Experiment.open(url, "shop", ["A", "B"], visitors=True, **options)
    assert second.internals.state.settings == settings == first.internals.state.settings
    first.close(), second.close()


def test_an_experiment_for_visitors_is_joined_only_with_its_times(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    tp.Experiment.open(url, "shop", ["A", "B"], visitors=True, lease=60.0).close()
    with pytest.raises(tp.errors.InputError, match=r"has lease=60\.0, not 86400\.0"):
        tp.Experiment.open(url, "shop", ["A", "B"], visitors=True)
    for wrong in (1, "yes", None):
        with pytest.raises(tp.errors.InputError, match="visitors must be True or False"):
            tp.Experiment(["A", "B"], visitors=wrong)
    with pytest.raises(tp.errors.InputError, match="lease must be"):
        tp.Experiment(["A", "B"], visitors=True, lease="a day")
