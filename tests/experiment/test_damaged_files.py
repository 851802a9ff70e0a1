"""Damaged files give an InputError or exactly the same experiment. `make faults` tries 2,000 of each kind."""

import contextlib
import copy
import json
import os
import stat

import numpy as np
import pytest

import tideproof as tp
from experiments import saved_numbers
from faults import busy, count
from naive_experiment import check_replay
from tideproof.experiment.snapshots import snapshot
from tideproof.experiment.snapshots.experiment_file import checksum


@pytest.fixture(scope="module", params=["events", "snapshot"])
def saved(request, tmp_path_factory):
    """Return a run with events of every kind, and its file, with a snapshot or without."""
    run = busy("contrast")
    run.warm_start(
        {"arm": ["A", "B"], "day": ["old"] * 2, "sales": [1.0, 2.0]},
        arm="arm",
        environment="day",
        reward="sales",
    )
    run.ask(environment=2, unit="somebody")
    run.tell(run.ask(environment=2, unit="somebody"), 1.5, key="order")
    run.correct(run.history()["pull"][run.history()["status"].index("told")], 7.0)
    run.add_arm("E")
    run.extend(300)
    run.note("lunch")
    run.pause()
    run.resume()
    path = tmp_path_factory.mktemp("damage") / "run.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot, "FEWEST_EVENTS", 1 if request.param == "snapshot" else 10**9)
        run.save(path)
    assert (json.loads(path.read_text())["snapshot"] is not None) == (request.param == "snapshot")
    return run, path.read_bytes()


def loaded(path, data):
    """Write these bytes to a file and load it; return None if that is refused."""
    path.write_bytes(data)
    try:
        return tp.Experiment.load(path)
    except tp.errors.InputError:
        return None


def same(run, again):
    return run.events() == again.events() and saved_numbers(run) == saved_numbers(again)


def cut(data, random):
    return data[: random.integers(len(data))]


def flipped(data, random):
    at = random.integers(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.integers(8))]) + data[at + 1 :]


def digit(data, random):
    places = [i for i, byte in enumerate(data) if byte in b"0123456789"]
    at = places[random.integers(len(places))]
    other = b"0123456789".replace(data[at : at + 1], b"")
    return data[:at] + other[(i := random.integers(9)) : i + 1] + data[at + 1 :]


def changed_in_words(data, random):
    return json.dumps(changed(json.loads(data), random)).encode()


ODD = [None, True, "", "x", 2.5, -1, 10**30, 1e308, -1e200, [], {}, [[]], {"a": 1}, float("nan")]


def changed(document, random):
    """Return a document in which a random field is missing or has another type."""
    document = copy.deepcopy(document)
    holder, place = holders(document)[int(random.integers(len(holders(document))))]
    value = holder[place]
    way = random.integers(4)
    if way == 0:
        del holder[place]
    elif way == 1:
        holder[place] = [value] if random.random() < 0.5 else str(value)
    elif way == 2 and isinstance(holder, list):
        holder.insert(place, copy.deepcopy(value))
    else:
        holder[place] = copy.deepcopy(ODD[random.integers(len(ODD))])
    return document


def holders(value):
    """Return container and key of every value in a document."""
    found = []
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, inner in places:
        found += [(value, place), *holders(inner)]
    return found


@pytest.mark.parametrize("damage", [cut, flipped, digit, changed_in_words])
def test_a_damaged_file_is_refused_or_gives_the_same_experiment(saved, tmp_path, damage):
    run, data = saved
    random = np.random.default_rng(7)
    refused = 0
    for _ in range(count(300) // 8):
        again = loaded(tmp_path / "run.json", damage(data, random))
        refused += again is None
        assert again is None or same(run, again)
    assert refused > 0


def test_a_changed_file_with_a_right_checksum_is_refused_or_works(saved, tmp_path):
    """The file may then describe another experiment, but a complete one."""
    run, data = saved
    random = np.random.default_rng(8)
    refused = works = 0
    for _ in range(count(300) // 2):
        document = changed(json.loads(data), random)
        document.pop("sha256", None)
        again = loaded(tmp_path / "run.json", json.dumps(document | {"sha256": checksum(document)}).encode())
        if again is None:
            refused += 1
            continue
        works += 1
        if again.events() == run.events():
            assert same(run, again)
        check_replay(again)
        again.history()
        str(again.recommend())
        again.save(tmp_path / "again.json")
        with contextlib.suppress(tp.errors.Finished):
            again.tell(again.ask(environment="next"), 0.5)
    assert refused > works > 0


# --------------------------------------------------------------------------------- files themselves


def test_permissions_are_kept_and_links_followed(tmp_path):
    run, path, link = busy("linlucb"), tmp_path / "run.json", tmp_path / "link.json"
    run.save(path)
    path.chmod(0o600)
    link.symlink_to(path)
    old = path.read_text()
    run.note("more")
    run.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() != old
    assert tp.Experiment.load(link).events() == run.events()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.json", "run.json"]


def test_a_new_file_has_the_usual_permissions(tmp_path):
    old = os.umask(0o027)
    try:
        busy("linlucb").save(tmp_path / "run.json")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "run.json").stat().st_mode) == 0o640
