"""Experiments as feature flags: which arm a unit gets, and why, in the words of OpenFeature."""

from __future__ import annotations

import hashlib
import json
import math
import time
from datetime import datetime
from typing import Any, NamedTuple

from tideproof.errors import Finished, InputError, StoreError, TideproofError
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.locking import locked
from tideproof.experiment.pull import OUT, Label, Pull
from tideproof.experiment.state.pulls_book import Book
from tideproof.serve import serializers
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.experiment_cache import ExperimentCache
from tideproof.serve.problem_details import Problem
from tideproof.serve.service_settings import Settings, zone_of
from tideproof.serve.unit_evaluation import evaluated

SPLIT, STATIC, DISABLED = "SPLIT", "STATIC", "DISABLED"  # in the test; after it; the default of the code
GENERAL = "GENERAL"
FRESH = 1.0  # seconds for which a version holds


class Begun(NamedTuple):
    """Whether an experiment is for visitors, and whether it knows what day it is."""

    visitors: bool
    dated: bool


class Flags:
    """The experiments of a service that have visitors; its calls block, and are safe from threads."""

    def __init__(self, experiments: ExperimentCache, settings: Settings) -> None:
        self._experiments, self._settings = experiments, settings
        self._begun: dict[str, Begun] = {}  # of all experiments that were asked for: so it must be small
        self._versions: dict[str, tuple[float, str]] = {}
        self._zone = zone_of(settings.zone)

    def one(self, name: str, key: Key, unit: str, environment: Label | None) -> tuple[dict[str, Any], bool]:
        """Return the evaluation of one flag, and whether the unit is new."""
        run = self._experiments.get(name)
        begun = self._first(name)
        if not begun.visitors:
            raise InputError(
                f"{name!r} has no reserve: begin an experiment for visitors with a lease and a reserve"
            )
        if environment is None and not begun.dated:
            environment = self.today()
        return _evaluation(name, run, key, unit, environment, self._settings.reservations)

    def every(self, key: Key, unit: str, environment: Label | None) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the evaluations of all flags that a key reaches, and which of them have a new unit."""
        found: list[dict[str, Any]] = []
        news: list[str] = []
        for name in self._names(key):
            try:
                said, new = self.one(name, key, unit, environment)
            except StoreError:
                raise
            except (TideproofError, Problem) as error:
                detail = error.detail if isinstance(error, Problem) else str(error)
                said, new = {"key": name, "errorCode": GENERAL, "errorDetails": detail}, False
            found.append(said)
            news += [name] if new else []
        return found, news

    def version(self, key: Key) -> str:
        """Return a word that changes when visitors should be evaluated again; it is a second old at most."""
        known = self.known_version(key)
        if known is not None:
            return known
        states = [(name, _state(self._experiments.get(name))) for name in self._names(key)]
        found = hashlib.sha256(json.dumps(states).encode()).hexdigest()[:16]
        self._versions[key.id] = time.monotonic(), found
        return found

    def known_version(self, key: Key) -> str | None:
        """Return the version if it was found a moment ago; never blocks."""
        at, found = self._versions.get(key.id, (-math.inf, None))
        return found if time.monotonic() - at < FRESH else None

    def today(self) -> str:
        """Return the date where the service is said to be: the environment of who names none."""
        return datetime.fromtimestamp(time.time(), self._zone).date().isoformat()

    def _names(self, key: Key) -> list[str]:
        given = key.experiments
        names = [each.name for each in self._experiments.listed() if given is None or each.name in given]
        flags, most = [name for name in names if self._first(name).visitors], self._settings.flags
        if len(flags) > most:
            raise InputError(
                f"{len(flags):,} experiments have visitors, and {most:,} are evaluated at once: "
                f"use a key for some of them"
            )
        return flags

    def _first(self, name: str) -> Begun:
        """Return what an experiment began with, by its first event: it never changes."""
        if name not in self._begun:
            options = serializers.event(self._experiments.entries(name, 0, 1)[0])["about"]["options"]
            self._begun[name] = Begun("reserve" in options, "time_zone" in options)
        return self._begun[name]


def _evaluation(
    name: str, run: Experiment, key: Key, unit: str, environment: Label | None, most: int
) -> tuple[dict[str, Any], bool]:
    new = False
    pull, over = _found(run, unit)
    if pull is None and not over:
        try:
            pull, new = evaluated(run, key, unit, environment, most)
        except Finished:
            over = True
    if pull is None or over:
        return _selected(run, name), False
    return _said(name, pull.arm, SPLIT, {"pull": pull.id, "environment": pull.environment}), new


@locked
def _found(run: Experiment, unit: str) -> tuple[Pull | None, bool]:
    """Return the pull of a unit, and whether the test is over for it: nothing is awaited of it any more."""
    pull, book = run.pull_of(unit), run._state.book
    return pull, _ended(book) and (pull is None or book.status[run._known(pull)] != OUT)


def _ended(book: Book) -> bool:
    return book.stopped or book.sure is not None or (book.remaining == 0 and not book.out)


@locked
def _state(run: Experiment) -> list[Any]:
    """Return what decides on the evaluations of all visitors; not what was given to each."""
    book = run._state.book
    selected = run._selected().arm if _ended(book) else None
    return [bool(book.stopped), bool(book.paused), book.remaining == 0, list(book.active), selected]


@locked
def _selected(run: Experiment, name: str) -> dict[str, Any]:
    """Return what everybody gets who is not in the test: the arm it found; the code's default in a pause."""
    book = run._state.book
    arm = None if book.paused and not book.stopped else run._selected().arm
    return _said(name, arm, DISABLED if arm is None else STATIC, {})


def _said(name: str, arm: str | None, reason: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """Return an evaluation; without a value the code's default holds, and clients want a variant even so."""
    value = {} if arm is None else {"value": arm}
    return {"key": name, "reason": reason, "variant": arm or "", "metadata": metadata} | value
