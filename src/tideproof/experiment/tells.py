"""Telling: rewards one by one, many at once, as summaries, corrected, or from before the experiment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tideproof.checks import LARGEST_EXACT_INTEGER, require_finite, require_list, require_whole_number
from tideproof.errors import ConflictingReward, InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.locking import Handle, changing
from tideproof.experiment.pull import Label, Pull, checked_label
from tideproof.experiment.state.pulls_book import Summary
from tideproof.experiment.tell_checks import as_event, new_rewards
from tideproof.experiment.tide_options import check_labelled
from tideproof.experiment.warm_start import cells_before
from tideproof.text import join_names

LARGEST = 1e50  # a reward; limits need its sixth power
WIDEST = 1e100  # a variance


class Telling(Handle):
    """The rewards of an experiment."""

    def tell(self, pull: Pull | str, reward: float, by: str | None = None, *, key: str | None = None) -> None:
        """Tell the reward of a pull, or of the pull with that id; a repeat is harmless.

        Rewards of a unit are added up, each that is told: there, a key such as the number of an order makes
        a repeat harmless.
        """
        self.tell_many([pull], [reward], by, keys=[key])

    @changing
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
        numbers = [self._known(pull) for pull in require_list("pulls", pulls)]
        values = [self._reward("reward", reward) for reward in require_list("rewards", rewards)]
        names = (
            [None] * len(numbers)
            if keys is None
            else [_checked_key(key) for key in require_list("keys", keys)]
        )
        new = new_rewards(book, numbers, values, names)
        if new:
            self._state.add(as_event(book, new, self._now(), by))

    @changing
    def correct(self, pull: Pull | str, reward: float, by: str | None = None) -> None:
        """Replace the reward that was told of a pull."""
        book, number = self._state.book, self._known(pull)
        reward = self._reward("reward", reward)
        if book.rewards[number] is None:
            raise InputError(
                f"pull {book.pulls[number].id} is {book.status[number]}; only a told reward can be corrected"
            )
        if book.rewards[number] != reward:
            self._state.add(e.Corrected(self._now(), by, number, reward))

    @changing
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
        """Tell the results of `n` pulls of one arm in one environment at once.

        Settles the oldest pulls that are out there; a surplus is data outside the budget.

        Parameters
        ----------
        arm, environment
            Where the rewards come from.
        n, mean, variance
            Their number, mean and sample variance (divisor n - 1; needed if n > 1).
        successes
            How many of them were 1, if all others were 0: instead of mean and variance.
        total
            Of counts, their sum, if events come one by one (Poisson): it says how much they vary.
        key
            Makes a repeat harmless: the same key and values are taken once.
        by
            Who tells, for the record.
        """
        book = self._state.book
        check_labelled(book, "a summary")
        number = book.arm_number(arm)
        label = checked_label(environment)
        n = require_whole_number("n", n, 1, LARGEST_EXACT_INTEGER)
        mean, spread = self._summed(n, mean, variance, successes, total)
        key = _checked_key(key)
        if key in book.keyed:
            known = book.summaries[book.keyed[key]][1]
            given = Summary(arm, label, n, mean, spread)
            if known != given:
                raise ConflictingReward(f"summary {key!r} was told {known.said()} before; now {given.said()}")
            return
        self._state.add(e.Summarised(self._now(), by, number, label, n, mean, spread, key))

    def _summed(self, n: int, mean: Any, variance: Any, successes: Any, total: Any) -> tuple[float, float]:
        """Return mean and variance of a summary, or say what it lacks."""
        given = {"successes": successes, "a total": total, "a mean": mean}
        several = [name for name, value in given.items() if value is not None]
        kind = self._state.created.options.get("rewards", "normal")
        if len(several) > 1 or (variance is not None and mean is None and several):
            raise InputError(
                f"a summary has {join_names(given, 'or')}, one of them: only a mean needs a variance "
                "beside it"
            )
        if successes is not None:
            share = _successes(successes, n) / n
            return share, share * (1.0 - share) * n / (n - 1) if n > 1 else 0.0
        if total is not None:
            if kind != "counts":
                raise InputError(
                    f"total={total!r} is for rewards='counts', not {kind!r}: give mean and variance"
                )
            mean = self._mean("mean", require_whole_number("total", total, 0) / n)
            return mean, mean if n > 1 else 0.0
        if mean is None:
            raise InputError("mean must be a finite number, not None, unless successes or a total are given")
        if kind == "conversions":
            raise InputError(f"a summary of conversions needs its successes, not mean={mean!r}")
        mean = self._mean("mean", mean)
        if variance is None and n > 1:
            raise InputError(f"a summary of {n} rewards needs their variance (divisor n - 1)")
        known_spread = 0.0 if variance is None else require_finite("variance", variance, 0.0)
        spread = 0.0 if n == 1 else known_spread
        if spread > WIDEST:
            raise InputError(f"variance must be at most {WIDEST:g}, not {variance!r}")
        return mean, spread

    def _reward(self, name: str, value: Any) -> float:
        return within(self._state.created.options, name, value)

    def _mean(self, name: str, value: Any) -> float:
        return within(self._state.created.options, name, value, mean=True)

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
        self._warm(cells_before(data, self.arms, columns, self._mean), by)

    @changing
    def _warm(self, cells: tuple[Any, ...], by: str | None) -> None:
        check_labelled(self._state.book, "a reward from before")
        self._state.add(e.Warmed(self._now(), by, cells))


def _successes(successes: Any, n: int) -> int:
    if isinstance(successes, (int, np.integer)) and successes > n:
        raise InputError(
            f"successes must be at most n={n}, not {describe_value(successes)}; events of which one pull "
            f"can bring several are counts: Experiment(..., rewards='counts') and tell_summary(total=...)"
        )
    return require_whole_number("successes", successes, 0, n)


# What rewards of a kind can be: in words, the least and the largest, whether all are whole numbers
_KINDS: dict[str, tuple[str, float, float, bool]] = {
    "normal": ("a number", -math.inf, math.inf, False),
    "conversions": ("0 or 1", 0.0, 1.0, True),
    "counts": ("a whole number of at least 0", 0.0, math.inf, True),
    "money": ("at least 0", 0.0, math.inf, False),
}


def within(options: Mapping[str, Any], name: str, value: Any, mean: bool = False) -> float:
    """Return a reward of the kind that an experiment has, inside its limits, or say what they are.

    A mean of rewards has the same bounds, but need not be a whole number.
    """
    reward = require_finite(name, value)
    kind = options.get("rewards", "normal")
    allowed, least, most, only_whole = _KINDS[kind]
    if not least <= reward <= most or (only_whole and not mean and not reward.is_integer()):
        said = f"from {least:g} to {most:g}" if mean else allowed
        raise InputError(f"{name} of {kind} must be {said}, not {value!r}: it is not taken in")
    low, high = options.get("limits") or (-LARGEST, LARGEST)
    if not low <= reward <= high:
        raise InputError(f"{name} must be between {low:g} and {high:g}, not {value!r}: it is not taken in")
    return reward


def checked_limits(limits: Any, largest: float = LARGEST) -> tuple[float, float] | None:
    """Return the lowest and highest reward that can be."""
    if limits is None:
        return None
    given = [require_finite("limits", value) for value in require_list("limits", limits)]
    low, high = given if len(given) == 2 else (0.0, 0.0)
    if not low < high:
        raise InputError(f"limits must be the lowest and the highest reward that can be, not {limits!r}")
    if low < -largest or high > largest:
        raise InputError(f"limits must be between {-largest:g} and {largest:g}, not {limits!r}")
    return low, high


def _checked_key(key: Any) -> Any:
    if key is not None and not isinstance(key, str):
        raise InputError(f"a key must be a string, not {describe_value(key)}")
    return key
