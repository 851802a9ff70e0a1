"""Experiment: ask which arm to try next, tell what came back. One class for every policy.

Each method checks what it is given, makes an event of it and hands that to the state, which takes in the
whole of it or nothing. Reading copies what it needs under the lock and computes outside.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast, overload

from tideproof import checks
from tideproof.checks import Direction, finite, whole
from tideproof.errors import ConflictingReward, Finished, InputError, NotComparable, UnknownName
from tideproof.estimate.fitted import Fit
from tideproof.files import check_folder, replace_text
from tideproof.live import events as e
from tideproof.live import saving
from tideproof.live.book import Summary
from tideproof.live.bounds import checked_bounds
from tideproof.live.diagnostics import Diagnostics, diagnose
from tideproof.live.history import Record
from tideproof.live.judgement import judge
from tideproof.live.lease import checked_lease, lease_of
from tideproof.live.numbers import Numbers
from tideproof.live.pull import (
    CANCELLED,
    DEFAULTED,
    EXPIRED,
    OUT,
    TOLD,
    Label,
    Pull,
    checked_label,
    new_session,
)
from tideproof.live.recommendation import Recommendation
from tideproof.live.remarks import Facts, Watch, facts
from tideproof.live.state import State
from tideproof.live.telling import as_event, new_rewards
from tideproof.live.units import arm_at, batch_size, checked_unit, hashed, new_salt, point
from tideproof.live.warm import cells_before
from tideproof.policies.registry import Chosen, as_policy
from tideproof.stats.noise import Variance
from tideproof.table import Table

LARGEST = 1e100  # a reward beyond it would leave no number that can be squared

Method = TypeVar("Method", bound=Callable[..., Any])


def _locked(method: Method) -> Method:
    """Let one thread in at a time, of the process that made the experiment, with all events taken in."""

    @wraps(method)
    def locked(self: Experiment, *args: Any, **kwargs: Any) -> Any:
        self._check_process()
        with self._lock:
            self._enter()
            return method(self, *args, **kwargs)

    return cast(Method, locked)


class Experiment:
    """A live experiment: which arm next, and which in the end.

    Safe to call from several threads. Every call does the whole of what it says or nothing, also where a
    signal interrupts it. Rewards may be told late, in any order and repeatedly.

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
    limits
        The lowest and highest reward that can be; one beyond is refused.
    floors, caps
        The smallest and the largest share of the pulls that an arm may have, by its name.
    lease, default
        Seconds after which a pull expires that is still out. It returns to the budget, or has the default
        reward if there is one, which a late reward replaces.
    clock
        What says the time, in seconds.

    Examples
    --------
    >>> run = Experiment(["A", "B"], budget=12, policy="linlucb", seed=1)
    >>> means, weather = {"A": 1.0, "B": 2.0}, {"mon": 0.0, "tue": 50.0, "wed": -20.0}
    >>> for i, day in enumerate(["mon"] * 4 + ["tue"] * 4 + ["wed"] * 4):
    ...     pull = run.ask(environment=day)
    ...     run.tell(pull, means[pull.arm] + weather[day] + 0.1 * (i % 3))
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
        limits: tuple[float, float] | None = None,
        floors: Mapping[str, float] | None = None,
        caps: Mapping[str, float] | None = None,
        lease: float | None = None,
        default: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        names = _checked_arms(arms)
        spec = as_policy(policy)
        budget = None if budget is None else whole("budget", budget, 1)
        options: dict[str, Any] = {"limits": _checked_limits(limits)}
        bounds = checked_bounds(floors, caps, names)
        if bounds:
            options |= {
                name: {names[arm]: share for arm, share in shares.items()}
                for name, shares in bounds._asdict().items()
            }
        if default is not None:
            default = _within(options["limits"], "default", default)
        options |= checked_lease(lease, default)
        created = e.Created(
            finite("clock", clock()),
            None,
            names,
            budget,
            saving.described(spec),
            whole("seed", seed, 0, 2**64 - 1),
            checks.direction(direction),
            options,
            new_session(),
        )
        self._begin(State(created, spec), clock)

    def _begin(self, state: State, clock: Callable[[], float]) -> None:
        self._state, self._clock = state, clock
        self._lease, self._due = lease_of(state.created.options), -math.inf
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._here = threading.local()  # where each thread is
        self._watch = Watch()
        self._opened = True  # whether this process gives out ids of its own

    def _enter(self) -> None:
        """Bring everything up to date: the events, and the pulls whose time is over."""
        self._state.fold()
        if self._lease.seconds < math.inf and (now := self._now()) >= self._due:
            over, due = self._lease.overdue(self._state.book, now)
            if over:
                self._state.add(e.Expired(now, None, over, self._lease.default))
            self._due = due

    def _now(self) -> float:
        return finite("clock", self._clock())

    # -- what it was made with

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of all arms, retired ones included."""
        return tuple(self._state.book.arms)

    @property
    def budget(self) -> int | None:
        """Number of pulls, None if it is open."""
        return self._state.book.budget

    @property
    def policy(self) -> Any:
        """The policy, with its rule and options."""
        return self._state.spec

    @property
    def seed(self) -> int:
        """Of the policy's own random choices."""
        return self._state.created.seed

    @property
    def direction(self) -> Direction:
        """Which rewards are good."""
        return cast(Direction, self._state.created.direction)

    # -- asking

    @overload
    def ask(
        self,
        *,
        environment: Label | None = None,
        n: None = None,
        unit: str | int | None = None,
        by: str | None = None,
    ) -> Pull: ...
    @overload
    def ask(self, *, environment: Label | None = None, n: int, by: str | None = None) -> list[Pull]: ...
    def ask(
        self,
        *,
        environment: Label | None = None,
        n: int | None = None,
        unit: str | int | None = None,
        by: str | None = None,
    ) -> Pull | list[Pull]:
        """Say which arm to play next, or the next `n` of them.

        Parameters
        ----------
        environment
            Where it will be played; without a label, where this thread asked last. A label that comes
            back is the same environment.
        n
            Number of pulls; the answer is then a list.
        unit
            Who gets it, such as a visitor: the same unit gets the same pull again, in the environment of
            its first. Units are spread over the arms by `shares`, whatever their order; only a hash of
            the name is kept.
        by
            Who asks, for the record.

        Raises
        ------
        Finished
            If fewer pulls than that are left, the policy has stopped, or the experiment is paused.
        """
        if unit is None:
            return self._ask(environment, n, by)
        if n is not None:
            raise InputError(f"a unit gets one pull: unit={unit!r} and n={n!r} cannot both be given")
        name = checked_unit(unit)
        while (pull := self._ask_unit(name, environment, by)) is None:
            self._plan(environment)
        return pull

    @_locked
    def _ask(self, environment: Label | None, n: int | None, by: str | None) -> Pull | list[Pull]:
        wanted = 1 if n is None else whole("n", n, 1)
        label = self._label if environment is None else checked_label(environment)
        book = self._state.book
        self._check_open(wanted)
        self._open()
        before = len(book.pulls)
        if self._state.ask(label, wanted, self._now(), by, None) is None:
            raise Finished(f"{self.policy.label} has stopped; {self._standing()}")
        self._here.label = label
        pulls = book.pulls[before:]
        return pulls[0] if n is None else pulls

    @_locked
    def _ask_unit(self, name: str, environment: Label | None, by: str | None) -> Pull | None:
        """Return the pull of a unit; None if there is no plan to draw its arm from."""
        book = self._state.book
        label = self._label if environment is None else checked_label(environment)
        known = book.units.get(hashed(name, book.salt)) if book.salt else None
        if known is not None and book.status[known] != CANCELLED:
            return book.pulls[known]
        self._check_open(1)
        plan = book.plans.get(label)
        if plan is None:
            return None
        self._open()
        if not book.salt:
            self._state.add(e.Salted(self._now(), None, new_salt()))
        arm = arm_at(point(name, book.salt), plan.shares)
        if known is not None and (before := book.arms.index(book.pulls[known].arm)) in book.active:
            arm = before
        self._state.add(e.Asked(self._now(), by, label, (arm,), hashed(name, book.salt)))
        self._here.label = label
        return book.pulls[-1]

    def _plan(self, environment: Label | None) -> None:
        """Find the shares that the next units are drawn from."""
        trial, n, play, label = self._trial_for_units(environment)
        shares = trial.shares(n, play).tolist()
        if not any(shares):
            raise Finished(f"{self.policy.label} has stopped; {self._standing()}")
        self._share(label, n, tuple(shares), trial.active)

    @_locked
    def _trial_for_units(self, environment: Label | None) -> Any:
        book = self._state.book
        label = self._label if environment is None else checked_label(environment)
        n = batch_size(len(book.active), len(book.pulls) - book.lost, book.remaining)
        return *self._trial(label, n), label

    @_locked
    def _share(self, label: Label, n: int, shares: tuple[float, ...], active: list[int]) -> None:
        book = self._state.book
        if active == book.active and len(shares) == len(book.arms) and label not in book.plans:
            self._state.add(e.Shared(self._now(), None, label, n, shares))

    @_locked
    def forget_units(self, by: str | None = None) -> None:
        """Delete the key of the units' hashes: nobody can say any more who got what.

        Pulls that are out may still be told. A unit that comes again is a new one.
        """
        if self._state.book.salt:
            self._state.add(e.Salted(self._now(), by, ""))
        self._state.events[:] = e.without_old_salts(self._state.events)

    def shares(self, *, environment: Label | None = None, n: int | None = None) -> dict[str, float]:
        """Return the share of each arm in the next pulls, without asking for them.

        Parameters
        ----------
        environment
            Where they would be played, as in `ask`.
        n
            Number of pulls, by default 100, or what is left of the budget. Up to 200, these are the shares
            in what `ask` would return; of more, the policy decides 200 times for several pulls each.
        """
        trial, count, play = self._trial(environment, n)
        found = trial.shares(count, play).tolist()
        if not any(found):
            raise Finished(f"{self.policy.label} has stopped; {self._standing()}")
        return dict(zip(self.arms, found, strict=False))

    @_locked
    def _trial(self, environment: Label | None, n: int | None) -> Any:
        label = self._label if environment is None else checked_label(environment)
        remaining = self._state.book.remaining
        if n is None:
            n = 100 if remaining is None else max(1, min(100, remaining))
        count = whole("n", n, 1)
        self._check_open(count)
        asked = len(self._state.book.pulls)
        return self._state.look(lambda: self._numbers.trial(label, asked)), count, self._state.play()

    def _check_open(self, wanted: int) -> None:
        """Raise if that many pulls cannot be asked for."""
        book = self._state.book
        if book.stopped or book.paused:
            raise Finished(f"the experiment is {'stopped' if book.stopped else 'paused'}; {self._standing()}")
        if book.remaining is not None and wanted > book.remaining:
            raise Finished(
                f"asked for {wanted} pull(s), {book.remaining} of {book.budget} left; {self._standing()}"
            )

    @property
    def _numbers(self) -> Numbers:
        return self._state.numbers

    @_locked
    def _next_arm(self, label: Label) -> int:
        """Return the number of the arm that would be asked for, -1 if the policy has stopped."""
        asked = len(self._state.book.pulls)
        return self._state.look(lambda: self._numbers.next_arm(label, asked))

    @property
    def _label(self) -> Label:
        """Where the next pull is played if nobody says: where this thread, or else the last one, was."""
        here: Label | None = getattr(self._here, "label", None)
        here = self._state.book.current if here is None else here
        return 1 if here is None else here

    def _open(self) -> None:
        """Give out ids of its own if the experiment comes from a file or another process."""
        if not self._opened:
            self._state.add(e.Opened(self._now(), None, new_session()))
            self._opened = True

    def cancel(self, pull: Pull | str, by: str | None = None) -> None:
        """Take back a pull whose reward will never come; it returns to the budget."""
        self.cancel_many([pull], by)

    @_locked
    def cancel_many(self, pulls: Iterable[Pull | str], by: str | None = None) -> None:
        """Take back several pulls: all of them or, if one is not out, none."""
        book = self._state.book
        numbers = dict.fromkeys(self._known(pull) for pull in pulls)
        for number in numbers:
            if book.status[number] not in (OUT, CANCELLED, EXPIRED):
                raise InputError(
                    f"pull {book.pulls[number].id} is {book.status[number]} already; "
                    f"only a pull that is out can be cancelled"
                )
        out = tuple(number for number in numbers if book.status[number] == OUT)
        if out:
            self._state.add(e.Cancelled(self._now(), by, out))

    # -- telling

    def tell(self, pull: Pull | str, reward: float, by: str | None = None, *, key: str | None = None) -> None:
        """Tell the reward of a pull, or of the pull with that id; a repeat is harmless.

        Rewards of a unit are added up, each that is told: there, a key such as the number of an order makes
        a repeat harmless.
        """
        self.tell_many([pull], [reward], by, keys=[key])

    @_locked
    def tell_many(
        self,
        pulls: Iterable[Pull | str],
        rewards: Iterable[float],
        by: str | None = None,
        *,
        keys: Iterable[str | None] | None = None,
    ) -> None:
        """Tell the rewards of several pulls: all of them or, if one is not allowed, none."""
        book = self._state.book
        numbers = [self._known(pull) for pull in pulls]
        values = [self._reward("reward", reward) for reward in rewards]
        names = [None] * len(numbers) if keys is None else [_checked_key(key) for key in keys]
        new = new_rewards(book, numbers, values, names)
        if new:
            self._state.add(as_event(book, new, self._now(), by))

    @_locked
    def correct(self, pull: Pull | str, reward: float, by: str | None = None) -> None:
        """Replace the reward that was told of a pull."""
        book, number = self._state.book, self._known(pull)
        reward = self._reward("reward", reward)
        if book.status[number] not in (TOLD, DEFAULTED):
            raise InputError(
                f"pull {book.pulls[number].id} is {book.status[number]}; only a told reward can be corrected"
            )
        if book.rewards[number] != reward:
            self._state.add(e.Corrected(self._now(), by, number, reward))

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
        by: str | None = None,
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
        by
            Who tells, for the record.
        """
        book = self._state.book
        number = book.arm_number(arm)
        label = checked_label(environment)
        n = whole("n", n, 1)
        mean = self._reward("mean", mean)
        if variance is None and n > 1:
            raise InputError(f"a summary of {n} rewards needs their variance (divisor n - 1)")
        spread = 0.0 if variance is None or n == 1 else finite("variance", variance, 0.0)
        if spread > LARGEST:
            raise InputError(f"variance must be at most {LARGEST:g}, not {variance!r}")
        if variance is not None:
            finite("variance", variance, 0.0)
        key = _checked_key(key)
        if key in book.keyed:
            known = book.summaries[book.keyed[key]][1]
            given = Summary(arm, label, n, mean, spread)
            if known != given:
                raise ConflictingReward(f"summary {key!r} was told {tuple(known)} before; now {tuple(given)}")
            return
        self._state.add(e.Summarised(self._now(), by, number, label, n, mean, spread, key))

    def _reward(self, name: str, value: Any) -> float:
        return _within(self._state.created.options.get("limits"), name, value)

    def _known(self, pull: Pull | str) -> int:
        book = self._state.book
        id = pull.id if isinstance(pull, Pull) else pull
        if isinstance(id, int) and not isinstance(id, bool):
            id = str(id)  # of a file that an older version saved
        number = book.number.get(id) if isinstance(id, str) else None
        if number is None or (isinstance(pull, Pull) and pull != book.pulls[number]):
            raise UnknownName(
                f"unknown pull {pull!r}; this experiment has asked for {len(book.pulls)}, "
                f"and takes the pull or its id"
            )
        return number

    def warm_start(
        self,
        data: Any,
        *,
        arm: str | None = None,
        environment: str | None = None,
        reward: str | None = None,
        by: str | None = None,
        **options: Any,
    ) -> None:
        """Begin with rewards from before: they count in everything but the budget.

        Parameters
        ----------
        data
            A `Fit`, or a log that `tp.fit` reads. Arms must be known; a label that the experiment uses,
            too, is the same environment.
        arm, environment, reward
            The names of the columns of a log.
        by
            Who brings them, for the record.
        **options
            Others of `tp.fit`, such as `n` and `sd`.
        """
        columns = {"arm": arm, "environment": environment, "reward": reward, **options}
        self._warm(cells_before(data, self.arms, columns, self._reward), by)

    @_locked
    def _warm(self, cells: tuple[Any, ...], by: str | None) -> None:
        self._state.add(e.Warmed(self._now(), by, cells))

    # -- changing what it is about

    @_locked
    def add_arm(self, arm: str, by: str | None = None) -> None:
        """Add an arm; the policy begins anew with everything told so far."""
        book = self._state.book
        _checked_arms([*book.arms, arm])
        self._state.spec.params(len(book.active) + 1, book.horizon)
        self._state.add(e.ArmAdded(self._now(), by, arm))

    @_locked
    def retire_arm(self, arm: str, by: str | None = None) -> None:
        """Play an arm no more; what was told of it stays, and rewards that are out may still come."""
        book = self._state.book
        number = book.arm_number(arm)
        if number in book.retired:
            return
        if len(book.active) <= 2:
            raise InputError(f"an experiment needs at least two arms: {arm!r} cannot be retired")
        self._state.bounds.check((a for a in book.active if a != number), book.arms)
        self._state.add(e.ArmRetired(self._now(), by, number))

    @_locked
    def extend(self, budget: int | None, by: str | None = None) -> None:
        """Set another budget; the policy goes on with the new horizon."""
        book = self._state.book
        asked = len(book.pulls) - book.lost
        if budget is not None:
            budget = whole("budget", budget, max(asked, 1))
        if budget != book.budget:
            self._state.spec.params(len(book.active), budget)
            self._state.add(e.Extended(self._now(), by, budget))

    @_locked
    def pause(self, why: str = "", by: str | None = None) -> None:
        """Ask for nothing until it is resumed; rewards may be told."""
        if not self._state.book.paused:
            self._state.add(e.Paused(self._now(), by, str(why)))

    @_locked
    def resume(self, why: str = "", by: str | None = None) -> None:
        """Ask again."""
        if self._state.book.paused:
            self._state.add(e.Resumed(self._now(), by, str(why)))

    @_locked
    def stop(self, why: str = "", by: str | None = None) -> None:
        """Ask for nothing ever again; rewards of pulls that are out may be told."""
        if not self._state.book.stopped:
            self._state.add(e.Stopped(self._now(), by, str(why)))

    @_locked
    def note(self, text: str, by: str | None = None) -> None:
        """Write something down beside the events."""
        self._state.add(e.Noted(self._now(), by, str(text)))

    # -- reading

    @property
    def remaining(self) -> int | None:
        """Pulls that may still be asked for; None without a budget."""
        return self._remaining()

    @_locked
    def _remaining(self) -> int | None:
        return self._state.book.remaining

    @property
    def done(self) -> bool:
        """Whether no further pull can be asked for."""
        return self._done()

    @_locked
    def _done(self) -> bool:
        book = self._state.book
        if book.remaining == 0 or book.stopped:
            return True
        return bool(self.policy.policy.stops) and self._next_arm(self._label) < 0

    @_locked
    def pulls_out(self) -> list[Pull]:
        """Return the pulls whose rewards are awaited, the oldest first."""
        return [self._state.book.pulls[number] for number in self._state.book.out]

    def fit(self, *, variance: Variance = "common", level: float = 0.95) -> Fit:
        """Return the fit of everything told so far, as `tp.fit` would make it."""
        cells = self._cells()
        adaptive = self.policy.policy.adaptive
        return Fit(cells, direction=self.direction, adaptive=adaptive, level=level, variance=variance)

    @_locked
    def _cells(self) -> Any:
        places = self._state.numbers.places
        if not places.told:
            raise NotComparable("nothing has been told yet")
        return places.cells(list(self.arms))

    def recommend(self) -> Recommendation:
        """Say which arm the policy would select now, its margin, how sure that is, and what looks wrong."""
        found, known = self._judged()
        noticed = self._watch.remarks(self._state.events, known, found.groups)
        return replace(found, remarks=found.remarks + noticed)

    def _standing(self) -> str:
        """Say what would be selected; nobody looks at the data for it."""
        return str(self._judged()[0])

    def _judged(self) -> tuple[Recommendation, Facts]:
        evidence, known = self._evidence()
        return judge(*evidence), known

    @_locked
    def _evidence(self) -> Any:
        state = self._state
        numbers, book = state.numbers, state.book
        chosen = numbers.select() if numbers.places.told else None
        evidence = (
            [book.arms[arm] for arm in numbers.active],
            None if chosen is None else numbers.active.index(chosen),
            numbers.estimate(),
            numbers.sign,
            self.policy.policy.adaptive,
        )
        return evidence, facts(state)

    def history(self) -> Table:
        """Return rewards from before, every pull in the order of asking, every summary in that of telling.

        A row has `n` rewards, 0 if none was told, with that mean and variance, and the times of its clock
        at which it was asked and told. `tp.fit(run.history(), arm="arm", environment="environment",
        reward="reward", n="n", sample_variance="variance")` reads it.
        """
        return self._record().table()

    @_locked
    def _record(self) -> Record:
        return Record(self._state)

    def diagnostics(self) -> Diagnostics:
        """Say how it is doing: what is out and lost, whether the fit's assumptions hold, what looks wrong."""
        found, known = self._judged()
        lost, oldest = self._waiting()
        noticed = self._watch.remarks(self._state.events, known, found.groups, looking=False)
        fit = self.fit() if known.environments else None
        return diagnose(fit, known, lost, oldest, found.remarks + noticed)

    @_locked
    def _waiting(self) -> tuple[int, float | None]:
        book = self._state.book
        first = next(iter(book.out), None)
        return book.lost, None if first is None else self._now() - book.asked_at[first]

    def report(
        self, path: str | os.PathLike[str], *, variance: Variance = "common", level: float = 0.95
    ) -> None:
        """Write an HTML report of everything told so far, as `tideproof analyze --html` does of a log."""
        from tideproof.report.live import live_report

        check_folder(path)
        fit = self.fit(variance=variance, level=level)
        replace_text(path, live_report(fit, self.diagnostics(), self.policy.label))

    @_locked
    def events(self) -> list[e.Event]:
        """Return everything that happened, in order."""
        return e.without_old_salts(self._state.events)

    def __repr__(self) -> str:
        book = self._state.book
        budget = "no budget" if self.budget is None else f"budget {self.budget}"
        return (
            f"<Experiment: {len(self.arms)} arms, {self.policy.label}, {budget}, "
            f"{len(book.pulls) - book.lost} asked, {len(book.out)} out>"
        )

    # -- saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, from which `load` goes on exactly here.

        A crash while saving leaves the old file or the new one.
        """
        saving.write(self.events(), path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        policy: Chosen | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Experiment:
        """Read an experiment that was saved: its next `ask` is the one it would have given.

        Parameters
        ----------
        path
            What `save` wrote.
        policy
            The policy it was saved with, if that is not registered: files keep its name, its selection rule
            and its options, which those of `tp.policy(...)` must not contradict.
        clock
            What says the time, as for a new one.
        """
        return cls._folded(saving.read(path), policy, clock)

    @classmethod
    def _folded(
        cls,
        happened: list[e.Event],
        policy: Chosen | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Experiment:
        run = cls.__new__(cls)
        run._begin(saving.refold(happened, policy), clock)
        run._opened = False
        return run

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.events(), saving.unregistered(self.policy))

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise InputError(
                "this experiment was made in another process, and a fork shares nothing with it: "
                "save it there and load it here, or send it by pickle"
            )


def _unpickled(happened: list[e.Event], policy: Any) -> Experiment:
    return Experiment._folded(happened, policy)


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


def _within(limits: tuple[float, float] | None, name: str, value: Any) -> float:
    reward = finite(name, value)
    low, high = limits or (-LARGEST, LARGEST)
    if not low <= reward <= high:
        raise InputError(f"{name} must be between {low:g} and {high:g}, not {value!r}: it is not taken in")
    return reward


def _checked_limits(limits: Any) -> tuple[float, float] | None:
    if limits is None:
        return None
    try:
        low, high = (finite("limits", value) for value in limits)
    except TypeError:
        low, high = 0.0, 0.0
    if not -LARGEST <= low < high <= LARGEST:
        raise InputError(f"limits must be the lowest and the highest reward that can be, not {limits!r}")
    return low, high


def _checked_key(key: Any) -> Any:
    if key is not None and not isinstance(key, str):
        raise InputError(f"a key must be a string, not {key!r}")
    return key
