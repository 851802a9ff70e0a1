"""Validation of events: those that cannot follow the events before them are refused when a file is loaded."""

import json
from typing import get_args

import pytest

import tideproof as tp
from experiments import replay
from tideproof.experiment import tells
from tideproof.experiment.events import event_records as e
from tideproof.experiment.events.event_validation import EVENT_CHECKS
from tideproof.experiment.snapshots.experiment_file import checksum, rebuild_state
from tideproof.experiment.state.experiment_state import State

NOW = (1e9, None)


def run():
    """Return a run with told, pending and cancelled pulls, a summary and a retired arm."""
    made = tp.Experiment(["A", "B", "C", "D"], budget=60, policy="round-robin")
    told, out, lost = made.ask(n=3, environment="mon")
    made.tell(told, 1.0)
    made.cancel(lost)
    made.tell_summary(arm="A", environment="mon", n=4, mean=1.0, variance=1.0, key="k")
    made.retire_arm("C")
    assert out in made.pending_pulls()
    return made


# pull 0 is told, 1 is out (of arm B), 2 is cancelled; arm 2 is retired
BAD = {
    "a second beginning": lambda made: made.events()[0],
    "no arm asked": lambda made: e.Asked(*NOW, "x", (), None),
    "an arm that is not there": lambda made: e.Asked(*NOW, "x", (4,), None),
    "an arm counted from the end": lambda made: e.Asked(*NOW, "x", (-1,), None),
    "a retired arm": lambda made: e.Asked(*NOW, "x", (2,), None),
    "a unit with two pulls": lambda made: e.Asked(*NOW, "x", (0, 1), "u"),
    "shares of nobody": lambda made: e.Shared(*NOW, "x", 0, (0.5, 0.5, 0.0, 0.0)),
    "shares of too few": lambda made: e.Shared(*NOW, "x", 5, (0.5, 0.5)),
    "shares of half": lambda made: e.Shared(*NOW, "x", 5, (0.5, 0.0, 0.0, 0.0)),
    "negative shares": lambda made: e.Shared(*NOW, "x", 5, (1.5, -0.5, 0.0, 0.0)),
    "a pull told twice": lambda made: e.Told(*NOW, (0,), (1.0,)),
    "one pull two times": lambda made: e.Told(*NOW, (1, 1), (1.0, 1.0)),
    "a cancelled pull": lambda made: e.Told(*NOW, (2,), (1.0,)),
    "a pull that is not there": lambda made: e.Told(*NOW, (3,), (1.0,)),
    "a pull counted from the end": lambda made: e.Told(*NOW, (-2,), (1.0,)),
    "a pull without reward": lambda made: e.Told(*NOW, (1,), ()),
    "nothing told": lambda made: e.Told(*NOW, (), ()),
    "a reward too large": lambda made: e.Told(*NOW, (1,), (1e101,)),
    "a reward without key": lambda made: e.Added(*NOW, (1,), (1.0,), ()),
    "a sum of a cancelled pull": lambda made: e.Added(*NOW, (2,), (1.0,), (None,)),
    "a sum too large": lambda made: e.Added(*NOW, (1,), (1e101,), (None,)),
    "a summary of no arm": lambda made: e.Summarised(*NOW, 4, "x", 1, 0.0, 0.0, None),
    "a summary from the end": lambda made: e.Summarised(*NOW, -1, "x", 1, 0.0, 0.0, None),
    "a summary of nothing": lambda made: e.Summarised(*NOW, 0, "x", 0, 0.0, 0.0, None),
    "a summary of too many": lambda made: e.Summarised(*NOW, 0, "x", 2**53 + 1, 0.0, 0.0, None),
    "a negative variance": lambda made: e.Summarised(*NOW, 0, "x", 2, 0.0, -1.0, None),
    "a variance too large": lambda made: e.Summarised(*NOW, 0, "x", 2, 0.0, 1e101, None),
    "a mean too large": lambda made: e.Summarised(*NOW, 0, "x", 2, -1e101, 1.0, None),
    "a key told twice": lambda made: e.Summarised(*NOW, 0, "x", 2, 0.0, 1.0, "k"),
    "cancelled twice": lambda made: e.Cancelled(*NOW, (2,)),
    "cancelled and told": lambda made: e.Cancelled(*NOW, (0,)),
    "expired and told": lambda made: e.Expired(*NOW, (0,), None),
    "expired with too much": lambda made: e.Expired(*NOW, (1,), 1e101),
    "corrected while out": lambda made: e.Corrected(*NOW, 1, 1.0),
    "corrected to too much": lambda made: e.Corrected(*NOW, 0, 1e101),
    "an arm twice": lambda made: e.ArmAdded(*NOW, "B"),
    "retired twice": lambda made: e.ArmRetired(*NOW, 2),
    "retired from the end": lambda made: e.ArmRetired(*NOW, -1),
    "a budget of nothing": lambda made: e.Extended(*NOW, 0),
    "rewards of no arm": lambda made: e.Warmed(*NOW, ((4, "x", 1, 0.0, 0.0),)),
    "rewards of nobody": lambda made: e.Warmed(*NOW, ((0, "x", 0, 0.0, 0.0),)),
    "rewards with negative squares": lambda made: e.Warmed(*NOW, ((0, "x", 2, 0.0, -1.0),)),
    "rewards too large": lambda made: e.Warmed(*NOW, ((0, "x", 2, 1e101, 1.0),)),
    "a salt in letters": lambda made: e.Salted(*NOW, "pepper"),
}


@pytest.mark.parametrize("name", BAD)
def test_impossible_events_are_refused(name):
    made = run()
    replay(made)
    with pytest.raises(tp.errors.InputError):
        rebuild_state([*made.events(), BAD[name](made)], None)


def test_the_last_two_arms_cannot_be_retired():
    made = run()
    made.retire_arm("D")
    with pytest.raises(tp.errors.InputError, match="impossible after the events before it"):
        rebuild_state([*made.events(), e.ArmRetired(*NOW, 0)], None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"arms": ("A", "A")}, "more than once: A"),
        ({"arms": ("A",)}, "at least two arms"),
        ({"budget": 0}, "budget must be a whole number of at least 1, not 0"),
        ({"seed": 2**64}, "seed must be a whole number"),
        ({"direction": "up"}, "'maximize' or 'minimize', not 'up'"),
        ({"options": {"colour": "red"}}, "unknown experiment option 'colour'"),
        ({"options": {"limits": [2.0, 1.0]}}, "limits must be"),
        ({"options": {"lease": -1.0}}, "lease must be"),
        ({"options": {"floors": {"Z": 0.5}}}, "unknown arm 'Z'"),
        ({"policy": {}}, "the saved policy must have a name"),
        ({"policy": {"name": 3, "label": "x", "options": {}}}, "the saved policy must have a name"),
        (
            {"policy": {"name": "linlucb+ols", "label": "x", "options": {"n1": 3}}},
            "unknown option 'n1' of linlucb",
        ),
        (
            {"policy": {"name": "linlucb+ols", "label": "x", "options": {"selection": "ols"}}},
            "contradict each other",
        ),
    ],
)
def test_an_impossible_first_event_is_refused(change, words):
    created = run().events()[0]
    with pytest.raises(tp.errors.InputError, match=words):
        rebuild_state([created._replace(**change)], None)


def test_a_list_without_a_first_event_is_refused():
    for happened in ([], run().events()[1:]):
        with pytest.raises(tp.errors.InputError, match="must begin with the event 'Created'"):
            rebuild_state(happened, None)


def test_limits_are_restored_from_a_file(tmp_path):
    made = tp.Experiment(["A", "B"], limits=(0.0, 1.0), minimum_shares={"A": 0.2}, lease=60.0, default=0.0)
    made.save(tmp_path / "run.json")
    again = tp.Experiment.load(tmp_path / "run.json")
    assert again.events() == made.events()
    with pytest.raises(tp.errors.InputError, match="between 0 and 1"):
        again.tell(again.ask(), 2.0)


@pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")
@pytest.mark.parametrize("policy", ["contrast", "by-arm:auto:contrast"])
def test_files_may_contain_larger_rewards_than_are_accepted_today(policy, tmp_path, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(tells, "LARGEST", 1e100)
        made = tp.Experiment(["A", "B"], budget=80, policy=policy, tide="labels")
        for step in range(80):
            made.tell(made.ask(environment=step // 8), 1e90 * (-1.0) ** (step % 3))
        made.save(tmp_path / "run.json")
    again = tp.Experiment.load(tmp_path / "run.json")
    assert again.events() == made.events()
    assert again.recommend().arm in ("A", "B")


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1" * 5000, "NaN", "1e999"])
def test_invalid_numbers_in_a_file_are_refused(number, tmp_path):
    path = tmp_path / "run.json"
    made = run()
    made.save(path)
    document = json.loads(path.read_text())
    document["events"][1][1] = "here"
    text = json.dumps(document).replace('"here"', number)
    if len(number) < 1000:
        document = json.loads(text)
        del document["sha256"]
        text = text.replace(json.loads(text)["sha256"], checksum(document))
    path.write_text(text)
    with pytest.raises(tp.errors.InputError):
        tp.Experiment.load(path)


def test_every_type_of_event_is_checked_and_applied():
    events = set(get_args(e.Event))
    assert set(EVENT_CHECKS) == events
    assert set(State.EVENT_METHODS) == events - {e.Created}  # the state is made from the first event


def test_every_kind_of_event_can_be_checked():
    made = run()
    made.note("so far so good")
    made.pause()
    made.resume()
    made.stop("enough")
    for event in made.events()[1:]:
        assert isinstance(event, e.Event)
    again = replay(made)
    assert again.events() == made.events()
