"""Experiment: ask which arm to try next, tell what came back. One class for every policy.

Its methods stand where what they do is: `asking`, `rewards`, `steering`, `reading`. Each checks what it is
given, makes an event of it and hands that to the state, which takes in the whole of it or nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypedDict, Unpack

from tideproof import checks
from tideproof.checks import LARGEST_EXACT_INTEGER, Direction, require_whole_number
from tideproof.errors import InputError
from tideproof.experiment.asks import Asking
from tideproof.experiment.controls import Steering, checked_arms
from tideproof.experiment.events import event_records as e
from tideproof.experiment.leases import checked_lease
from tideproof.experiment.locking import changing, locked, now
from tideproof.experiment.policy_prefixes import parted
from tideproof.experiment.pull import new_session
from tideproof.experiment.share_bounds import checked_bounds
from tideproof.experiment.snapshots import experiment_file
from tideproof.experiment.snapshots.snapshot import copied, packed
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.rescaled_fit import Rewards, checked_rewards, checked_scale
from tideproof.experiment.stopping.stop_rule import Rule, checked_rule
from tideproof.experiment.tells import Telling, checked_limits, within
from tideproof.experiment.tide_options import Tide, checked_tide, checked_zone
from tideproof.policies.policy_registry import Chosen
from tideproof.stats.scales.scale_test import Scale
from tideproof.table import render_notebook_html


class ExperimentOptions(TypedDict, total=False):
    """What an experiment may be given besides its arms."""

    budget: int | None
    policy: Chosen
    tide: Tide
    confidence: float | None
    rule: Rule | None
    seed: int
    direction: Direction
    rewards: Rewards
    scale: Literal["auto"] | Scale
    limits: tuple[float, float] | None
    floors: Mapping[str, float] | None
    caps: Mapping[str, float] | None
    lease: float | None
    default: float | None
    reserve: float | None
    time_zone: str | None


class Experiment(Asking, Telling, Steering):
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
    tide
        What moves all arms together: `"labels"`, it changes with the environment's label; `"hidden"`, nobody
        knows when it moves, and it is followed by the rewards themselves; `"both"`, it jumps where the label
        changes, and may move in between. `"auto"`: labels if the first ask has one, else hidden.
    confidence, rule
        With a confidence, such as 0.95, it is `done` when an arm is the best with that confidence, however
        often one looks; the budget is then a cap. The rule is `"calibrated"`, by simulation, or `"proven"`, a
        theorem for normal rewards that takes about twice as many pulls.
    seed
        Of the policy's own random choices: same seed and rewards, same run.
    direction
        `"maximize"`, or `"minimize"` for latency or cost.
    rewards
        What they are: `"normal"`, numbers of any kind; `"conversions"`, 0 or 1; `"counts"`, whole numbers
        of at least 0; `"money"`, amounts of at least 0. Others are refused.
    scale
        How arms are compared: by `"difference"`, `"ratio"` (environments multiply, so that an arm is better
        by so many percent) or, for conversions, `"odds"`. `"auto"` is `"difference"` for normal rewards and
        `"ratio"` for others, if the policy decides by the fit alone.
    limits
        The lowest and highest reward that can be; one beyond is refused.
    floors, caps
        The smallest and the largest share of the pulls that an arm may have, by its name.
    lease, default
        Seconds after which a pull expires that is still out. It returns to the budget, or has the default
        reward if there is one, which a late reward replaces. Conversions have a default of 0, and the lease
        is their window: what is told before its end counts from its end on, what is told later is noted as
        late and does not count. Successes come at once and failures when the window closes: to count them
        as they come would inflate the rates of new pulls, to count late ones those of old pulls.
    reserve
        Seconds, at most the lease, in which a unit must have seen what `ask(unit=...)` gave it, which
        `expose(pull)` says. A pull that was not seen is taken back, and counts for nothing.
    time_zone
        Such as `"Europe/Berlin"`: an ask that names no environment belongs to the date there.
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
        tide: Tide = "auto",
        confidence: float | None = None,
        rule: Rule | None = None,
        seed: int = 0,
        direction: Direction = "maximize",
        rewards: Rewards = "normal",
        scale: Literal["auto"] | Scale = "auto",
        limits: tuple[float, float] | None = None,
        floors: Mapping[str, float] | None = None,
        caps: Mapping[str, float] | None = None,
        lease: float | None = None,
        default: float | None = None,
        reserve: float | None = None,
        time_zone: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        names = checked_arms(arms)
        spec, promise, tide = parted(policy, tide, confidence, rule)
        budget = None if budget is None else require_whole_number("budget", budget, 1, LARGEST_EXACT_INTEGER)
        kind = checked_rewards(rewards)
        compared = checked_scale(scale, kind, spec)
        if compared != "difference":
            spec = spec.on_ratios()
        options: dict[str, Any] = {"limits": checked_limits(limits)}
        if kind != "normal":
            options |= {"rewards": kind, "scale": compared}
        options |= checked_rule(promise, spec, kind, len(names), budget)
        options |= checked_tide(tide, spec, kind, promise[0])
        if kind == "conversions" and lease is not None and default is None:
            default = 0.0
        bounds = checked_bounds(floors, caps, names)
        if bounds:
            options |= {
                name: {names[arm]: share for arm, share in shares.items()}
                for name, shares in bounds._asdict().items()
            }
        if default is not None:
            default = within(options, "default", default)
        options |= checked_lease(lease, default, reserve) | checked_zone(time_zone)
        created = e.Created(
            now(clock),
            None,
            names,
            budget,
            experiment_file.described(spec),
            require_whole_number("seed", seed, 0, 2**64 - 1),
            checks.require_direction(direction),
            options,
            new_session(),
        )
        self._begin(State(created, spec), clock)

    @classmethod
    def open(
        cls,
        url: str,
        name: str,
        arms: Iterable[str] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        **options: Unpack[ExperimentOptions],
    ) -> Experiment:
        """Create an experiment in a database, or join the one of that name.

        Many processes may have it open: each knows what the others did before it answers, and what it did is
        kept before it returns, also where the power fails.

        Parameters
        ----------
        url
            Where it is: `"sqlite:///shop.db"`, a file beside the program, or `"sqlite:////data/shop.db"`;
            or `"postgresql://user@host/database"`.
        name
            Of the experiment.
        arms
            As for a new one; None to join. Arms and options that are given must be those it has.
        clock
            What says the time, in seconds.
        **options
            The others of a new one: `budget`, `policy` and so on.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> run = Experiment.open(f"sqlite:///{folder.name}/shop.db", "prices", ["A", "B"], budget=100)
        >>> run.tell(run.ask(environment="monday"), 1.5)
        >>> other = Experiment.open(f"sqlite:///{folder.name}/shop.db", "prices")
        >>> other.remaining, other.recommend().told
        (99, 1)
        >>> run.close(), other.close(), folder.cleanup()
        (None, None, None)
        """
        from tideproof.store.stored_experiments import open_experiment

        return open_experiment(cls, url, name, arms, clock, options)

    def close(self) -> None:
        """Let go of the database, if it is in one; the next call opens it again."""
        if self._shared is not None:
            self._shared.close()

    @changing
    def once(self, key: str, command: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Do a command of an experiment in a database once, however often it is repeated.

        `run.once("job-7", run.ask, environment="monday")` asks when it is called first. A repeat with the
        same key, by any process, does nothing and returns the same pull: for who does not know whether a
        first try was heard.
        """
        if self._shared is None:
            raise InputError(f"once={key!r} is for experiments in a database: Experiment.open(url, name)")
        return self._shared.once(key, command, args, kwargs)

    def __repr__(self) -> str:
        book = self._state.book
        budget = "no budget" if self.budget is None else f"budget {self.budget}"
        return (
            f"<Experiment: {len(self.arms)} arms, {self.policy.label}, {budget}, "
            f"{len(book.pulls) - book.lost} asked, {len(book.out)} out>"
        )

    def _repr_html_(self) -> str:
        found, _ = self._judged()
        tables = [self.fit().arms] if found.told else []
        return render_notebook_html(f"{repr(self)[1:-1]}\n{found}", *tables)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, from which `load` goes on exactly here.

        A crash while saving leaves the old file or the new one.
        """
        happened, contents = self._whole()
        experiment_file.write(happened, packed(self.policy, contents), path)

    @locked
    def _whole(self) -> tuple[list[e.Event], Any]:
        return self.events(), copied(self._state)

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
        happened, snapshot = experiment_file.read(path)
        return cls._folded(happened, policy, clock, snapshot)

    @classmethod
    def _folded(
        cls,
        happened: list[e.Event],
        policy: Chosen | None = None,
        clock: Callable[[], float] = time.time,
        snapshot: Any = None,
    ) -> Experiment:
        run = cls.__new__(cls)
        run._begin(experiment_file.refold(happened, policy, snapshot), clock)
        run._opened = False
        return run

    def __reduce__(self) -> tuple[Any, ...]:
        if self._shared is not None:
            return self._shared.pickled()
        return _unpickled, (self.events(), experiment_file.unregistered(self.policy), self._clock)


def _unpickled(happened: list[e.Event], policy: Any, clock: Callable[[], float] = time.time) -> Experiment:
    return Experiment._folded(happened, policy, clock)
