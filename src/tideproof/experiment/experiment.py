"""The `Experiment` class: ask for the next arm, tell its reward, and get a recommendation.

Its methods are defined in base classes in `asks`, `tells`, `lifecycle` and `queries`. Each that changes
something checks its arguments, creates an event and passes it to the state, which applies the event
completely or not at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypedDict, Unpack

from tideproof import checks
from tideproof.checks import LARGEST_EXACT_INTEGER, Direction, require_list, require_whole_number
from tideproof.errors import InputError, describe_value
from tideproof.experiment.asks import AskMethods
from tideproof.experiment.events import event_records as e
from tideproof.experiment.internal_interface import ExperimentInternals
from tideproof.experiment.leases import checked_lease, with_visitor_times
from tideproof.experiment.lifecycle import ControlMethods, checked_arms, checked_control
from tideproof.experiment.locking import ExperimentBase, locked, now, writes_events
from tideproof.experiment.options.environment_options import (
    environment_choice_options,
    environment_choice_policy,
)
from tideproof.experiment.options.policy_prefixes import separate_policy
from tideproof.experiment.options.share_bounds import checked_bounds
from tideproof.experiment.options.tide_options import checked_tide, checked_zone
from tideproof.experiment.planned_looks import LookMethods
from tideproof.experiment.pull import Label, new_session
from tideproof.experiment.reward_kinds import REWARD_KINDS, Rewards, checked_rewards, checked_scale
from tideproof.experiment.settings import ExperimentSettings, Rule, Tide, to_stored_names
from tideproof.experiment.snapshots import experiment_file
from tideproof.experiment.snapshots.snapshot import copy_policy_state, pack_snapshot
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.stopping.look_rule import checked_looks
from tideproof.experiment.stopping.stop_rule import checked_rule
from tideproof.experiment.tells import TellMethods, checked_limits, checked_reward
from tideproof.policies.policy_registry import Chosen
from tideproof.stats.looks.look_plan import Looks
from tideproof.stats.looks.spending_functions import SpendingName
from tideproof.stats.scales.scale_properties import Scale
from tideproof.table import render_notebook_html
from tideproof.text import format_count


class ExperimentOptions(TypedDict, total=False):
    """Keyword arguments of `Experiment`, besides the arms and the clock."""

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
    minimum_shares: Mapping[str, float] | None
    maximum_shares: Mapping[str, float] | None
    lease: float | None
    default: float | None
    reserve: float | None
    visitors: bool
    time_zone: str | None
    control: str | None
    environments: Iterable[Label] | None
    tolerance: float | None
    looks: int | tuple[int, SpendingName] | Looks | None


class Experiment(AskMethods, TellMethods, ControlMethods, LookMethods):
    """A live experiment that chooses the next arm and recommends one at the end.

    It may be used from several threads. Each call takes effect completely or not at all, even if a signal
    interrupts it. Rewards may be told late, in any order, and repeatedly.

    Parameters
    ----------
    arms
        Names of the alternatives, at least two.
    budget
        Number of pulls. None means no limit; some policies need one.
    policy
        A registered name, the result of `tp.policy(...)`, or a `Policy`.
    tide
        Model of the shifts that all arms share. `"labels"`: the shift changes with the environment label.
        `"hidden"`: the times of the changes are unknown, and the shift is estimated from the rewards.
        `"both"`: the shift jumps when the label changes, and may also move in between. `"auto"`: labels if
        the first ask has a label, else hidden.
    confidence, rule
        With a confidence level such as 0.95, the experiment is `done` as soon as one arm is the best with
        that confidence, however often the results are inspected. The budget is then an upper limit. The rule
        is `"calibrated"` (by simulation) or `"proven"` (by a theorem for normal rewards, which needs about
        twice as many pulls).
    seed
        Seed of the policy's random choices. The same seed and rewards give the same pulls.
    direction
        `"maximize"`, or `"minimize"` for rewards such as latency or cost.
    rewards
        Kind of the rewards: `"normal"`, any numbers; `"conversions"`, 0 or 1; `"counts"`, whole numbers of at
        least 0; `"money"`, amounts of at least 0. Other values are refused.
    scale
        How arms are compared: by `"difference"`, by `"ratio"` (environments multiply the rewards, and an arm
        is better by a percentage) or, for conversions, by `"odds"`. `"auto"` means `"difference"` for normal
        rewards, and `"ratio"` for other kinds if the policy decides by the fit alone.
    limits
        The lowest and the highest possible reward. A reward outside is refused.
    minimum_shares, maximum_shares
        The minimum and the maximum share of the pulls of an arm, by arm name: `{"control": 0.2}`.
    lease, default
        Seconds after which a pending pull expires. An expired pull returns to the budget, or gets the default
        reward if there is one; a late reward replaces the default. For conversions the default is 0 and the
        lease is a fixed window: a reward that is told within the window counts when the window ends, and a
        later reward is recorded as late but does not count. Without the window, successes would be counted
        earlier than failures, which would bias the rates of recent pulls upwards.
    reserve
        Seconds, at most the lease, within which a unit must see the arm that `ask(unit=...)` gave it.
        `expose(pull)` records that it did. A pull that is not exposed in time is cancelled.
    visitors
        The experiment is for visitors of a web site or an app, so that it can be a feature flag. Sets, unless
        they are given, `lease` to a day, `reserve` to ten minutes and, for conversions, counts and money,
        `default` to 0.
    time_zone
        A name such as `"Europe/Berlin"`. An ask without an environment then uses the current date there.
    control
        The arm that visitors of a feature flag get if they are not in the experiment, for example because the
        budget is used up. Without a control arm, they get the default in the calling code.
    environments
        A fixed set of environments that one can return to, such as the items of a test. `ask()` then chooses
        both the arm and the environment of a pull, and asks each pair at most once. Without `confidence` it
        chooses the pair that tells most about which arm is the best on the whole set. With `confidence` each
        environment, in a random order, is asked of all arms that may still be the best.
    tolerance
        With `environments` and `confidence`, a difference of means that does not matter: the experiment is
        also `done` once no arm can be better than one arm by more than the tolerance.
    looks
        Planned number of looks, such as 14, or `tp.Looks(14, spending="obrien-fleming")`: `look()` makes the
        next one, and only a look decides. Confidence 0.95, unless `confidence` is given, holds at all looks
        together. The policy must not react to rewards: `policy="round-robin"`.
    clock
        Function that returns the current time in seconds.

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
        minimum_shares: Mapping[str, float] | None = None,
        maximum_shares: Mapping[str, float] | None = None,
        lease: float | None = None,
        default: float | None = None,
        reserve: float | None = None,
        visitors: bool = False,
        time_zone: str | None = None,
        control: str | None = None,
        environments: Iterable[Label] | None = None,
        tolerance: float | None = None,
        looks: int | tuple[int, SpendingName] | Looks | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        names = checked_arms(arms)
        if environments is not None:
            if not isinstance(environments, str):
                environments = require_list("environments", environments)
            given = {
                "environments": environments, "policy": policy, "tide": tide, "rewards": rewards, "scale":
                scale, "minimum_shares": minimum_shares, "maximum_shares": maximum_shares, "reserve": reserve,
                "visitors": visitors, "time_zone": time_zone, "control": control, "confidence": confidence,
                "rule": rule, "tolerance": tolerance,
            }  # fmt: skip
            chosen = environment_choice_options(given, len(names), checked_limits(limits))
            policy, tide = environment_choice_policy(confidence), "labels"
            limits, confidence, rule = chosen.get("limits", limits), None, None
        elif tolerance is not None:
            raise InputError(f"tolerance={describe_value(tolerance)} requires environments= and confidence=")
        spec, promise, tide = separate_policy(policy, tide, confidence, rule)
        budget = None if budget is None else require_whole_number("budget", budget, 1, LARGEST_EXACT_INTEGER)
        kind = checked_rewards(rewards)
        compared = checked_scale(scale, kind, spec)
        if compared != "difference":
            spec = spec.on_ratios()
        times = with_visitor_times(
            {"visitors": visitors, "rewards": kind, "lease": lease, "default": default, "reserve": reserve}
        )
        lease, default, reserve = (times[name] for name in ("lease", "default", "reserve"))
        allowed = ExperimentSettings(limits=checked_limits(limits), rewards=kind)
        options: dict[str, Any] = {"limits": allowed.limits}
        if (kind, compared) != ("normal", "difference"):
            options |= {"rewards": kind, "scale": compared}
        if looks is None:
            options |= checked_rule(promise, spec, kind, len(names), budget)
        else:
            options |= checked_looks(looks, promise, spec, environments is not None)
        options |= checked_tide(tide, spec, kind, options.get("confidence"))
        if REWARD_KINDS[kind].binary and lease is not None and default is None:
            default = 0.0
        bounds = checked_bounds(minimum_shares, maximum_shares, names)
        if bounds:
            by_name = {
                option: {names[arm]: share for arm, share in shares.items()}
                for option, shares in bounds._asdict().items()
            }
            options |= to_stored_names(by_name)
        if default is not None:
            default = checked_reward(allowed, "default", default)
        options |= checked_lease(lease, default, reserve) | checked_zone(time_zone)
        options |= checked_control(control, names)
        if environments is not None:
            options |= chosen
        created = e.Created(
            now(clock),
            None,
            names,
            budget,
            experiment_file.describe_policy(spec),
            require_whole_number("seed", seed, 0, 2**64 - 1),
            checks.require_direction(direction),
            options,
            new_session(),
        )
        super().__init__(State(created, spec), clock)

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
        """Create an experiment in a database, or open the existing experiment of that name.

        Several processes may open it at the same time. Each call reads the events of the other processes
        first, and stores its own events before it returns, so that they survive a power failure.

        Parameters
        ----------
        url
            Address of the database: `"sqlite:///shop.db"` (a file in the current folder),
            `"sqlite:////data/shop.db"`, or `"postgresql://user@host/database"`.
        name
            Name of the experiment.
        arms
            Names of the arms of a new experiment, or None to open an existing one. Arms and options that are
            given must equal those of the existing experiment.
        clock
            Function that returns the current time in seconds.
        **options
            Other parameters of a new experiment: `budget`, `policy` and so on.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> run = Experiment.open(f"sqlite:///{folder.name}/shop.db", "prices", ["A", "B"], budget=100)
        >>> run.tell(run.ask(environment="monday"), 1.5)
        >>> other = Experiment.open(f"sqlite:///{folder.name}/shop.db", "prices")
        >>> other.remaining, other.recommend().recorded
        (99, 1)
        >>> run.close(), other.close(), folder.cleanup()
        (None, None, None)
        """
        from tideproof.store.stored_experiments import open_experiment

        return open_experiment(cls, url, name, arms, clock, options)

    @staticmethod
    def delete(url: str, name: str) -> None:
        """Delete an experiment from a database, with all events, pulls and rewards; this cannot be undone.

        Other processes that have it open get an `UnknownName` error at their next call.

        Parameters
        ----------
        url
            Address of the database, as in `open`.
        name
            Name of the experiment.
        """
        from tideproof.store.stored_experiments import delete_experiment

        delete_experiment(url, name)

    def close(self) -> None:
        """Close the database connection, if the experiment has one; the next call opens it again."""
        if self._shared is not None:
            self._shared.close()

    @writes_events
    def once(self, key: str, command: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a method of a stored experiment at most once per idempotency key.

        The first call `run.once("job-7", run.ask, environment="monday")` asks for a pull. A later call with
        the same key, by any process, changes nothing and returns the same pull. Use it to retry safely when
        it is unknown whether an earlier call succeeded.
        """
        if self._shared is None:
            raise InputError(
                f"once({key!r}, ...) needs an experiment in a database: open it with "
                f"Experiment.open(url, name)"
            )
        return self._shared.once(key, command, args, kwargs)

    def __repr__(self) -> str:
        book = self._state.book
        budget = "no budget" if self.budget is None else f"budget {self.budget}"
        return (
            f"<Experiment: {len(self.arms)} arms, policy {self.policy.label}, {budget}, "
            f"{format_count(len(book.pulls) - book.lost, 'pull')}, {len(book.pending):,} pending>"
        )

    def _repr_html_(self) -> str:
        found = self._read()
        tables = [] if found.fit is None else [found.fit.arms]
        return render_notebook_html(f"{repr(self)[1:-1]}\n{found.recommendation}", *tables)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the experiment to a JSON file, which `load` reads.

        If the program crashes while saving, the file has either its old or its new contents.
        """
        happened, contents = self._copy_for_file()
        experiment_file.write(happened, pack_snapshot(self.policy, contents), path)

    @locked
    def _copy_for_file(self) -> tuple[list[e.Event], Any]:
        return self.events(), copy_policy_state(self._state)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        policy: Chosen | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Experiment:
        """Read an experiment from a file that `save` wrote; it continues exactly where it was.

        Parameters
        ----------
        path
            The file to read.
        policy
            The policy of the experiment, needed only if that policy is not registered. The file stores the
            name, the selection rule and the options of the policy; those of `tp.policy(...)` must not
            contradict them.
        clock
            Function that returns the current time in seconds, as for a new experiment.
        """
        happened, snapshot = experiment_file.read(path)
        return cls._from_events(happened, policy, clock, snapshot)

    @classmethod
    def _from_events(
        cls,
        happened: list[e.Event],
        policy: Chosen | None = None,
        clock: Callable[[], float] = time.time,
        snapshot: Any = None,
    ) -> Experiment:
        return cls.from_state(experiment_file.rebuild_state(happened, policy, snapshot), clock)

    @classmethod
    def from_state(cls, state: State, clock: Callable[[], float], has_session: bool = False) -> Experiment:
        """Return an experiment that continues from a given state; not part of the public API.

        With `has_session` it continues the pull IDs of the state, otherwise it begins new ones.
        """
        run = cls.__new__(cls)
        ExperimentBase.__init__(run, state, clock, has_session)
        return run

    @property
    def internals(self) -> ExperimentInternals:
        """Data and functions of the experiment for internal use by tideproof; not part of the public API."""
        return ExperimentInternals(
            state=self._state,
            lock=self._lock,
            clock=self._clock,
            rule=self._rule,
            policy_state=self._policy_state,
            now=self._now,
            update=self._update,
            read=self._read,
            status=self._status,
            selected=self._selected,
            next_arm=self._next_arm,
            pull_number=self._pull_number,
            replace_state=self._replace_state,
            renew_lock=self._renew_lock,
            share=self._share,
            forget_environment=self._forget_environment,
            is_deleted=self._shared is not None and self._shared.is_deleted,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        if self._shared is not None:
            return self._shared.pickled()
        return self._from_events, (
            self.events(),
            experiment_file.unregistered(self.policy),
            self._clock,
        )
