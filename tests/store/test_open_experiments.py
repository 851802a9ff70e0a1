"""Creating, joining and listing, and what bad input gets."""

import os
import pickle
import sqlite3

import pytest

import tideproof as tp
from store.stores import ARMS, bytes_of, memory_of, opened, play, url_of
from tideproof.store import sqlite_connection, store_urls


def test_who_joins_goes_on_exactly_where_the_others_are(place):
    run = opened(place)
    play(run, 30)
    other = tp.Experiment.open(url_of(place), "prices")
    assert bytes_of(memory_of(other)) == bytes_of(memory_of(run))
    alone = tp.Experiment(ARMS, budget=5000, seed=3)
    play(alone, 30)
    mine, theirs = run.ask(environment="x"), alone.ask(environment="x")
    assert mine.arm == theirs.arm
    assert other.pending_pulls() == [mine]  # a look knows what others did
    other.tell(mine.id, 1.0)
    alone.tell(theirs, 1.0)
    assert run.ask(environment="x").arm == alone.ask(environment="x").arm
    assert run.history()["reward"] == alone.history()["reward"]


def test_what_is_given_must_be_what_it_has(place):
    run = opened(place, policy="linlucb", limits=(-9.0, 9.0))
    url = url_of(place)
    tp.Experiment.open(
        url, "prices", set(ARMS), budget=5000, policy="linlucb", limits=(-9, 9), seed=3
    ).close()
    with pytest.raises(tp.errors.InputError, match=r"'prices' has arms=\['A', 'B', 'C'\], not \['A', 'X'\]"):
        tp.Experiment.open(url, "prices", ["A", "X"])
    for name, value in {"budget": 70, "seed": 4, "direction": "minimize", "policy": "lucb", "lease": 5.0,
                        "limits": (0.0, 1.0), "confidence": 0.9}.items():  # fmt: skip
        with pytest.raises(tp.errors.InputError, match="linlucb" if name == "policy" else f"has {name}="):
            tp.Experiment.open(url, "prices", **{name: value})
    with pytest.raises(tp.errors.UnknownName, match="unknown option 'budgets'"):
        tp.Experiment.open(url, "prices", **{"budgets": 5})
    run.add_arm("D")
    run.extend(6000)
    tp.Experiment.open(url, "prices", ARMS, budget=5000).close()  # as it began
    tp.Experiment.open(url, "prices", [*ARMS, "D"], budget=6000).close()  # as it is
    assert tp.experiments(url)["arms"] == ["A, B, C, D"]
    run.retire_arm("A")
    tp.Experiment.open(url, "prices", ["B", "C", "D"]).close()  # those that are not retired
    with pytest.raises(tp.errors.InputError, match=r"has arms=\['B', 'C', 'D'\]"):
        tp.Experiment.open(url, "prices", ["A", "C", "D"])


BRINGING = [
    (tp.policy("contrast", tide="hidden"), {"tide": "hidden"}),
    ("both:contrast", {"tide": "both"}),
    ("hidden:reduce:lucb", {"tide": "hidden"}),
    ("sure:contrast", {"confidence": 0.95, "rule": "calibrated"}),
    (tp.policy("contrast", confidence=0.9, rule="proven", n0=3), {"confidence": 0.9, "rule": "proven"}),
    ("by-arm:auto:contrast", {}),
    (tp.policy("contrast", robust="cells"), {}),
]


@pytest.mark.parametrize(("policy", "brought"), BRINGING)
def test_a_policy_may_bring_a_tide_or_a_rule(tmp_path, policy, brought):
    run, url = opened(tmp_path, policy=policy), url_of(tmp_path)
    alone = tp.Experiment(ARMS, budget=5000, seed=3, policy=policy)
    assert run.policy == alone.policy
    assert brought.items() <= run.events()[0].options.items()
    for options in (
        {"policy": policy},
        {"policy": policy, "budget": 5000, **brought},
        {"policy": run.policy, **brought},
        {"policy": run.policy.name, **brought} if not run.policy.options else {},
    ):
        tp.Experiment.open(url, "prices", ARMS, **options).close()
    where = None if brought.get("tide") == "hidden" else "monday"
    assert tp.Experiment.open(url, "prices").ask(environment=where).arm == alone.ask(environment=where).arm


def test_what_a_policy_brings_must_be_what_the_experiment_has(tmp_path):
    opened(tmp_path, tide="labels")
    for policy, said in (("hidden:contrast", "has tide='labels', not 'hidden'"),
                         ("sure:contrast", "has confidence=None, not 0.95")):  # fmt: skip
        with pytest.raises(tp.errors.InputError, match=said):
            opened(tmp_path, policy=policy)


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "reduce:auto:contrast"},
        {"policy": "hidden:contrast", "tide": "both"},
        {"policy": "sure:contrast", "confidence": 0.9},
        {"policy": tp.policy("sure:contrast", bound=7.0)},
        {"policy": "hidden:contrast", "rewards": "conversions"},
        {"policy": "auto:contrast", "confidence": 0.9},
    ],
)
def test_what_is_refused_leaves_nothing_behind(tmp_path, options):
    url = url_of(tmp_path)
    tp.Experiment.open(url, "other", ARMS).close()
    with pytest.raises(tp.errors.InputError):
        opened(tmp_path, **options)
    assert tp.experiments(url)["name"] == ["other"]


def test_a_policy_that_a_store_cannot_name_begins_nothing(tmp_path, monkeypatch):
    url = url_of(tmp_path)
    tp.Experiment.open(url, "other", ARMS).close()
    monkeypatch.setattr(
        "tideproof.experiment.snapshots.experiment_file.is_registered", lambda name: name != "linlucb"
    )
    monkeypatch.setattr("tideproof.store.stored_experiments.unregistered", lambda spec: None)
    with pytest.raises(tp.errors.UnknownName, match="'linlucb', which is not registered here"):
        opened(tmp_path, policy="linlucb")
    assert tp.experiments(url)["name"] == ["other"]


def test_options_for_ratios_and_arms_that_are_read_once_open_too(tmp_path):
    options = {"rewards": "conversions", "policy": tp.policy("contrast", n0=3)}
    for _ in range(2):
        run = tp.Experiment.open(url_of(tmp_path), "prices", iter(ARMS), **options)
        assert run.arms == tuple(ARMS)
        run.close()


def test_a_label_is_not_the_policy(tmp_path):
    opened(tmp_path, policy=tp.policy("contrast", label="mine")).close()
    assert opened(tmp_path, policy="contrast+ols").policy.label == "mine"


def test_a_list_of_experiments(place):
    url = url_of(place)
    run = tp.Experiment.open(url, "prices", ARMS, budget=10, clock=lambda: 3600.0)
    run.ask(environment=1, n=4)
    tp.Experiment.open(url, "colours", ["red", "blue"])
    found = tp.experiments(url)
    assert found["name"] == ["colours", "prices"]
    assert found["arms"] == ["red, blue", "A, B, C"]
    assert (found["pulls"], found["budget"], found["events"]) == ([0, 4], [None, 10], [1, 2])
    assert found["last"][1] == "1970-01-01T01:00:00+00:00"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("shop.db", "'sqlite:///shop.db', not 'shop.db'"),
        (7, "not 7"),
        ("mysql://host/db", "unknown scheme 'mysql' in the URL"),
        ("sqlite://shop.db", "sqlite:///path"),
        ("sqlite:///", "sqlite:///path"),
        ("sqlite:///:memory:", "must be a file"),
        ("sqlite:///no/such/folder/shop.db", "there is no folder"),
    ],
)
def test_a_wrong_url_gets_one_clear_line(url, said):
    with pytest.raises(tp.errors.InputError, match=said):
        tp.Experiment.open(url, "prices", ARMS)


def test_a_name_that_is_not_there_and_none_at_all(place):
    opened(place)
    with pytest.raises(tp.errors.UnknownName, match=r"unknown experiment 'price'.*did you mean 'prices'"):
        tp.Experiment.open(url_of(place), "price")
    with pytest.raises(tp.errors.InputError, match=r"name .* must be a non-empty string"):
        tp.Experiment.open(url_of(place), "", ARMS)
    run = tp.Experiment(ARMS)
    with pytest.raises(tp.errors.InputError, match="needs an experiment in a database"):
        run.once("a", run.ask)


def test_files_that_are_not_ours_are_refused_and_left_alone(tmp_path):
    text = tmp_path / "text.db"
    text.write_text("no database at all, but long enough to have a header " * 20)
    other = tmp_path / "other.db"
    theirs = sqlite3.connect(other)  # no store: nobody of ours has it open
    theirs.execute("CREATE TABLE t (x)")
    theirs.close()
    for path, said in ((text, "not a SQLite database"), (other, "the database of another program")):
        before = path.read_bytes()
        with pytest.raises(tp.errors.InputError, match=said):
            tp.Experiment.open(f"sqlite:///{path}", "prices", ARMS)
        assert path.read_bytes() == before


def test_an_old_sqlite_is_refused():
    sqlite_connection.check_sqlite_version("3.51.3")
    sqlite_connection.check_sqlite_version("3.60.0")
    with pytest.raises(tp.errors.InputError, match=r"SQLite 3\.51\.2 can corrupt .* 3\.51\.3 or newer"):
        sqlite_connection.check_sqlite_version("3.51.2")


def test_a_read_only_folder_is_said(tmp_path):
    folder = tmp_path / "shut"
    folder.mkdir()
    folder.chmod(0o555)
    with pytest.raises(tp.errors.InputError, match="is read-only"):
        tp.Experiment.open(url_of(folder), "prices", ARMS)
    assert not os.listdir(folder)
    folder.chmod(0o755)


def test_a_network_drive_is_warned_of():
    mounts = "/dev/sda / ext4 rw 0 0\nhost:/x /mnt/my\\040share nfs4 rw 0 0\n"
    with pytest.warns(UserWarning, match="network drive .nfs4."):
        store_urls.warn_if_on_network_drive("/mnt/my share/shop.db", mounts)
    store_urls.warn_if_on_network_drive("/mnt/my shareholder/shop.db", mounts)


def test_pickled_it_is_opened_again(place):
    run = opened(place)
    play(run, 5)
    copy = pickle.loads(pickle.dumps(run))
    pull = copy.ask(environment="x")
    assert run.pending_pulls() == [pull]
