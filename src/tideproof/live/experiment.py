"""Experiment: ask which arm to try next, tell what came back. One class for every policy.

It keeps names, labels, the list of pulls that are out and what was told; all arithmetic happens in
the kernels of its policy, interpreted.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast, overload

import numpy as np

from tideproof import checks
from tideproof.checks import Direction, finite, whole
from tideproof.core.arrays import allocate
from tideproof.errors import ConflictingReward, Finished, InputError, NotComparable, UnknownName
from tideproof.estimate.fitted import Fit
from tideproof.files import replace_text
from tideproof.kernels.moments import record
from tideproof.kernels.random import ASK, SELECT, TELL, Draw
from tideproof.kernels.slot import Slot
from tideproof.live import saving
from tideproof.live.environment import Environment
from tideproof.live.pull import CANCELLED, OUT, SUMMARISED, TOLD, Label, Pull, checked_label
from tideproof.live.recommendation import Recommendation
from tideproof.policies.registry import Chosen, as_policy
from tideproof.stats.cells import Cells
from tideproof.stats.solve import solve
from tideproof.table import Table

REFACTOR = 4096  # told batches between two fresh solves; a million updates drift by 2e-8 without

Method = TypeVar("Method", bound=Callable[..., Any])


def _locked(method: Method) -> Method:
    @wraps(method)
    def locked(self: Experiment, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return cast(Method, locked)


class Experiment:
    """A live experiment: which arm next, and which in the end.

    Safe to call from several threads. `ask` changes nothing but the list of pulls that are out;
    rewards may be told late, in any order and repeatedly.

    Parameters
    ----------
    arms
        Names of the alternatives, at least two.
    budget
        Number of pulls; None if it is open, for policies that need not know it.
    policy
        A registered name, `tp.policy(...)` or a `Policy` itself.
    seed
        Of the policy's own random choices: same seed and rewards, same run.
    direction
        `"maximize"`, or `"minimize"` for latency or cost.

    Examples
    --------
    >>> run = Experiment(["A", "B"], budget=12, policy="linlucb", seed=1)
    >>> means, weather = {"A": 1.0, "B": 2.0}, {"mon": 0.0, "tue": 50.0, "wed": -20.0}
    >>> for day in ["mon"] * 4 + ["tue"] * 4 + ["wed"] * 4:
    ...     pull = run.ask(environment=day)
    ...     run.tell(pull, means[pull.arm] + weather[day] + 0.1 * (pull.id % 3))
    >>> run.done, run.recommend().arm
    (True, 'B')
    """

    def __init__(
        self,
        arms: Iterable[str],
        *,
        budget: int | None = None,
        policy: Chosen = "contrast",
        seed: int = 0,
        direction: Direction = "maximize",
    ) -> None:
        self.arms = _checked_arms(arms)
        if budget is not None:
            budget = whole("budget", budget, 1)
        self.budget = budget
        self.policy = as_policy(policy)
        self.seed = whole("seed", seed, 0, 2**64 - 1)
        self.direction = checks.direction(direction)

        self._sign = 1.0 if direction == "maximize" else -1.0
        self._index = {arm: i for i, arm in enumerate(self.arms)}
        self._params = self.policy.params(len(self.arms), budget)
        self._program = self.policy.program()
        self._memory = self.policy.memory(len(self.arms))
        self._ahead = self.policy.memory(len(self.arms))  # told data with the pulls that are out
        self._environments: dict[Label, Environment] = {}
        self._current: Label | None = None
        self._pulls: list[Pull] = []
        self._status: list[str] = []
        self._rewards: list[float | None] = []
        self._out: dict[int, Pull] = {}
        self._cancelled = 0
        self._summaries: dict[str, tuple[str, Label, int, float, float]] = {}
        self._batches = 0  # told batches, single rewards and summaries alike
        self._lock = threading.RLock()

    # ------------------------------------------------------------------ asking

    @overload
    def ask(self, *, environment: Label | None = None, n: None = None) -> Pull: ...
    @overload
    def ask(self, *, environment: Label | None = None, n: int) -> list[Pull]: ...
    @_locked
    def ask(self, *, environment: Label | None = None, n: int | None = None) -> Pull | list[Pull]:
        """Say which arm to play next, or the next `n` of them.

        Parameters
        ----------
        environment
            Where it will be played; without a label, where the last one was. A label that comes
            back is the same environment.
        n
            Number of pulls; the answer is then a list.

        Raises
        ------
        Finished
            If fewer pulls than that are left, or the policy has stopped.
        """
        wanted = 1 if n is None else whole("n", n, 1)
        label = self._label if environment is None else checked_label(environment)
        if self.remaining is not None and wanted > self.remaining:
            raise Finished(
                f"asked for {wanted} pull(s), {self.remaining} of {self.budget} left; {self.recommend()}"
            )
        before = len(self._pulls)
        try:
            pulls = [self._ask_one(label) for _ in range(wanted)]
        except BaseException:  # all of them or none
            for id in range(before, len(self._pulls)):
                del self._out[id]
            del self._pulls[before:], self._status[before:], self._rewards[before:]
            raise
        self._current = label
        return pulls[0] if n is None else pulls

    @property
    def _label(self) -> Label:
        """Where the next pull is played if nobody says: where the last one was, at first in 1."""
        return 1 if self._current is None else self._current

    def _ask_one(self, label: Label) -> Pull:
        arm = self._next_arm(label)
        if arm < 0:
            raise Finished(f"{self.policy.label} has stopped; {self.recommend()}")
        pull = Pull(len(self._pulls), self.arms[arm], label)
        self._pulls.append(pull)
        self._status.append(OUT)
        self._rewards.append(None)
        self._out[pull.id] = pull
        return pull

    def _next_arm(self, label: Label) -> int:
        run, slots = self._view()
        slot = slots.get(label) or self._environments.get(label)
        here = slot.slot.view if slot else allocate(Slot, len(self.arms)).view
        draw = self._draw(ASK, len(self._pulls))
        return int(self._program.ask(self._params, run.state, run.data, here, draw))

    def _view(self) -> tuple[Any, dict[Label, Environment]]:
        """Return the policy's state with the pulls that are out in their place, and their slots.

        Pulls of one arm in one environment enter together, in the order of their latest ask, so
        the work does not grow with the number of pulls that are out.
        """
        if not self._out:
            return self._memory.view, {}
        batches: dict[tuple[Label, str], int] = {}
        for pull in self._out.values():
            key = (pull.environment, pull.arm)
            batches[key] = batches.pop(key, 0) + 1
        self._ahead.copy_from(self._memory)
        run = self._ahead.view
        slots: dict[Label, Environment] = {}
        for i, ((label, arm), n) in enumerate(batches.items()):
            if label not in slots:
                slots[label] = Environment(len(self.arms))
                if label in self._environments:
                    slots[label].slot.copy_from(self._environments[label].slot)
            draw = self._draw(TELL, self._batches + i)
            slot = slots[label].slot.view
            self._program.expect(self._params, run.state, run.data, slot, self._index[arm], n, draw)
        return run, slots

    def _draw(self, purpose: np.uint64, step: int) -> Draw:
        return Draw(np.uint64(self.seed), np.uint64(0), purpose, np.uint64(step))

    @_locked
    def cancel(self, pull: Pull | int) -> None:
        """Take back a pull whose reward will never come; it returns to the budget."""
        id = self._known(pull)
        if self._status[id] == CANCELLED:
            return
        if self._status[id] != OUT:
            raise InputError(
                f"pull {id} is {self._status[id]} already; only a pull that is out can be cancelled"
            )
        self._status[id] = CANCELLED
        self._cancelled += 1
        del self._out[id]

    # ----------------------------------------------------------------- telling

    def tell(self, pull: Pull | int, reward: float) -> None:
        """Tell the reward of a pull, or of the pull with that id; a repeat is harmless."""
        self.tell_many([pull], [reward])

    @_locked
    def tell_many(self, pulls: Iterable[Pull | int], rewards: Iterable[float]) -> None:
        """Tell the rewards of several pulls: all of them or, if one is not allowed, none."""
        ids = [self._known(pull) for pull in pulls]
        values = [finite("reward", reward) for reward in rewards]
        if len(ids) != len(values):
            raise InputError(f"{len(ids)} pulls but {len(values)} rewards")
        new: dict[int, float] = {}
        for id, reward in zip(ids, values, strict=True):
            known = new.get(id, self._rewards[id])
            if known is not None and known != reward:
                raise ConflictingReward(f"pull {id} was told {known!r} before; now {reward!r}")
            if self._status[id] in (SUMMARISED, CANCELLED):
                raise InputError(f"pull {id} is {self._status[id]}; it cannot be told any more")
            if known is None:
                new[id] = reward
        for id, reward in new.items():
            pull = self._out.pop(id)
            self._status[id], self._rewards[id] = TOLD, reward
            self._take(pull.arm, pull.environment, 1, reward, 0.0)

    @_locked
    def tell_summary(
        self,
        *,
        arm: str,
        environment: Label,
        n: int,
        mean: float,
        variance: float | None = None,
        key: str | None = None,
    ) -> None:
        """Tell the results of `n` pulls of one arm in one environment at once.

        Settles the oldest pulls that are out there; a surplus is data outside the budget.

        Parameters
        ----------
        arm, environment
            Where the rewards come from.
        n, mean, variance
            Their number, mean and sample variance (divisor n - 1; needed if n > 1).
        key
            Makes a repeat harmless: the same key and values are taken once.
        """
        if arm not in self._index:
            raise UnknownName.among("arm", arm, self.arms)
        label = checked_label(environment)
        n = whole("n", n, 1)
        mean = finite("mean", mean)
        if variance is None and n > 1:
            raise InputError(f"a summary of {n} rewards needs their variance (divisor n - 1)")
        spread = 0.0 if variance is None else finite("variance", variance, 0.0)
        summary = (arm, label, n, mean, spread)
        key = key if key is not None else f"#{len(self._summaries) + 1}"
        known = self._summaries.setdefault(key, summary)
        if known is not summary:
            if known != summary:
                raise ConflictingReward(f"summary {key!r} was told {known} before; now {summary}")
            return
        for pull in [p for p in self._out.values() if p.arm == arm and p.environment == label][:n]:
            del self._out[pull.id]
            self._status[pull.id] = SUMMARISED
        self._take(arm, label, n, mean, (n - 1) * spread)

    def _take(self, arm: str, label: Label, n: int, mean: float, squares: float) -> None:
        """Hand told rewards to the cells and to the policy."""
        place = self._environments.get(label)
        if place is None:
            place = self._environments[label] = Environment(len(self.arms))
        record(place.cells.view, self._index[arm], n, mean, squares)
        run = self._memory.view
        draw = self._draw(TELL, self._batches)
        reward = self._sign * mean
        slot = place.slot.view
        self._program.take(
            self._params, run.state, run.data, slot, self._index[arm], n, reward, squares, draw
        )
        self._batches += 1
        if self._batches % REFACTOR == 0 and "fit" in self.policy.reads:
            self._refactor()

    def _refactor(self) -> None:
        """Replace the recursion's numbers by a fresh solve, so that rounding cannot add up."""
        c = self._cells()
        fresh = solve(replace(c, mean=self._sign * c.mean))
        fit = self._memory.view.data.fit
        fit.P[:], fit.mu[:], fit.rss[0], fit.group[:] = fresh.P, fresh.mu, fresh.rss, fresh.group

    def _known(self, pull: Pull | int) -> int:
        id = pull.id if isinstance(pull, Pull) else pull
        known = isinstance(id, (int, np.integer)) and 0 <= id < len(self._pulls)
        if not known or (isinstance(pull, Pull) and pull != self._pulls[id]):
            raise UnknownName(f"unknown pull {pull!r}; this experiment has asked for {len(self._pulls)}")
        return int(id)

    # ----------------------------------------------------------------- reading

    @property
    def remaining(self) -> int | None:
        """Pulls that may still be asked for; None without a budget."""
        return None if self.budget is None else self.budget - len(self._pulls) + self._cancelled

    @property
    def done(self) -> bool:
        """Whether no further pull can be asked for."""
        with self._lock:
            if self.remaining == 0:
                return True
            return self.policy.policy.stops and self._next_arm(self._label) < 0

    @_locked
    def fit(self) -> Fit:
        """Return the fixed-effects fit of everything told so far."""
        return Fit(self._cells(), direction=self.direction, adaptive=self.policy.policy.adaptive)

    def _cells(self) -> Cells:
        counts = np.array([e.cells.view.told for e in self._environments.values()])
        if counts.size == 0:
            raise NotComparable("nothing has been told yet")
        environment, arm = np.nonzero(counts)
        means, squares = (
            np.array([getattr(e.cells.view, name) for e in self._environments.values()])
            for name in ("mean", "squares")
        )
        at = environment, arm
        return Cells(
            list(self.arms), list(self._environments), arm, environment, counts[at], means[at], squares[at]
        )

    @_locked
    def recommend(self) -> Recommendation:
        """Say which arm the policy would select now, its margin, and how sure that is."""
        adaptive = self.policy.policy.adaptive
        if not self._environments:
            alone = tuple((arm,) for arm in self.arms)
            return Recommendation(None, None, None, None, None, None, alone, adaptive)
        run = self._memory.view
        draw = self._draw(SELECT, self._batches)
        arm = self.arms[int(self._program.select(self._params, run.state, run.data, draw))]
        fit = self.fit()
        groups = tuple(tuple(g) for g in fit.groups)
        p_best, runner_up = fit.p_best[arm], fit.rival(arm)
        if runner_up is None:
            return Recommendation(arm, None, None, None, None, p_best, groups, adaptive)
        gap = fit.contrast(arm, runner_up)
        low, high = (gap.low, gap.high) if self._sign > 0 else (_minus(gap.high), _minus(gap.low))
        return Recommendation(arm, runner_up, self._sign * gap.estimate, low, high, p_best, groups, adaptive)

    @_locked
    def history(self) -> Table:
        """Return every pull in the order of asking, then every summary in the order of telling."""
        pulls, told = self._pulls, self._summaries
        return Table(
            {
                "pull": [str(p.id) for p in pulls] + list(told),
                "arm": [p.arm for p in pulls] + [s[0] for s in told.values()],
                "environment": [p.environment for p in pulls] + [s[1] for s in told.values()],
                "n": [1 for _ in pulls] + [s[2] for s in told.values()],
                "reward": [*self._rewards, *(s[3] for s in told.values())],
                "status": [*self._status, *("summary" for _ in told)],
            }
        )

    def __repr__(self) -> str:
        budget = "no budget" if self.budget is None else f"budget {self.budget}"
        return (
            f"<Experiment: {len(self.arms)} arms, {self.policy.label}, {budget}, "
            f"{len(self._pulls) - self._cancelled} asked, {len(self._out)} out>"
        )

    # ------------------------------------------------------------------ saving

    @_locked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, from which `load` goes on exactly here.

        A crash while saving leaves the old file or the new one.
        """
        replace_text(path, json.dumps(saving.to_dict(self), indent=None, allow_nan=False))

    @classmethod
    def load(cls, path: str | os.PathLike[str], policy: Chosen | None = None) -> Experiment:
        """Read an experiment that was saved: its next `ask` is the one it would have given.

        Parameters
        ----------
        path
            What `save` wrote.
        policy
            The policy it was saved with, if that is not registered: files keep its name, its selection rule
            and its options, which those of `tp.policy(...)` must not contradict.
        """
        saved = saving.read(path)
        run = cls(**saving.options(saved, policy))
        saving.refill(run, saved)
        return run


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _checked_arms(arms: Iterable[str]) -> tuple[str, ...]:
    names = (arms,) if isinstance(arms, str) else tuple(arms)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"an arm's name must be a string, not {name!r}")
    if len(names) < 2:
        raise InputError(f"an experiment needs at least two arms, not {len(names)}: {list(names)}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"arms must have different names; more than once: {', '.join(twice)}")
    return names
