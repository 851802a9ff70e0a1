"""Methods of an experiment that record or correct rewards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tideproof.checks import LARGEST_EXACT_INTEGER, require_finite, require_list, require_whole_number
from tideproof.errors import ConflictingReward, InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.locking import ExperimentBase, writes_events
from tideproof.experiment.options.tide_options import check_labelled
from tideproof.experiment.pull import Label, Pull, PullStatus, checked_label
from tideproof.experiment.reward_kinds import REWARD_KINDS
from tideproof.experiment.settings import ExperimentSettings
from tideproof.experiment.state.pulls_book import Book, Summary
from tideproof.experiment.unit_assignments import hash_outcome_key
from tideproof.experiment.warm_start import cells_before
from tideproof.text import join_names

LARGEST = 1e50  # largest reward; intervals need its sixth power
WIDEST = 1e100  # largest variance


_NewReward = tuple[int, float, str | None]  # number of the pull, reward and key


class TellMethods(ExperimentBase):
    """Base class of `Experiment` with the methods that record rewards."""

    def tell(self, pull: Pull | str, reward: float, by: str | None = None, *, key: str | None = None) -> None:
        """Record the reward of a pull, given as a pull or its ID; repeating the call has no effect.

        Several rewards of a unit are added up. A `key` for each, such as an order number, makes a repeated
        call harmless.
        """
        self.tell_many([pull], [reward], by, keys=[key])

    @writes_events
    def tell_many(
        self,
        pulls: Iterable[Pull | str],
        rewards: Iterable[float],
        by: str | None = None,
        *,
        keys: Iterable[str | None] | None = None,
    ) -> None:
        """Record the rewards of several pulls; if one is not allowed, record none."""
        # 1. Take the lock and apply what other calls recorded: the decorator does it.
        book = self._state.book
        # 2. Check the arguments.
        numbers = [self._pull_number(pull) for pull in require_list("pulls", pulls)]
        values = [self._reward("reward", reward) for reward in require_list("rewards", rewards)]
        names = (
            [None] * len(numbers)
            if keys is None
            else [_checked_key(key) for key in require_list("keys", keys)]
        )
        # 3. Leave out repeated rewards, and refuse those that are not allowed. Nothing has changed so far.
        new = _new_rewards(book, numbers, values, names)
        if not new:
            return
        # 4. Make the event. `State.add` applies it to the book of pulls and to the statistics of the policy,
        #    and then adds it to the log. In a store, the decorator commits the log.
        self._state.add(_reward_event(book, new, self._now(), by))

    @writes_events
    def correct(self, pull: Pull | str, reward: float, by: str | None = None) -> None:
        """Replace the recorded reward of a pull."""
        book, number = self._state.book, self._pull_number(pull)
        reward = self._reward("reward", reward)
        if book.rewards[number] is None:
            raise InputError(
                f"pull {book.pulls[number].id} has no recorded reward to correct: "
                f"{book.status[number].description}"
            )
        if book.rewards[number] != reward:
            self._state.add(e.Corrected(self._now(), by, number, reward))

    @writes_events
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
        """Record the number, mean and variance of `n` rewards of one arm in one environment.

        The summary settles the oldest pending pulls of that arm and environment. Further rewards count as
        data outside the budget.

        Parameters
        ----------
        arm, environment
            Arm and environment of the rewards.
        n, mean, variance
            Number, mean and sample variance of the rewards (divisor n - 1; required if n > 1).
        successes
            For 0/1 rewards, the number of ones, instead of mean and variance.
        total
            For counts that follow a Poisson distribution, the sum of the rewards. Their variance is then
            taken to be their mean.
        key
            Idempotency key: the same key with the same values is recorded once.
        by
            Name of the caller, recorded in the event log.
        """
        book = self._state.book
        self._check_accepts_summaries("a summary")
        check_labelled(book, "a summary")
        number = book.arm_number(arm)
        label = checked_label(environment)
        n = require_whole_number("n", n, 1, LARGEST_EXACT_INTEGER)
        mean, spread = self._summary_moments(n, mean, variance, successes, total)
        key = _checked_key(key)
        if key in book.keyed:
            known = book.summaries[book.keyed[key]][1]
            given = Summary(arm, label, n, mean, spread)
            if known != given:
                raise ConflictingReward(
                    f"summary {key!r} was recorded as {known.describe()}, not {given.describe()}"
                )
            return
        self._state.add(e.Summarised(self._now(), by, number, label, n, mean, spread, key))

    def _summary_moments(
        self, n: int, mean: Any, variance: Any, successes: Any, total: Any
    ) -> tuple[float, float]:
        """Return the mean and variance of a summary, or raise an error if values are missing or conflict."""
        given = {"successes": successes, "total": total, "mean": mean}
        several = [name for name, value in given.items() if value is not None]
        rewards = self._state.settings.rewards
        kind = REWARD_KINDS[rewards]
        if len(several) > 1 or (variance is not None and mean is None and several):
            passed = {**given, "variance": variance}
            raise InputError(
                f"a summary takes exactly one of {join_names(given)}, and variance only with mean, but it "
                f"got {join_names(f'{k}={v!r}' for k, v in passed.items() if v is not None)}"
            )
        if successes is not None:
            share = _successes(successes, n) / n
            for possible_reward in (0.0, 1.0):
                self._reward("a reward in a summary with successes", possible_reward)
            return share, share * (1.0 - share) * n / (n - 1) if n > 1 else 0.0
        if total is not None:
            if not kind.totals:
                possible = join_names(
                    (repr(name) for name, each in REWARD_KINDS.items() if each.totals), "or"
                )
                raise InputError(
                    f"total={total!r} is for rewards={possible}, not {rewards!r}: give mean and variance"
                )
            mean = self._mean("mean", require_whole_number("total", total, 0) / n)
            return mean, mean if n > 1 else 0.0
        if mean is None:
            raise InputError(f"a summary requires {join_names(given, 'or')}")
        if kind.binary:
            raise InputError(f"a summary with rewards={rewards!r} requires successes, not mean={mean!r}")
        mean = self._mean("mean", mean)
        if variance is None and n > 1:
            raise InputError(
                f"a summary of {n} rewards requires variance=, their sample variance (divisor n - 1)"
            )
        known_spread = 0.0 if variance is None else require_finite("variance", variance, 0.0)
        spread = 0.0 if n == 1 else known_spread
        if spread > WIDEST:
            raise InputError(f"variance must be at most {WIDEST:g}, not {variance!r}")
        return mean, spread

    def _check_accepts_summaries(self, what: str) -> None:
        if self._state.settings.environments is not None:
            raise InputError(
                f"{what} is not accepted, because the policy of this experiment asks each pair of an arm "
                f"and an "
                f"environment at most once. Ask for pulls, and record the reward of each"
            )

    def _reward(self, name: str, value: Any) -> float:
        return checked_reward(self._state.settings, name, value)

    def _mean(self, name: str, value: Any) -> float:
        return checked_reward(self._state.settings, name, value, mean=True)

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
        """Add rewards from before the experiment: they count in all estimates but not in the budget.

        Parameters
        ----------
        data
            A `Fit`, or a log that `tp.fit` reads. All arms must be known. A label that the experiment also
            uses is the same environment.
        arm, environment, reward
            Names of the columns of a log.
        by
            Name of the caller, recorded in the event log.
        **options
            Other options of `tp.fit`, such as `n` and `sd`.
        """
        columns = {"arm": arm, "environment": environment, "reward": reward, **options}
        self._warm(cells_before(data, self.arms, columns, self._mean), by)

    @writes_events
    def _warm(self, cells: tuple[Any, ...], by: str | None) -> None:
        self._check_accepts_summaries("a warm start")
        check_labelled(self._state.book, "a warm start")
        if self._state.settings.looks is not None:
            raise InputError(
                "a warm start is not possible with planned looks, which are for new rewards only"
            )
        self._state.add(e.Warmed(self._now(), by, cells))


def _new_rewards(
    book: Book, numbers: Sequence[int], rewards: Sequence[float], keys: Sequence[str | None]
) -> list[_NewReward]:
    """Validate the rewards of pulls, and return those that have not been recorded before."""
    if len(numbers) != len(rewards):
        raise InputError(
            f"pulls and rewards must have the same length, not {len(numbers)} and {len(rewards)}"
        )
    if len(numbers) != len(keys):
        raise InputError(f"pulls and keys must have the same length, not {len(numbers)} and {len(keys)}")
    told: dict[tuple[int, str | None], float] = {}
    new: list[_NewReward] = []
    for number, reward, key in zip(numbers, rewards, keys, strict=True):
        name, status = book.pulls[number].id, book.status[number]
        if status in (PullStatus.SUMMARISED, PullStatus.CANCELLED):
            raise InputError(f"rewards of pull {name} are no longer accepted: {status.description}")
        if number in book.reserved:
            raise InputError(
                f"pull {name} is reserved: call expose(pull) first, which records that its unit saw the arm"
            )
        of_unit = number in book.of_units
        if key is not None and not of_unit:
            raise InputError(
                f"key={key!r} is only for pulls of a unit, whose rewards are added up, and pull {name} has "
                f"no unit. Omit the key: recording the same reward again has no effect"
            )
        if of_unit and key is None:
            new.append((number, reward, None))
            continue
        if status == PullStatus.LATE and key is None:
            continue
        stored = None if key is None else _stored_key(book, number, key)
        before = _recorded_reward(book, number)
        if key is not None and stored is not None:  # older versions stored the key itself
            given = book.added.get((number, stored))
            before = book.added.get((number, key)) if given is None else given
        known = told.get((number, stored), before)
        if known is not None and known != reward:
            with_key = "" if key is None else f" with the key {key!r}"
            replaced = "it" if key is None else "the sum of its rewards"
            raise ConflictingReward(
                f"pull {name} already has the reward {known!r}{with_key}, not {reward!r}: "
                f"correct(pull, reward) replaces {replaced}"
            )
        if known is None:
            told[number, stored] = reward
            new.append((number, reward, stored))
    return new


def _stored_key(book: Book, number: int, key: str) -> str:
    """Return a keyed hash of the idempotency key of a reward, which is stored instead of that key.

    If the unit of the pull was forgotten, the hash has no secret key, and begins with a minus. Raise
    `InputError` if the keys of earlier rewards of the pull cannot be recognized any more.
    """
    if book.salt and number >= book.salted_from:
        return hash_outcome_key(key, book.salt)
    if any(pull == number and not known.startswith("-") for pull, known in book.added):
        raise InputError(
            f"key={key!r} cannot be compared with keys of earlier rewards of pull {book.pulls[number].id}, "
            f"because forget_units() deleted what they were hashed with: omit the key"
        )
    return f"-{hash_outcome_key(key, '')}"


def _recorded_reward(book: Book, number: int) -> float | None:
    """Return the reward that was recorded for a pull, or None.

    A default reward after the time limit does not count.
    """
    return None if book.status[number] == PullStatus.DEFAULTED else book.rewards[number]


def _reward_event(book: Book, new: Sequence[_NewReward], at: float, by: str | None) -> e.Told | e.Added:
    """Return the event that records new rewards."""
    pulls, rewards, keys = zip(*new, strict=True)
    if book.of_units.isdisjoint(pulls):
        return e.Told(at, by, pulls, rewards)
    return e.Added(at, by, pulls, rewards, keys)


def _successes(successes: Any, n: int) -> int:
    if isinstance(successes, (int, np.integer)) and successes > n:
        raise InputError(
            f"successes must be at most n={n}, not {describe_value(successes)}; if one pull can have "
            f"several successes, use Experiment(..., rewards='counts') and tell_summary(total=...)"
        )
    return require_whole_number("successes", successes, 0, n)


def checked_reward(settings: ExperimentSettings, name: str, value: Any, mean: bool = False) -> float:
    """Return a reward as a number, or raise an error if the experiment does not allow this value.

    The kind of rewards and the limits of the experiment say which values are allowed. A mean of rewards has
    the same limits but need not be a whole number.
    """
    reward = require_finite(name, value)
    kind = REWARD_KINDS[settings.rewards]
    if not kind.lowest <= reward <= kind.highest or (kind.whole and not mean and not reward.is_integer()):
        values = f"from {kind.lowest:g} to {kind.highest:g}" if mean else kind.values
        raise InputError(f"{name} must be {values} with rewards={settings.rewards!r}, not {value!r}")
    low, high = settings.limits or (-LARGEST, LARGEST)
    if not low <= reward <= high:
        raise InputError(f"{name} must be between {low:g} and {high:g}, not {value!r}")
    return reward


def checked_limits(limits: Any, largest: float = LARGEST) -> tuple[float, float] | None:
    """Return the lowest and the highest possible reward as a pair of numbers, or raise an error."""
    if limits is None:
        return None
    given = [require_finite("limits", value) for value in require_list("limits", limits)]
    low, high = given if len(given) == 2 else (0.0, 0.0)
    if not low < high:
        raise InputError(f"limits must be the lowest and the highest possible reward, not {limits!r}")
    if low < -largest or high > largest:
        raise InputError(f"limits must be between {-largest:g} and {largest:g}, not {limits!r}")
    return low, high


def _checked_key(key: Any) -> Any:
    if key is not None and not isinstance(key, str):
        raise InputError(f"a key must be a string, not {describe_value(key)}")
    return key
