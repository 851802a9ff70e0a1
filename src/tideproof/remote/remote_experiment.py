"""The methods of an experiment, each a call of a service."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import Any, overload
from urllib.parse import quote

from tideproof.analysis.fit_result import Fit
from tideproof.checks import LARGEST_EXACT_INTEGER, require_finite, require_list, require_whole_number
from tideproof.draw.svg_picture import Picture
from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.experiment_diagnostics import Diagnostics
from tideproof.experiment.pull import Label, Pull, checked_label
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.snapshots.experiment_file import parsed
from tideproof.remote.http_calls import NOTHING, Calls
from tideproof.stats.best.p_best import Prior, checked_prior
from tideproof.table import Table

PAGE = 10_000


class RemoteExperiment:
    """An experiment of a service, with the methods of `Experiment`.

    Safe to call from several threads. Where a connection is lost, a call is repeated under a key of its own,
    and done once.

    `fit`, `history`, `diagnostics`, `report`, `save` and `events` fetch all events, and work here.
    """

    def __init__(self, calls: Calls, name: str, again: tuple[Any, ...] = ()) -> None:
        self._calls, self.name, self._again = calls, name, again
        self._path = f"/v1/experiments/{quote(name, safe='')}"
        self._here = threading.local()

    def __repr__(self) -> str:
        return f"<RemoteExperiment {self.name!r} at {self._calls.url}>"

    def __reduce__(self) -> tuple[Any, ...]:
        from tideproof.remote.connection import connect

        return connect, self._again

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
        """Say which arm to play next, or the next `n` of them; as `Experiment.ask`."""
        label = self._label if environment is None else checked_label(environment)
        wanted = None if n is None else require_whole_number("n", n, 1, LARGEST_EXACT_INTEGER)
        found = self._post("ask", environment=label, n=wanted, unit=unit, by=by)
        if unit is None or environment is not None:
            self._here.label = found["pulls"][-1]["environment"] if unit is None else label
        pulls = [Pull(**each) for each in found["pulls"]]
        return pulls[0] if n is None else pulls

    def expose(self, pulls: Pull | str | Iterable[Pull | str]) -> None:
        """Say that units saw their pulls; as `Experiment.expose`."""
        given = [pulls] if isinstance(pulls, (Pull, str)) else require_list("pulls", pulls)
        self._post("exposures", exposures=[{"pull": _id(each)} for each in given])

    def shares(self, *, environment: Label | None = None, n: int | None = None) -> dict[str, float]:
        """Return the share of each arm in the next pulls; as `Experiment.shares`."""
        label = self._label if environment is None else checked_label(environment)
        where = {"number" if isinstance(label, int) else "environment": label}
        found: dict[str, float] = self._get("shares", n=n, **where)["shares"]
        return found

    def cancel(self, pull: Pull | str, by: str | None = None) -> None:
        """Take back a pull whose reward will never come."""
        self.cancel_many([pull], by)

    def cancel_many(self, pulls: Iterable[Pull | str], by: str | None = None) -> None:
        """Take back several pulls, all or none."""
        self._post("cancel", pulls=[_id(each) for each in require_list("pulls", pulls)], by=by)

    # -- telling

    def tell(self, pull: Pull | str, reward: float, by: str | None = None, *, key: str | None = None) -> None:
        """Tell the reward of a pull, or of the pull with that id; as `Experiment.tell`."""
        self.tell_many([pull], [reward], by, keys=[key])

    def tell_many(
        self,
        pulls: Iterable[Pull | str],
        rewards: Iterable[float],
        by: str | None = None,
        *,
        keys: Iterable[str | None] | None = None,
    ) -> None:
        """Tell the rewards of several pulls, all or none."""
        ids = [_id(each) for each in require_list("pulls", pulls)]
        values = [require_finite("reward", each) for each in require_list("rewards", rewards)]
        names = [None] * len(ids) if keys is None else require_list("keys", keys)
        if not len(ids) == len(values) == len(names):
            raise InputError(f"{len(ids)} pulls but {len(values)} rewards and {len(names)} keys")
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
        """Tell the results of `n` pulls of one arm in one environment at once."""
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
        """Replace the reward that was told of a pull."""
        self._post("correct", pull=_id(pull), reward=require_finite("reward", reward), by=by)

    # -- changing

    def add_arm(self, arm: str, by: str | None = None) -> None:
        """Add an arm."""
        self._change("add-arm", arm=arm, by=by)

    def retire_arm(self, arm: str, by: str | None = None) -> None:
        """Play an arm no more."""
        self._change("retire-arm", arm=arm, by=by)

    def extend(self, budget: int | None, by: str | None = None) -> None:
        """Set another budget."""
        wanted = None if budget is None else require_whole_number("budget", budget, 1, LARGEST_EXACT_INTEGER)
        self._change("budget", budget=NOTHING if wanted is None else wanted, by=by)

    def pause(self, why: str = "", by: str | None = None) -> None:
        """Ask for nothing until it is resumed."""
        self._change("pause", why=why, by=by)

    def resume(self, why: str = "", by: str | None = None) -> None:
        """Ask again."""
        self._change("resume", why=why, by=by)

    def note(self, text: str, by: str | None = None) -> None:
        """Write something down beside the events."""
        self._change("note", text=text, by=by)

    def forget_units(self, by: str | None = None) -> None:
        """Delete the salt of the units' hashes."""
        self._change("forget-units", by=by)

    def stop(self, why: str = "", by: str | None = None) -> None:
        """Ask for nothing ever again."""
        self._post("stop", why=why, by=by)

    def once(self, key: str, command: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Do a command once, however often it is repeated; as `Experiment.once`."""
        if not isinstance(key, str) or not key:
            raise InputError(f"a key must be a string, not {describe_value(key)}")
        if getattr(command, "__self__", None) is not self:
            raise InputError(
                f"once takes a method of this experiment, such as run.ask, not {describe_value(command)}"
            )
        self._here.once = key
        try:
            return command(*args, **kwargs)
        finally:
            self._here.once = None

    # -- reading

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of all arms, retired ones included."""
        return tuple(self._info["arms"])

    @property
    def budget(self) -> int | None:
        """Number of pulls, None if it is open."""
        found: int | None = self._info["budget"]
        return found

    @property
    def remaining(self) -> int | None:
        """Pulls that may still be asked for; None without a budget."""
        found: int | None = self._info["remaining"]
        return found

    @property
    def done(self) -> bool:
        """Whether no further pull can be asked for."""
        return self._info["state"] in ("done", "stopped")

    @property
    def direction(self) -> str:
        """Which rewards are good."""
        return str(self._info["direction"])

    @property
    def tide(self) -> str:
        """What is known of it: `"labels"`, `"hidden"` or `"both"`; `"auto"` until the first ask says."""
        return str(self._info["tide"])

    @property
    def scale(self) -> str:
        """On which the policy compares arms."""
        return str(self._info["scale"])

    @property
    def seed(self) -> int:
        """Of the policy's own random choices."""
        return int(self._info["seed"])

    def pulls_out(self) -> list[Pull]:
        """Return the pulls whose rewards are awaited, the oldest first."""
        found: list[Pull] = []
        after: str | None = None
        while True:
            page = self._get("pulls", limit=PAGE, after=after)
            found += [Pull(**each) for each in page["pulls"]]
            after = page["next"]
            if after is None:
                return found

    def recommend(self, *, prior: Prior = "exchangeable") -> Recommendation:
        """Say which arm the policy would select now, its margin, and how sure that is."""
        said = self._get("recommendation", prior=checked_prior(prior))
        chance = said.pop("p_best")
        del said["sentence"]
        said["groups"] = tuple(map(tuple, said["groups"]))
        said["remarks"], said["left_out"] = tuple(said["remarks"]), tuple(said.get("left_out", ()))
        return Recommendation(**said, chance=lambda: chance)

    def copy(self) -> Experiment:
        """Return everything that happened as an experiment in memory; without what units are hashed with."""
        text = self._calls.text(f"{self._path}/export")
        happened, _ = parsed(text, repr(self.name))
        return Experiment._folded(happened)

    def events(self) -> list[e.Event]:
        """Return everything that happened, in order."""
        return self.copy().events()

    def history(self) -> Table:
        """Return every pull and summary; as `Experiment.history`."""
        return self.copy().history()

    def fit(self, **options: Any) -> Fit:
        """Return the fit of everything told so far; as `Experiment.fit`."""
        return self.copy().fit(**options)

    def diagnostics(self) -> Diagnostics:
        """Say how it is doing; as `Experiment.diagnostics`."""
        return self.copy().diagnostics()

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write an HTML report; as `Experiment.report`."""
        self.copy().report(path, **options)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """Draw how it stands; as `Experiment.plot`."""
        return self.copy().plot(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, which `Experiment.load` reads."""
        self.copy().save(path)

    def close(self) -> None:
        """Let go of the connections."""
        self._calls.close()

    # -- calls

    @property
    def _info(self) -> dict[str, Any]:
        found: dict[str, Any] = self._calls.get(self._path)
        return found

    @property
    def _label(self) -> Label | None:
        """Where this thread asked last; None if it has not: then the service says."""
        return getattr(self._here, "label", None)

    @property
    def _once(self) -> str | None:
        return getattr(self._here, "once", None)

    def _get(self, what: str, **params: Any) -> Any:
        return self._calls.get(f"{self._path}/{what}", **params)

    def _post(self, what: str, **body: Any) -> Any:
        return self._calls.post(f"{self._path}/{what}", body, self._once)

    def _change(self, change: str, **body: Any) -> None:
        self._post("changes", change=change, **body)


def _id(pull: Any) -> str:
    id = pull.id if isinstance(pull, Pull) else pull
    if not isinstance(id, str):
        raise UnknownName(f"unknown pull {describe_value(pull)}; an experiment takes the pull or its id")
    return id
