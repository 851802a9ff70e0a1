"""Units: each keeps its arm, which a hash chooses; only hashes are stored; rewards are added up."""

import hashlib
import json
import pickle
import time

import numpy as np
import pytest

import tideproof as tp
from experiments import live_book, replay, same_contents
from tideproof.experiment.events import event_records as e
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pulls_book import Book
from tideproof.experiment.unit_assignments import arm_at, batch_size, hash_unit, new_salt, unit_fraction

ARMS = ["A", "B", "C"]
MEANS = {"A": 0.0, "B": 1.0, "C": 2.0}


@pytest.fixture(autouse=True)
def salts(monkeypatch):
    """Replace random salts by fixed ones."""
    salts = (f"{i:032x}" for i in range(1, 100))
    monkeypatch.setattr("tideproof.experiment.asks.new_salt", lambda: next(salts))


def experiment(**options):
    return tp.Experiment(ARMS, **{"budget": 5000, "seed": 3, **options})


def of_kind(run, kind):
    return [event for event in run.events() if isinstance(event, kind)]


def test_the_same_unit_gets_the_same_pull():
    run = experiment()
    first = run.ask(unit="ann", environment="mon")
    for who in range(50):
        run.ask(unit=who, environment="tue")
    assert run.ask(unit="ann", environment="tue") == first
    assert run.ask(unit="ann") is first
    assert first.environment == "mon"
    assert run.ask(unit=7) == run.ask(unit="7") == run.ask(unit=np.int64(7))
    assert run.remaining == 5000 - 51
    assert len(of_kind(run, e.Asked)) == 51


def test_the_hash_of_a_unit_chooses_its_arm():
    """The expected arms come from 64 bits of blake2b with the salt and the recorded shares."""
    run = experiment(minimum_shares={"A": 0.5})
    pulls = {f"u{i}": run.ask(unit=f"u{i}", environment="mon") for i in range(300)}
    (salt,) = [event.salt for event in of_kind(run, e.Salted)]
    names, shares = iter(pulls.items()), None
    for event in run.events():
        if isinstance(event, e.Shared):
            shares = np.cumsum(event.shares)
            assert shares[-1] == pytest.approx(1.0, abs=1e-12)
        elif isinstance(event, e.Asked):
            name, pull = next(names)
            digest = hashlib.blake2b(
                name.encode(), key=bytes.fromhex(salt), person=b"draw", digest_size=8
            ).digest()
            place = int.from_bytes(digest, "big") / 2**64
            assert pull.arm == ARMS[int(np.searchsorted(shares, place, side="right"))]
    assert 0.47 < sum(pull.arm == "A" for pull in pulls.values()) / 300 < 0.53  # shares make up for draws
    assert next(names, None) is None


def test_the_order_of_units_does_not_matter():
    run = experiment()
    run.ask(unit="first", environment="mon")
    names = [f"u{i}" for i in range(5)]  # the plan is for six units
    forth, back = (replay(run) for _ in range(2))
    one = {name: forth.ask(unit=name, environment="mon").arm for name in names}
    two = {name: back.ask(unit=name, environment="mon").arm for name in reversed(names)}
    assert one == two


def test_shares_divide_the_unit_interval():
    shares = [0.2, 0.0, 0.5, 0.3, 0.0]
    assert [arm_at(p, shares) for p in (0.0, 0.19, 0.2, 0.69, 0.71, 0.999999, 1.0)] == [0, 0, 2, 2, 3, 3, 3]
    salt = "5a" * 16
    points = np.array([unit_fraction(str(i), salt) for i in range(4000)])
    # uniform: the largest distance of the distribution functions is above 1.95 / sqrt(n) once in 1,000 salts
    assert np.abs(np.sort(points) - (np.arange(4000) + 0.5) / 4000).max() < 1.95 / np.sqrt(4000)
    assert unit_fraction("1", salt) != unit_fraction("1", "5b" * 16)


def test_salts_are_128_random_bits():
    salts = {new_salt() for _ in range(100)}
    assert len(salts) == 100
    assert {len(bytes.fromhex(salt)) for salt in salts} == {16}


def test_shares_are_kept_for_a_batch_of_units():
    assert [batch_size(5, asked, None) for asked in (0, 99, 110, 500, 10**6)] == [10, 10, 11, 50, 100]
    assert batch_size(5, 1000, 3) == 3
    run = experiment()
    for i in range(200):
        run.ask(unit=i, environment="mon")
    sizes = [event.n for event in of_kind(run, e.Shared)]
    assert sizes[:11] == [6] * 11  # 66 asked
    assert sum(sizes) >= 200 > sum(sizes[:-1])
    for i in range(200, sum(sizes)):
        run.ask(unit=i, environment="mon")
    assert len(of_kind(run, e.Shared)) == len(sizes)  # until then the last shares hold
    run.ask(unit=sum(sizes), environment="mon")
    assert len(of_kind(run, e.Shared)) == len(sizes) + 1


def test_names_of_units_are_not_stored(tmp_path):
    run = experiment()
    for who in ("ann@example.org", "bob@example.org"):
        run.ask(unit=who, environment="mon")
    run.save(tmp_path / "run.json")
    text = (tmp_path / "run.json").read_text()
    [salt] = [event.salt for event in of_kind(run, e.Salted)]
    assert "example" not in text
    assert salt in text
    assert hash_unit("ann@example.org", salt) in text

    run.forget_units(by="privacy")
    run.save(tmp_path / "run.json")
    assert salt not in (tmp_path / "run.json").read_text()
    assert salt.encode() not in pickle.dumps(run)
    assert of_kind(run, e.Salted)[-1].by == "privacy"
    assert same_contents(run, replay(run))


def test_forgotten_units_are_new():
    run = experiment()
    pull = run.ask(unit="ann", environment="mon")
    [old] = [event.salt for event in of_kind(run, e.Salted)]
    run.forget_units()
    run.forget_units()  # nothing more to forget
    assert live_book(run)["units"] == {}  # nor is the hash of a name kept
    assert len(of_kind(run, e.Salted)) == 2
    run.tell(pull, 1.0, key="a")  # the pull is still a unit's
    run.tell(pull, 1.0, key="a")
    run.tell(pull, 2.0, key="b")
    assert run.history()["reward"] == [3.0]
    new = run.ask(unit="ann", environment="tue")
    assert new.id != pull.id
    assert of_kind(run, e.Salted)[-1].salt not in ("", old)
    assert old not in repr(run.events())
    assert same_contents(run, replay(run))


def test_rewards_of_a_unit_are_added_up_in_its_first_environment(tmp_path):
    run = experiment(policy="linlucb")
    ann, bob = (run.ask(unit=who, environment="mon") for who in ("ann", "bob"))
    plain = run.ask(environment="mon")
    run.tell(ann, 10.0, key="order 1")
    again = run.ask(unit="ann", environment="tue")
    run.tell(again, 5.0, key="order 2")
    run.tell(again, 5.0, key="order 2")
    run.tell(again, 2.5)
    run.tell(again, 2.5)  # without a key, each counts
    run.tell_many([bob, plain, bob, bob.id], [1.0, 4.0, 1.0, 1.0], keys=["x", None, "y", "x"])
    assert run.history()["reward"] == [20.0, 2.0, 4.0]
    assert run.fit().cells.environments == ["mon"]
    assert run.recommend().recorded == 3
    run.correct(ann, 7.0)
    assert run.history()["reward"][0] == 7.0

    other = tp.Experiment(ARMS, budget=5000, policy="linlucb")
    for name in ("ann", "bob"):
        arm, reward = run.ask(unit=name).arm, {"ann": 7.0, "bob": 2.0}[name]
        other.tell_summary(arm=arm, environment="mon", n=1, mean=reward)
    other.tell_summary(arm=plain.arm, environment="mon", n=1, mean=4.0)
    assert np.allclose(run.fit().cells.mean, other.fit().cells.mean, rtol=1e-12)
    assert run.fit().cells.n.tolist() == other.fit().cells.n.tolist()

    run.save(tmp_path / "run.json")
    for each in (tp.Experiment.load(tmp_path / "run.json"), replay(run)):
        assert same_contents(run, each)
        assert each.ask(unit="ann") == ann
        assert (
            each.ask(unit="cem", environment="mon").arm == replay(run).ask(unit="cem", environment="mon").arm
        )


def test_keys_are_of_one_pull_and_cannot_change():
    run = experiment()
    ann, bob = (run.ask(unit=who, environment="mon") for who in ("ann", "bob"))
    run.tell(ann, 1.0, key="1")
    run.tell(bob, 2.0, key="1")
    before = run.events()
    with pytest.raises(tp.errors.ConflictingReward, match=r"has the reward 1\.0 with the key '1', not 2\.0"):
        run.tell(ann, 2.0, key="1")
    with pytest.raises(tp.errors.ConflictingReward, match=r"has the reward 5\.0 with the key '2', not 6\.0"):
        run.tell_many([ann, ann], [5.0, 6.0], keys=["2", "2"])
    plain = run.ask(environment="mon")
    before = run.events()
    with pytest.raises(tp.errors.InputError, match="key='k' is only for pulls of a unit"):
        run.tell(plain, 1.0, key="k")
    with pytest.raises(tp.errors.InputError, match="a key must be a string, not 3"):
        run.tell(ann, 1.0, key=3)
    with pytest.raises(tp.errors.InputError, match="pulls and keys must have the same length, not 2 and 1"):
        run.tell_many([ann, bob], [1.0, 1.0], keys=["z"])
    assert run.events() == before


def test_a_default_is_replaced_by_the_first_reward_and_the_next_are_added():
    now = [0.0]
    run = experiment(lease=10.0, default=0.5, clock=lambda: now[0])
    ann = run.ask(unit="ann", environment="mon")
    now[0] = 20.0
    assert run.ask(unit="ann") == ann
    assert run.history()["reward"] == [0.5]
    run.tell(ann, 3.0)
    run.tell(ann, 4.0)
    assert run.history()["reward"] == [7.0]
    assert same_contents(run, replay(run))


def test_a_cancelled_unit_gets_its_arm_again_as_a_new_pull():
    run = experiment()
    pulls = [run.ask(unit=i, environment="mon") for i in range(40)]
    run.cancel_many(pulls)
    again = [run.ask(unit=i, environment="tue") for i in range(40)]
    assert [p.arm for p in again] == [p.arm for p in pulls]
    assert {p.environment for p in again} == {"tue"}
    assert not {p.id for p in again} & {p.id for p in pulls}
    run.cancel_many(again)
    run.retire_arm("B")
    last = [run.ask(unit=i, environment="tue").arm for i in range(40)]
    assert [a for a, p in zip(last, pulls, strict=True) if p.arm != "B"] == [
        p.arm for p in pulls if p.arm != "B"
    ]
    assert "B" not in last
    assert same_contents(run, replay(run))


def test_units_keep_their_arms_while_arms_are_added_and_retired():
    run = experiment()
    first = {i: run.ask(unit=i, environment="mon") for i in range(30)}
    run.retire_arm("A")
    run.add_arm("D")
    shared = len(of_kind(run, e.Shared))
    new = [run.ask(unit=i, environment="mon").arm for i in range(30, 130)]
    assert set(new) == {"B", "C", "D"}
    assert len(of_kind(run, e.Shared)[shared].shares) == 4  # old shares know of three arms
    assert all(run.ask(unit=i) == pull for i, pull in first.items())  # who has A keeps it
    assert same_contents(run, replay(run))


def test_units_keep_their_arms_when_nothing_more_can_be_asked():
    run = tp.Experiment(ARMS, budget=7)
    pulls = [run.ask(unit=i, environment="mon") for i in range(7)]
    with pytest.raises(tp.errors.Finished, match="0 of 7 are left"):
        run.ask(unit="new")
    run.pause()
    with pytest.raises(tp.errors.Finished, match="paused"):
        run.ask(unit="new")
    assert [run.ask(unit=i) for i in range(7)] == pulls  # those who have an arm keep it
    stopping = tp.Experiment(ARMS, policy="reduce:successive-rejects", budget=60)
    for i in range(60):
        stopping.ask(unit=i, environment="mon")
    with pytest.raises(tp.errors.Finished):
        stopping.ask(unit=60, environment="mon")


@pytest.mark.parametrize("unit", ["", 1.5, True, b"x", ["a"]])
def test_invalid_units_are_refused(unit):
    run = experiment()
    with pytest.raises(tp.errors.InputError, match="a unit must be a string or a whole number"):
        run.ask(unit=unit)
    with pytest.raises(tp.errors.InputError, match="cannot be combined"):
        run.ask(unit="ann", n=3)
    assert len(run.events()) == 1


@pytest.mark.parametrize("owner", [Book, PolicyState])
def test_an_interrupted_ask_of_a_unit_is_rolled_back(monkeypatch, owner):
    run = experiment()
    ann = run.ask(unit="ann", environment="mon")
    run.cancel(ann)
    method = "ask" if owner is Book else "expect"
    real = getattr(owner, method)
    before = replay(run)

    def broken(self, *args):
        real(self, *args)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, method, broken)
    for who in ("ann", "bob"):
        with pytest.raises(KeyboardInterrupt):
            run.ask(unit=who, environment="mon")
    monkeypatch.undo()
    assert same_contents(run, before)


@pytest.mark.parametrize("policy", ["contrast", "ucb1-normal"])  # the second begins anew where rewards change
def test_an_interrupted_sum_of_rewards_is_rolled_back(monkeypatch, policy):
    run = experiment(policy=policy)
    ann, bob = (run.ask(unit=who, environment="mon") for who in ("ann", "bob"))
    run.tell(ann, 1.0, key="1")
    before = replay(run)
    monkeypatch.setattr(PolicyState, "finish", lambda self: json.loads("?"))
    with pytest.raises(json.JSONDecodeError):
        run.tell_many([ann, bob, bob], [1.0, 1.0, 1.0], keys=["2", "1", None])
    monkeypatch.undo()
    assert same_contents(run, before)


def test_a_unit_costs_well_below_a_millisecond():
    """One ask and tell take 0.2 ms; the test allows more for busy machines."""
    run = tp.Experiment(["A", "B", "C", "D", "E"], budget=10_000)
    began = time.process_time()
    for i in range(1000):
        run.tell(run.ask(unit=i, environment=i // 100), 1.0 * (i % 7))
    assert (time.process_time() - began) / 1000 < 1.5e-3


def test_units_find_the_best_arm():
    run, random = experiment(budget=600), np.random.default_rng(5)
    for i in range(600):
        pull = run.ask(unit=i, environment=i // 50)
        run.tell(pull, MEANS[pull.arm] + random.standard_normal())
    assert run.recommend().arm == "C"
    asked = run.history()["arm"]
    assert asked.count("A") < asked.count("C")  # it learns: fewer of the worst
