"""Every event in any order, against the naive second writing in `naive.py`."""

import pickle
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tideproof as tp
from naive import Naive, check_numbers, check_refold, check_same

LABELS = st.sampled_from(["mon", "tue", 3, 0, ""])
REWARDS = st.floats(-5.0, 5.0).map(lambda x: round(x, 3))
POLICIES = ["linlucb", "contrast", "round-robin+ols", "ucb1-normal", "top-two-thompson"]


class Machine(RuleBasedStateMachine):
    """What happens to `run` happens to `naive`, and both must agree."""

    @initialize(
        policy=st.sampled_from(POLICIES),
        direction=st.sampled_from(["maximize", "minimize"]),
        budget=st.sampled_from([None, 60, 200]),
        seed=st.integers(0, 2**64 - 1),
    )
    def begin(self, policy, direction, budget, seed):
        budget = 60 if budget is None and policy == "top-two-thompson" else budget
        self.run = tp.Experiment(
            ["A", "B", "C"], budget=budget, policy=policy, direction=direction, seed=seed
        )
        self.naive = Naive(["A", "B", "C"], budget, 1.0 if direction == "maximize" else -1.0)
        self.ids, self.keys = [], {}

    def pick(self, data, states, most=1):
        """Return numbers of at most that many pulls in these states."""
        found = self.naive.those(*states)
        if not found:
            return []
        return data.draw(st.lists(st.sampled_from(found), min_size=1, max_size=most, unique=True))

    @rule(label=LABELS, n=st.none() | st.integers(1, 6))
    def ask(self, label, n):
        naive, wanted = self.naive, n or 1
        if naive.paused or (naive.remaining is not None and wanted > naive.remaining):
            with pytest.raises(tp.Finished):
                self.run.ask(environment=label, n=n)
            return
        pulls = self.run.ask(environment=label, n=n)
        for pull in [pulls] if n is None else pulls:
            assert pull.environment == label
            assert pull.arm in naive.active
            assert pull.id not in self.ids
            self.ids.append(pull.id)
            naive.pulls.append([pull.arm, label, "out", None])
        assert self.run._label == label

    @rule(data=st.data(), reward=REWARDS)
    def tell(self, data, reward):
        for i in self.pick(data, ["out"]):
            self.run.tell(self.ids[i], reward)
            self.naive.pulls[i][2:] = ["told", reward]

    @rule(data=st.data())
    def tell_many(self, data):
        chosen = self.pick(data, ["out", "told"], 8)
        pulls = self.naive.pulls
        rewards = [data.draw(REWARDS) if pulls[i][3] is None else pulls[i][3] for i in chosen]
        self.run.tell_many([self.ids[i] for i in chosen], rewards)
        for i, reward in zip(chosen, rewards, strict=True):
            pulls[i][2:] = ["told", reward]

    @rule(data=st.data(), reward=REWARDS)
    def refused(self, data, reward):
        before = self.run.events()
        for i in self.pick(data, ["told", "cancelled", "summarised"]):
            with pytest.raises(tp.InputError):
                self.run.tell(self.ids[i], reward + 10.0)
        for i in self.pick(data, ["told", "summarised"]):
            with pytest.raises(tp.InputError):
                self.run.cancel(self.ids[i])
        assert self.run.events() == before

    @rule(data=st.data(), label=LABELS, n=st.integers(1, 9), mean=REWARDS, variance=st.floats(0.1, 4.0))
    def summary(self, data, label, n, mean, variance):
        arm = data.draw(st.sampled_from(self.naive.arms))
        key = data.draw(st.sampled_from([None, "a", "b", "#1"]))
        told = {"arm": arm, "environment": label, "n": n, "mean": mean, "variance": variance, "key": key}
        if key in self.keys:
            self.run.tell_summary(**self.keys[key])  # a repeat
            return
        self.run.tell_summary(**told)
        self.naive.summarise(arm, label, n, mean, variance)
        if key is not None:
            self.keys[key] = told

    @rule(data=st.data())
    def cancel_many(self, data):
        chosen = self.pick(data, ["out", "cancelled"], 4)
        self.run.cancel_many([self.ids[i] for i in chosen])
        for i in chosen:
            self.naive.pulls[i][2] = "cancelled"

    @rule(data=st.data(), reward=REWARDS)
    def correct(self, data, reward):
        for i in self.pick(data, ["told"]):
            self.run.correct(self.ids[i], reward)
            self.naive.pulls[i][3] = reward

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
            with pytest.raises(tp.InputError, match="at least two"):
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
            again = tp.Experiment.load(Path(folder) / "run.json")
        assert again.events() == self.run.events()
        self.run = check_same(self.run, again)

    @rule()
    def pickle(self):
        self.run = pickle.loads(pickle.dumps(self.run))

    @rule()
    def look(self):
        """Reading changes nothing, not even bits."""
        assert self.run.done == (self.naive.remaining == 0)
        self.run.recommend()
        self.run._next_arm("mon")

    @rule()
    def compare(self):
        check_numbers(self.run, self.naive)
        check_refold(self.run)

    @invariant()
    def the_same_book(self):
        if not hasattr(self, "run"):
            return
        naive, table = self.naive, self.run.history()
        assert self.run.remaining == naive.remaining
        told = len(naive.pulls)
        assert table["pull"][:told] == self.ids
        assert table["arm"][:told] == [pull[0] for pull in naive.pulls]
        assert table["status"][:told] == [pull[2] for pull in naive.pulls]
        assert table["reward"][:told] == [pull[3] for pull in naive.pulls]
        assert [p.id for p in self.run.pulls_out()] == [self.ids[i] for i in naive.those("out")]
        assert len(table) == told + len(naive.summaries)

    def teardown(self):
        if hasattr(self, "run"):
            self.compare()


Machine.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None, derandomize=True)
TestMachine = Machine.TestCase
