"""`RemoteExperiment`: client of an experiment on an HTTP service, used like an `Experiment`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, overload
from urllib.parse import quote

from tideproof.analysis.fit_result import Fit
from tideproof.checks import (
    LARGEST_EXACT_INTEGER,
    Prior,
    require_finite,
    require_list,
    require_prior,
    require_whole_number,
)
from tideproof.draw.svg_picture import Picture
from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.experiment_diagnostics import Diagnostics
from tideproof.experiment.look_progress import LookProgress
from tideproof.experiment.pull import Label, Pull, checked_label
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.snapshots.experiment_file import parse, rebuild_state
from tideproof.remote.http_calls import NOTHING, ServiceClient
from tideproof.table import Table

PAGE = 10_000  # pulls per request


class RemoteExperiment:
    """Client of an experiment on an HTTP service, with the methods of `Experiment`.

    Safe to call from several threads. After a lost connection a call is repeated with its own idempotency
    key, so that the service executes it once.

    `fit`, `history`, `diagnostics`, `report`, `save` and `events` download all events and compute locally.
    """

    def __init__(self, calls: ServiceClient, name: str, connect_arguments: tuple[Any, ...] = ()) -> None:
        self._calls, self.name, self._connect_arguments = calls, name, connect_arguments
        self._path = f"/v1/experiments/{quote(name, safe='')}"
        self._thread_state = threading.local()

    def __repr__(self) -> str:
        return f"<RemoteExperiment {self.name!r} at {self._calls.url}>"

    def __reduce__(self) -> tuple[Any, ...]:
        from tideproof.remote.connection import connect

        return connect, self._connect_arguments

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
        """Assign an arm and return the pull, or return the next `n` pulls; see `Experiment.ask`."""
        label = self._label if environment is None else checked_label(environment)
        wanted = None if n is None else require_whole_number("n", n, 1, LARGEST_EXACT_INTEGER)
        found = self._post("ask", environment=label, n=wanted, unit=unit, by=by)
        if not found["chosen"] and (unit is None or environment is not None):
            self._thread_state.label = found["pulls"][-1]["environment"] if unit is None else label
        pulls = [Pull(**each) for each in found["pulls"]]
        return pulls[0] if n is None else pulls

    def expose(self, pulls: Pull | str | Iterable[Pull | str]) -> None:
        """Record that units, such as visitors, saw the arms of their pulls; see `Experiment.expose`."""
        given = [pulls] if isinstance(pulls, (Pull, str)) else require_list("pulls", pulls)
        self._post("exposures", exposures=[{"pull": _id(each)} for each in given])

    def shares(self, *, environment: Label | None = None, n: int | None = None) -> dict[str, float]:
        """Return the share of each arm among the next pulls; see `Experiment.shares`."""
        label = self._label if environment is None else checked_label(environment)
        where = {"number" if isinstance(label, int) else "environment": label}
        found: dict[str, float] = self._get("shares", n=n, **where)["shares"]
        return found

    def cancel(self, pull: Pull | str, by: str | None = None) -> None:
        """Cancel a pull whose reward will never arrive."""
        self.cancel_many([pull], by)

    def cancel_many(self, pulls: Iterable[Pull | str], by: str | None = None) -> None:
        """Cancel several pulls whose rewards will never arrive: either all are cancelled, or none."""
        self._post("cancel", pulls=[_id(each) for each in require_list("pulls", pulls)], by=by)

    # -- rewards

    def tell(self, pull: Pull | str, reward: float, by: str | None = None, *, key: str | None = None) -> None:
        """Record the reward of a pull; the pull is passed as a `Pull` or as its id; see `Experiment.tell`."""
        self.tell_many([pull], [reward], by, keys=[key])

    def tell_many(
        self,
        pulls: Iterable[Pull | str],
        rewards: Iterable[float],
        by: str | None = None,
        *,
        keys: Iterable[str | None] | None = None,
    ) -> None:
        """Record the rewards of several pulls: either all are recorded, or none."""
        ids = [_id(each) for each in require_list("pulls", pulls)]
        values = [require_finite("reward", each) for each in require_list("rewards", rewards)]
        names = [None] * len(ids) if keys is None else require_list("keys", keys)
        if not len(ids) == len(values) == len(names):
            raise InputError(
                f"pulls, rewards and keys must have the same length, not {len(ids)}, {len(values)} and "
                f"{len(names)}"
            )
        rows = zip(ids, values, names, strict=True)
        self._post(
            "tell", rewards=[{"pull": id, "reward": value, "key": key} for id, value, key in rows], by=by
        )

    def tell_summary(
        self,
        *,
        arm: str,
        environment: Label,
        n: int,
        mean: float | None = None,
        variance: float | None = None,
        successes: int | None = None,
        total: int | None = None,
        key: str | None = None,
        by: str | None = None,
    ) -> None:
        """Record a summary (number, mean, variance) of `n` rewards of one arm in one environment."""
        self._post(
            "tell-summary",
            arm=arm,
            environment=checked_label(environment),
            n=require_whole_number("n", n, 1, LARGEST_EXACT_INTEGER),
            mean=None if mean is None else require_finite("mean", mean),
            variance=None if variance is None else require_finite("variance", variance, 0.0),
            successes=None if successes is None else require_whole_number("successes", successes, 0),
            total=None if total is None else require_whole_number("total", total, 0),
            key=key,
            by=by,
        )

    def correct(self, pull: Pull | str, reward: float, by: str | None = None) -> None:
        """Replace the recorded reward of a pull."""
        self._post("correct", pull=_id(pull), reward=require_finite("reward", reward), by=by)

    # -- changes

    def add_arm(self, arm: str, by: str | None = None) -> None:
        """Add an arm to the experiment."""
        self._change("add-arm", arm=arm, by=by)

    def retire_arm(self, arm: str, by: str | None = None) -> None:
        """Retire an arm: it gets no further pulls."""
        self._change("retire-arm", arm=arm, by=by)

    def extend(self, budget: int | None, by: str | None = None) -> None:
        """Set a new budget of pulls for the experiment; None removes the limit."""
        wanted = None if budget is None else require_whole_number("budget", budget, 1, LARGEST_EXACT_INTEGER)
        self._change("budget", budget=NOTHING if wanted is None else wanted, by=by)

    def pause(self, why: str = "", by: str | None = None) -> None:
        """Pause the experiment: it issues no pulls until it is resumed."""
        self._change("pause", why=why, by=by)

    def resume(self, why: str = "", by: str | None = None) -> None:
        """Resume a paused experiment."""
        self._change("resume", why=why, by=by)

    def archive(self, why: str = "", by: str | None = None) -> None:
        """Archive a stopped experiment; see `Experiment.archive`."""
        self._change("archive", why=why, by=by)

    def restore(self, why: str = "", by: str | None = None) -> None:
        """Restore an archived experiment: lists show it again."""
        self._change("restore", why=why, by=by)

    def note(self, text: str, by: str | None = None) -> None:
        """Add a note to the event log."""
        self._change("note", text=text, by=by)

    def forget_units(self, by: str | None = None) -> None:
        """Delete the salt with which unit ids are hashed, so that units can no longer be recognized."""
        self._change("forget-units", by=by)

    def forget_unit(self, unit: str | int, by: str | None = None) -> None:
        """Delete the hash of the ID of one unit, such as a visitor, on the service."""
        self._change("forget-unit", unit=unit, by=by)

    def stop(self, why: str = "", by: str | None = None, *, ship: str | None = None) -> None:
        """Stop the experiment for good, and choose the arm that every visitor gets; see `Experiment.stop`."""
        self._post("stop", why=why, by=by, ship=ship)

    def delete(self) -> None:
        """Delete the experiment from the service, with all events, pulls and rewards.

        This cannot be undone.
        """
        self._calls.delete(self._path)

    def once(self, key: str, command: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a method of the experiment at most once per idempotency key; see `Experiment.once`."""
        if not isinstance(key, str) or not key:
            raise InputError(f"an idempotency key must be a non-empty string, not {describe_value(key)}")
        if getattr(command, "__self__", None) is not self:
            raise InputError(
                f"once() needs a method of this experiment, such as run.ask, not {describe_value(command)}"
            )
        self._thread_state.once = key
        try:
            return command(*args, **kwargs)
        finally:
            self._thread_state.once = None

    # -- reading

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of all arms, including retired ones."""
        return tuple(self._info["arms"])

    @property
    def budget(self) -> int | None:
        """Total number of pulls, or None if it is unlimited."""
        found: int | None = self._info["budget"]
        return found

    @property
    def remaining(self) -> int | None:
        """Number of pulls that the experiment may still assign; None without a budget."""
        found: int | None = self._info["remaining"]
        return found

    @property
    def done(self) -> bool:
        """Whether the experiment is over, so that it assigns no more pulls."""
        return self._info["state"] in ("done", "stopped")

    @property
    def shipped(self) -> str | None:
        """The arm that every visitor gets because of a decision, or None if nothing is shipped."""
        found: str | None = self._info["shipped"]
        return found

    @property
    def direction(self) -> str:
        """Whether high or low rewards are better: `"maximize"` or `"minimize"`."""
        return str(self._info["direction"])

    @property
    def tide(self) -> str:
        """How shifts are estimated, such as by environment label or from rewards alone.

        `"labels"`: by environment; `"hidden"`: over time; `"both"`: by both; `"auto"`: not decided yet.
        """
        return str(self._info["tide"])

    @property
    def scale(self) -> str:
        """How the policy compares the means of arms: by `"difference"`, `"ratio"` or `"odds"`."""
        return str(self._info["scale"])

    @property
    def seed(self) -> int:
        """Seed of the policy's random choices."""
        return int(self._info["seed"])

    def pending_pulls(self) -> list[Pull]:
        """Return the pending pulls, oldest first."""
        found: list[Pull] = []
        after: str | None = None
        while True:
            page = self._get("pulls", limit=PAGE, after=after)
            found += [Pull(**each) for each in page["pulls"]]
            after = page["next"]
            if after is None:
                return found

    def recommend(self, *, prior: Prior = "exchangeable") -> Recommendation:
        """Return the arm that would be selected now, with its estimated lead and the evidence for it."""
        return _to_recommendation(self._get("recommendation", prior=require_prior(prior)))

    def look(self, look: float | None = None, by: str | None = None) -> Recommendation:
        """Make a planned look: record it with the error probability that it spends, and decide."""
        return _to_recommendation(self._post("looks", look=look, by=by))

    def copy(self) -> Experiment:
        """Return an in-memory copy of the experiment, without the salt for hashing unit IDs."""
        text = self._calls.text(f"{self._path}/export")
        events, _ = parse(text, repr(self.name))
        return Experiment.from_state(rebuild_state(events, None), time.time)

    def events(self) -> list[e.Event]:
        """Return all events of the experiment's event log, in order."""
        return self.copy().events()

    def history(self) -> Table:
        """Return a table of all pulls and summaries; see `Experiment.history`."""
        return self.copy().history()

    def fit(self, **options: Any) -> Fit:
        """Estimate adjusted means and shifts from all rewards recorded so far; see `Experiment.fit`."""
        return self.copy().fit(**options)

    def diagnostics(self) -> Diagnostics:
        """Return progress, tests of assumptions, and usage warnings; see `Experiment.diagnostics`."""
        return self.copy().diagnostics()

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write an HTML report of the experiment to a file; see `Experiment.report`."""
        self.copy().report(path, **options)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """Draw a chart of the current estimates of arms and shifts; see `Experiment.plot`."""
        return self.copy().plot(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all events of the experiment to a JSON file that `Experiment.load` reads."""
        self.copy().save(path)

    def close(self) -> None:
        """Close the HTTP connections to the service."""
        self._calls.close()

    # -- HTTP calls

    @property
    def _info(self) -> dict[str, Any]:
        """Settings and progress of the experiment, as the service returns them."""
        found: dict[str, Any] = self._calls.get(self._path)
        return found

    @property
    def _label(self) -> Label | None:
        """Default environment of this thread's next pull: the environment of its last pull, or None."""
        return getattr(self._thread_state, "label", None)

    @property
    def _once(self) -> str | None:
        """Idempotency key if this thread is inside a call of the method `once`, or else None."""
        return getattr(self._thread_state, "once", None)

    def _get(self, what: str, **params: Any) -> Any:
        """Send a GET request for data of the experiment, such as its events."""
        return self._calls.get(f"{self._path}/{what}", **params)

    def _post(self, what: str, **body: Any) -> Any:
        """Send a command to the experiment on the service, such as recording a reward."""
        return self._calls.post(f"{self._path}/{what}", body, self._once)

    def _change(self, change: str, **body: Any) -> None:
        """Send a change, such as a new budget, to the experiment on the service."""
        self._post("changes", change=change, **body)


def _id(pull: Any) -> str:
    """Return the id of a pull that is given either as a `Pull` or as its id."""
    id = pull.id if isinstance(pull, Pull) else pull
    if not isinstance(id, str):
        raise UnknownName(f"unknown pull {describe_value(pull)}; an experiment takes the pull or its id")
    return id


def _to_recommendation(fields: dict[str, Any]) -> Recommendation:
    """Return a recommendation from its JSON form."""
    chance = fields.pop("p_best")
    del fields["sentence"]
    fields["groups"] = tuple(map(tuple, fields["groups"]))
    fields["remarks"], fields["left_out"] = tuple(fields["remarks"]), tuple(fields.get("left_out", ()))
    if fields.get("looks") is not None:
        fields["looks"] = LookProgress(**fields["looks"] | {"made": tuple(fields["looks"]["made"])})
    return Recommendation(**fields, chance=lambda: chance)
