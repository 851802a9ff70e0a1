"""Experiments as OpenFeature feature flags, whose value for a unit, such as a visitor, is an arm."""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from tideproof.errors import Finished, InputError, StoreError, TideproofError, UnknownName
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.locking import locked
from tideproof.experiment.pull import Pull, PullStatus
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.experiment_cache import ExperimentCache
from tideproof.serve.problem_details import Problem
from tideproof.serve.service_settings import Settings
from tideproof.serve.unit_evaluation import UnitEvaluator, UnitRequest
from tideproof.store.backend import ExperimentListing
from tideproof.store.shared_log import summary_text

# Reasons of OpenFeature: the unit is in the experiment; it is over; the default value of the code is used
SPLIT, STATIC, DISABLED = "SPLIT", "STATIC", "DISABLED"
GENERAL = "GENERAL"
FRESH = 1.0  # seconds for which a version is cached


class ListedFlag(NamedTuple):
    """Feature flag in the list of all flags: its name, and the arm that a stopped experiment ships.

    `shipped` is None while the experiment is not stopped; it must then be evaluated for each unit.
    """

    name: str
    shipped: str | None


class FlagEvaluator:
    """Evaluator of experiments as feature flags.

    Calls block, and are thread-safe.
    """

    def __init__(self, experiments: ExperimentCache, settings: Settings, units: UnitEvaluator) -> None:
        self._experiments, self._settings, self._units = experiments, settings, units
        self._flags: dict[str, ListedFlag] = {}
        self._listed = -math.inf, -1  # when the list was read, and after how many changes
        self._changes = 0  # of the list, by this process
        self._listing = threading.Lock()
        # Summaries of experiments whose stored one is from an older version, with their number of events
        self._old_summaries: dict[str, tuple[int, dict[str, Any]]] = {}
        self._versions: dict[str, tuple[float, str]] = {}

    def evaluate(self, asked: UnitRequest) -> tuple[dict[str, Any], bool]:
        """Return the arm that a feature flag gives to a unit, such as a visitor.

        The arm is part of an evaluation in the format of OFREP. Also return whether the unit is new.
        """
        name = asked.experiment
        run = self._experiments.get(name)
        if run.internals.state.settings.reserve is None:
            raise InputError(
                f"the experiment {name!r} cannot be a feature flag, because it was created without a "
                f"reserve: create a new experiment with visitors=true"
            )
        return self._evaluation(run, asked)

    def evaluate_all(self, asked: UnitRequest) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the arms that a unit, such as a visitor, gets from all feature flags of an API key.

        Each arm is part of an evaluation in the format of OFREP. Also return the names of the flags for which
        the unit is new. Flags without a value, of experiments that were archived or that were stopped and
        ship nothing, are omitted. Of the others only running experiments are opened.
        """
        found: list[dict[str, Any]] = []
        news: list[str] = []
        flags = self._flags_of(asked.key)
        running = sum(flag.shipped is None for flag in flags)
        most = self._settings.flags_per_request
        if running > most:
            raise InputError(
                f"one request can evaluate at most {most:,} feature flags of running experiments, but this "
                f"key may read {running:,}: use a key that is restricted to fewer experiments, stop some of "
                f"them, or set TIDEPROOF_FLAGS_PER_REQUEST to a higher number"
            )
        for name, shipped in flags:
            if shipped is not None:
                found.append(_as_evaluation(name, shipped, STATIC, {}))
                continue
            try:
                evaluation, is_new = self.evaluate(asked._replace(experiment=name))
            except StoreError:
                raise
            except UnknownName:  # another process has just deleted it
                continue
            except (TideproofError, Problem) as error:
                detail = error.detail if isinstance(error, Problem) else str(error)
                evaluation, is_new = {"key": name, "errorCode": GENERAL, "errorDetails": detail}, False
            found.append(evaluation)
            news += [name] if is_new else []
        return found, news

    def version(self, key: Key) -> str:
        """Return a hash that changes when clients should evaluate all feature flags again.

        The hash is at most one second old.
        """
        known = self.cached_version(key)
        if known is not None:
            return known
        states = []
        for name, shipped in self._flags_of(key):
            with suppress(UnknownName):  # another process has just deleted it
                states.append(
                    (name, _flag_state(self._experiments.get(name)) if shipped is None else shipped)
                )
        found = hashlib.sha256(json.dumps(states).encode()).hexdigest()[:16]
        self._versions[key.id] = time.monotonic(), found
        return found

    def cached_version(self, key: Key) -> str | None:
        """Return the cached hash of the state of all feature flags, or None if it is too old.

        The call never blocks.
        """
        at, found = self._versions.get(key.id, (-math.inf, None))
        return found if time.monotonic() - at < FRESH else None

    def _evaluation(self, run: Experiment, asked: UnitRequest) -> tuple[dict[str, Any], bool]:
        """Return the arm that a feature flag gives to a unit, such as a visitor.

        The arm is part of an evaluation in the format of OFREP. Also return whether the unit is new.
        """
        is_new, name = False, asked.experiment
        pull, over = _find_pull(run, str(asked.unit))
        if pull is None and not over:
            try:
                pull, is_new = self._units.evaluate(run, asked, dated=True)
            except Finished:
                over = True
        if pull is None or over:
            arm = _arm_outside(run)
            return _as_evaluation(name, arm, DISABLED if arm is None else STATIC, {}), False
        metadata = {"pull": pull.id, "environment": pull.environment}
        return _as_evaluation(name, pull.arm, SPLIT, metadata), is_new

    def forget_list(self) -> None:
        """Forget the cached list of feature flags, because an experiment began, ended or was deleted."""
        self._changes += 1

    def _flags_of(self, key: Key) -> list[ListedFlag]:
        """Return the feature flags that an API key may read, sorted by name; at most a second old."""
        with self._listing:
            now = time.monotonic(), self._changes
            if now[0] - self._listed[0] >= FRESH or now[1] != self._listed[1]:
                self._flags = {each.name: each for each in self._list_flags()}
                self._listed = now
        flags = self._flags
        if key.experiments is None:
            return list(flags.values())
        return [flags[name] for name in sorted(set(key.experiments)) if name in flags]

    def _list_flags(self) -> Iterator[ListedFlag]:
        """Yield the feature flags that can have a value, from the stored summaries of all experiments.

        They are the experiments with a `reserve` that are not archived, and are running or ship an arm.
        """
        for each in self._experiments.list_experiments():
            about = self._summary(each)
            if not about["flag"] or about["archived_at"] is not None:
                continue
            if not about["stopped"] or about["shipped"] is not None:
                yield ListedFlag(each.name, about["shipped"] if about["stopped"] else None)

    def _summary(self, each: ExperimentListing) -> dict[str, Any]:
        """Return the summary of an experiment; one that an older version stored is computed anew."""
        try:
            about: dict[str, Any] = json.loads(each.about)
            if "flag" in about:
                return about
            known = self._old_summaries.get(each.name)
            if known is None or known[0] != each.events:
                about = json.loads(summary_text(self._experiments.get(each.name).internals.state))
                known = self._old_summaries[each.name] = each.events, about
            return known[1]
        except StoreError:
            raise
        except (TideproofError, ValueError, TypeError):  # damaged, or just deleted
            return {"flag": False, "archived_at": None}


@locked
def _find_pull(run: Experiment, unit: str) -> tuple[Pull | None, bool]:
    """Return the pull (assignment of an arm) of a unit, such as a visitor, or None.

    Also return whether the experiment is over for this unit: it was stopped, or the stopping rule found the
    best arm. In the second case a unit keeps its own arm while the reward of its pull is pending.
    """
    pull, book = run.pull_of(unit), run.internals.state.book
    waits = pull is not None and book.status[run.internals.pull_number(pull)] == PullStatus.PENDING
    return pull, book.stopped or (run.shipped is not None and not waits)


@locked
def _flag_state(run: Experiment) -> list[Any]:
    """Return a description of which arms visitors can get now, to detect when this changes."""
    book = run.internals.state.book
    said = [book.stopped, bool(book.paused), book.remaining == 0, book.archived_at is not None]
    return [*said, list(book.active), run.shipped, len(book.looks)]


@locked
def _arm_outside(run: Experiment) -> str | None:
    """Return the arm of visitors that the experiment gives none; None for the calling code's default.

    It is the shipped arm. If there is none, it is the control arm while the experiment runs, for example
    with a budget that is used up.
    """
    state, shipped = run.internals.state, run.shipped
    if state.book.stopped:
        return None if state.book.archived_at is not None else shipped
    return None if state.book.paused else shipped or state.settings.control


def _as_evaluation(name: str, arm: str | None, reason: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the evaluation of a feature flag in the format of OpenFeature's protocol OFREP.

    Without a value, the client uses the default in its code; OFREP clients require a variant even then.
    """
    value = {} if arm is None else {"value": arm}
    return {"key": name, "reason": reason, "variant": arm or "", "metadata": metadata} | value
