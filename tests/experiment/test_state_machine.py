"""Random calls of an experiment, compared with the naive implementation in `naive_experiment.py`."""

import pickle
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tideproof as tp
from naive_experiment import Naive, check_numbers, check_replay, check_same
from tideproof.experiment import asks

LABELS = st.sampled_from(["mon", "tue", 3, 0, ""])
REWARDS = st.floats(-5.0, 5.0).map(lambda x: round(x, 3))
TIDES = ["auto", "labels", "labels", "hidden", "both"]
UNEVEN = ["auto:contrast", "by-arm:auto:linlucb", "robust:contrast"]
POLICIES = [
    "linlucb", "contrast", "round-robin+ols", "round-robin+period", "ucb1-normal", "top-two-thompson", *UNEVEN
]  # fmt: skip


class Machine(RuleBasedStateMachine):
    """State machine that makes the same calls to `run` and `naive`, which must agree."""

    @initialize(
        policy=st.sampled_from(POLICIES),
        direction=st.sampled_from(["maximize", "minimize"]),
        budget=st.sampled_from([None, 60, 200]),
        seed=st.integers(0, 2**64 - 1),
        lease=st.sampled_from([(None, None), (60.0, None), (60.0, 0.25)]),
        tide=st.sampled_from(TIDES),
    )
    def begin(self, policy, direction, budget, seed, lease, tide):
        tide = "labels" if policy in ("round-robin+period", "ucb1-normal", *UNEVEN) else tide
        self.tide, self.days = tide, 0
        self.now, self.asked_at, self.lease = 1000.0, [], lease
        self.patch, salts = pytest.MonkeyPatch(), iter(range(10**6))
        self.patch.setattr(asks, "new_salt", lambda: f"{next(salts):032x}")  # the same arms every time
        budget = 60 if budget is None and policy == "top-two-thompson" else budget
        self.run = tp.Experiment(
            ["A", "B", "C"],
            budget=budget,
            policy=policy,
            direction=direction,
            seed=seed,
            tide=tide,
            lease=lease[0],
            default=lease[1],
            clock=self.clock,
        )
        self.naive = Naive(["A", "B", "C"], budget, 1.0 if direction == "maximize" else -1.0, tide)
        self.ids, self.keys = [], {}

    def clock(self):
        return self.now

    def where(self, label):
        """Return where to ask: nowhere without labels, and one day after another where none comes back."""
        if self.tide == "hidden":
            return None
        if self.tide == "both":
            self.days += label == "tue"
            return self.days
        return label

    def note_asked(self, pull, label):
        assert pull.environment == (1 if self.tide == "hidden" else label)
        assert pull.arm in self.naive.active
        assert pull.id not in self.ids
        self.ids.append(pull.id)
        self.asked_at.append(self.now)
        self.naive.pulls.append([pull.arm, label, "pending", None])
        self.label = label

    def pick(self, data, states, most=1):
        """Return numbers of at most that many pulls in these states."""
        found = self.naive.those(*states)
        if not found:
            return []
        return data.draw(st.lists(st.sampled_from(found), min_size=1, max_size=most, unique=True))

    @rule(label=LABELS, n=st.none() | st.integers(1, 6))
    def ask(self, label, n):
        naive, wanted, label = self.naive, n or 1, self.where(label)
        if naive.paused or (naive.remaining is not None and wanted > naive.remaining):
            with pytest.raises(tp.errors.Finished):
                self.run.ask(environment=label, n=n)
            return
        pulls = self.run.ask(environment=label, n=n)
        for pull in [pulls] if n is None else pulls:
            self.note_asked(pull, label)

    @rule()
    def ask_without_a_label(self):
        """The pull belongs to the environment of the last ask."""
        if self.ids and not self.naive.paused and self.naive.remaining != 0:
            self.note_asked(self.run.ask(), self.label)

    @rule(label=LABELS, unit=st.sampled_from(["u", "v", "w", 7]))
    def ask_for_a_unit(self, label, unit):
        naive, known, label = self.naive, self.naive.units.get(unit), self.where(label)
        if known is not None and naive.pulls[known][2] != "cancelled":
            assert self.run.ask(environment=label, unit=unit).id == self.ids[known]
        elif naive.paused or naive.remaining == 0:
            with pytest.raises(tp.errors.Finished):
                self.run.ask(environment=label, unit=unit)
        else:
            pull = self.run.ask(environment=label, unit=unit)
            naive.units[unit] = len(naive.pulls)
            naive.of_units.add(len(naive.pulls))
            self.note_asked(pull, label)

    @rule()
    def forget_units(self):
        self.run.forget_units()
        self.naive.units = {}
        assert not any(getattr(event, "salt", "") for event in self.run.events())

    @rule(seconds=st.sampled_from([0.0, 1.0, 59.0, 60.0]))
    def wait(self, seconds):
        self.now += seconds
        after, default = self.lease
        for i in self.naive.those("pending"):
            if after is not None and self.asked_at[i] + after <= self.now:
                self.naive.pulls[i][2:] = ["expired", None] if default is None else ["defaulted", default]

    @rule(label=LABELS, rewards=st.lists(REWARDS, min_size=2, max_size=4))
    def warm_start(self, label, rewards):
        arms = [self.naive.arms[i % len(self.naive.arms)] for i in range(len(rewards))]
        log = {"arm": arms, "day": [label] * len(rewards), "sales": rewards}
        if self.tide in ("hidden", "both"):
            with pytest.raises(tp.errors.InputError, match="the times of its rewards are not known"):
                self.run.warm_start(log, arm="arm", environment="day", reward="sales")
            return
        self.run.warm_start(log, arm="arm", environment="day", reward="sales")
        self.naive.warm += list(zip(arms, log["day"], rewards, strict=True))

    @rule(data=st.data(), reward=REWARDS)
    def tell(self, data, reward):
        """A pull has one reward, and a late one replaces a default; that of a unit adds up what it is told."""
        for i in self.pick(data, ["pending", "expired", "defaulted"]):
            self.run.tell(self.ids[i], reward)
            self.naive.pulls[i][2:] = ["told", reward]
        of_units = [i for i in self.naive.those("told") if i in self.naive.of_units]
        if of_units:
            i = data.draw(st.sampled_from(of_units))
            self.run.tell(self.ids[i], reward)
            self.naive.pulls[i][3] += reward

    @rule(data=st.data())
    def tell_many(self, data):
        pulls, naive = self.naive.pulls, self.naive
        chosen = self.pick(data, ["pending", "told"], 8)
        chosen = [i for i in chosen if pulls[i][2] == "pending" or i not in naive.of_units]
        rewards = [data.draw(REWARDS) if pulls[i][3] is None else pulls[i][3] for i in chosen]
        self.run.tell_many([self.ids[i] for i in chosen], rewards)
        for i, reward in zip(chosen, rewards, strict=True):
            pulls[i][2:] = ["told", reward]

    @rule(data=st.data(), reward=REWARDS)
    def refused(self, data, reward):
        before = self.run.events()
        for i in self.pick(data, ["told", "cancelled", "summarised"]):
            if i in self.naive.of_units and self.naive.pulls[i][2] == "told":
                continue
            with pytest.raises(tp.errors.InputError):
                self.run.tell(self.ids[i], reward + 10.0)
        for i in self.pick(data, ["told", "summarised"]):
            with pytest.raises(tp.errors.InputError):
                self.run.cancel(self.ids[i])
        assert self.run.events() == before

    @rule(data=st.data(), label=LABELS, n=st.integers(1, 9), mean=REWARDS, variance=st.floats(0.1, 4.0))
    def summary(self, data, label, n, mean, variance):
        arm = data.draw(st.sampled_from(self.naive.arms))
        key = data.draw(st.sampled_from([None, "a", "b", "#1"]))
        told = {"arm": arm, "environment": label, "n": n, "mean": mean, "variance": variance, "key": key}
        if self.tide in ("hidden", "both"):
            with pytest.raises(tp.errors.InputError, match="the times of its rewards are not known"):
                self.run.tell_summary(**told)
            return
        if key in self.keys:
            self.run.tell_summary(**self.keys[key])  # a repeat
            return
        self.run.tell_summary(**told)
        self.naive.summarise(arm, label, n, mean, variance)
        if key is not None:
            self.keys[key] = told

    @rule(data=st.data())
    def cancel_many(self, data):
        chosen = self.pick(data, ["pending", "cancelled", "expired"], 4)
        self.run.cancel_many([self.ids[i] for i in chosen])
        for i in chosen:
            if self.naive.pulls[i][2] == "pending":
                self.naive.pulls[i][2] = "cancelled"

    @rule(data=st.data(), reward=REWARDS)
    def correct(self, data, reward):
        for i in self.pick(data, ["told", "defaulted"]):
            self.run.correct(self.ids[i], reward)
            if self.naive.pulls[i][3] != reward:
                self.naive.pulls[i][2:] = ["told", reward]

    @rule()
    def add_arm(self):
        name = "D" * (len(self.naive.arms) - 2)
        if len(self.naive.arms) < 6:
            self.run.add_arm(name)
            self.naive.arms.append(name)

    @rule(data=st.data())
    def retire_arm(self, data):
        arm = data.draw(st.sampled_from(self.naive.arms))
        if len(self.naive.active) == 2 and arm in self.naive.active:
            with pytest.raises(tp.errors.InputError, match="at least two"):
                self.run.retire_arm(arm)
        else:
            self.run.retire_arm(arm)
            self.naive.retired.add(arm)

    @rule(budget=st.integers(60, 250))
    def extend(self, budget):
        if budget >= len(self.naive.pulls):
            self.run.extend(budget)
            self.naive.budget = budget

    @rule()
    def pause(self):
        self.run.pause("lunch")
        self.naive.paused = True

    @rule()
    def resume(self):
        self.run.resume()
        self.naive.paused = False

    @rule(text=st.text(max_size=5))
    def note(self, text):
        self.run.note(text, by="somebody")
        assert self.run.events()[-1].text == text

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run.save(Path(folder) / "run.json")
            again = tp.Experiment.load(Path(folder) / "run.json", clock=self.clock)
        assert again.events() == self.run.events()
        self.run = check_same(self.run, again)

    @rule()
    def pickle(self):
        """A copy has the clock of where it goes on."""
        events = self.run.events()
        assert pickle.loads(pickle.dumps(events)) == events  # the clock of this machine cannot be pickled
        self.run = check_replay(self.run)

    @rule()
    def look(self):
        """Reading changes nothing, not even bits."""
        assert self.run.done == (self.naive.remaining == 0)
        self.run.recommend()
        if not self.run.done and not self.naive.paused and self.ids:
            self.run.shares(n=1)

    @rule()
    def compare(self):
        check_numbers(self.run, self.naive)
        check_replay(self.run)

    @invariant()
    def the_same_book(self):
        if not hasattr(self, "run"):
            return
        naive, table = self.naive, self.run.history()
        assert self.run.remaining == naive.remaining
        rows = [row for row in table.to_dicts() if row["status"] != "warm"]
        of_pulls = rows[: len(naive.pulls)]
        assert [row["pull"] for row in of_pulls] == self.ids
        found = [[row[name] for name in ("arm", "environment", "status", "reward")] for row in of_pulls]
        assert found == naive.pulls
        assert [p.id for p in self.run.pending_pulls()] == [self.ids[i] for i in naive.those("pending")]
        assert len(rows) == len(naive.pulls) + len(naive.summaries)
        before = [row for row in table.to_dicts() if row["status"] == "warm"]
        assert sum(row["n"] for row in before) == len(naive.warm)

    def teardown(self):
        if hasattr(self, "run"):
            self.patch.undo()
            self.compare()


# Without shrinking, which can take minutes; who looks into a failure adds Phase.shrink.
Machine.TestCase.settings = settings(max_examples=75, stateful_step_count=40, phases=[Phase.generate])
TestMachine = Machine.TestCase
