"""Table of all pairs of an arm and an environment: which were pulled, and which have a score."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints


class PairStatus(IntEnum):
    """Status of a pair of an arm and an environment: free, pending, scored or excluded."""

    FREE = 0  # may be asked for
    PENDING = 1
    RECORDED = 2  # has a score
    EXCLUDED = 3  # was cancelled: its score will never arrive


class PairTable:
    """Table of the status and the score of each pair of an arm and an environment.

    The rows are the environments in a random order, which depends on the seed alone.

    Attributes
    ----------
    labels : labels of the environments, in the random order.
    row : row of each label.
    status : (environments, arms) status of each pair.
    score : (environments, arms) scores in which high is good; 0 where there is none.
    active : numbers of the arms that may be asked for.
    score_version : a number that changes with every recorded score.
    """

    def __init__(self, labels: Sequence[Any], arms: int, seed: int) -> None:
        order = sorted(range(len(labels)), key=lambda i: _sort_key(seed, i))
        self.labels = [labels[i] for i in order]
        self.row = {label: row for row, label in enumerate(self.labels)}
        self.status = np.zeros((len(labels), arms), np.int8)
        self.score = np.zeros((len(labels), arms))
        self.score_version = 0
        self.set_active(range(arms))

    def set_active(self, active: Iterable[int], arms: int | None = None) -> None:
        """Change which arms may be pulled, and add arms if their new number is given."""
        self.active = np.array(list(active), np.int64)
        more = 0 if arms is None else arms - self.status.shape[1]
        if more > 0:
            self.status = np.pad(self.status, ((0, 0), (0, more)))
            self.score = np.pad(self.score, ((0, 0), (0, more)))
        self.score_version += 1
        self._find_patterns()

    def _find_patterns(self) -> None:
        """Find environments that are alike: those in which the same arms were pulled or excluded."""
        classes = _CLASS[self.status[:, self.active]]
        patterns, pattern_of, counts = np.unique(classes, axis=0, return_inverse=True, return_counts=True)
        self._patterns: list[Any] = list(patterns)
        self._numbers = {pattern.tobytes(): i for i, pattern in enumerate(patterns)}
        self._counts = counts.tolist()
        self._pattern_of = pattern_of.reshape(-1)

    def set(self, row: int, arm: int, status: PairStatus, score: float = 0.0) -> None:
        """Change the status and the score of one arm in one environment."""
        self.score_version += status == PairStatus.RECORDED
        self.status[row, arm], self.score[row, arm] = status, score
        pattern = _CLASS[self.status[row, self.active]]
        number = self._numbers.setdefault(pattern.tobytes(), len(self._patterns))
        if number == len(self._patterns):
            self._patterns.append(pattern)
            self._counts.append(0)
        self._counts[self._pattern_of[row]] -= 1
        self._counts[number] += 1
        self._pattern_of[row] = number

    def patterns(self) -> tuple[Floats, Any, Floats, Ints]:
        """Return, for each set of environments alike in their pulled arms, these arms and the set's size.

        Only active arms have columns.
        """
        numbers = np.flatnonzero(self._counts)
        classes = np.array([self._patterns[i] for i in numbers])
        counts = np.array(self._counts, float)[numbers]
        return (classes == 1).astype(float), classes == 0, counts, numbers

    def first_row(self, pattern: int) -> int:
        """Return the first environment, in random order, with a given pattern of pulled and free arms."""
        return int(np.argmax(self._pattern_of == pattern))

    def has_free_pair(self) -> bool:
        """Return whether any active arm may still be pulled in any environment."""
        return bool((self.status[:, self.active] == PairStatus.FREE).any())

    @property
    def has_score(self) -> bool:
        """Whether any active arm has a score in any environment."""
        return bool((self.status[:, self.active] == PairStatus.RECORDED).any())

    def contents(self) -> list[Any]:
        """Return the status and the score of all cells as arrays, from which `refill` restores them."""
        return [self.status, self.score]

    def refill(self, contents: Any) -> None:
        """Restore the status and the score of all cells; the active arms must be the same as when saved."""
        self.status[:], self.score[:] = contents
        self.set_active(self.active)

    def recorded(self) -> tuple[Floats, Floats]:
        """Return a 0/1 array of which active arms have a score in each environment, and the scores.

        Environments without any score are left out.
        """
        recorded = self.status[:, self.active] == PairStatus.RECORDED
        used = recorded.any(axis=1)
        has_score = recorded[used].astype(float)
        return has_score, self.score[used][:, self.active] * has_score


_CLASS = np.array([0, 1, 1, 2], np.int8)  # class of each status in a pattern: free, asked, excluded


def _sort_key(seed: int, number: int) -> bytes:
    """Return a random 64-bit number as bytes, the same in every version of Python and NumPy."""
    return hashlib.blake2b(f"{seed} {number}".encode(), digest_size=8).digest()
