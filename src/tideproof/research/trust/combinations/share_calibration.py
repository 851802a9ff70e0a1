"""Settings of the trust ledger for the sample ratio test: how often it alarms although shares are correct.

An alarm is a p-value below 0.05 of the totals, or of changes between environments. Neither may alarm in more
than 5 % of logs whose shares are correct and do not change.
"""

from __future__ import annotations

import zlib
from typing import Literal, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.cells import Cells, UnitRewards, sum_by_index
from tideproof.stats.diagnostics.sample_ratio import SampleRatio, sample_ratio

_LEVEL = 0.05


class ShareSetting(NamedTuple):
    """One kind of simulated log with correct shares of the traffic.

    Attributes
    ----------
    shares : share of each arm, up to a factor.
    environments, rows : number of environments; average rows of each, or new units.
    visits : rows of a unit; 0 without units. Numbers of rows have a long tail.
    by_row : whether each row of a unit is assigned by itself.
    late : number of environments before the last arm is added.
    test : the tested statement: totals, or changes between environments.
    """

    shares: tuple[float, ...]
    environments: int
    rows: int
    visits: int = 0
    by_row: bool = False
    late: int = 0
    test: Literal["totals", "changes"] = "totals"

    @property
    def name(self) -> str:
        """Name of this kind of simulated log, which seeds its random numbers."""
        shares = ":".join(f"{share:g}" for share in self.shares)
        units = f", units with {self.visits} rows" * (self.visits > 0) + ", rows assigned" * self.by_row
        late = f", the last arm added after {self.late}" * (self.late > 0)
        return f"shares {shares}, {self.environments} environments of {self.rows}{units}{late}, {self.test}"


_TOTALS = (
    ShareSetting((95, 5), 168, 12),
    ShareSetting((0.5, 0.5), 168, 60),
    ShareSetting((80, 15, 5), 168, 12),
    ShareSetting((5, 4, 3, 2, 1), 20, 15),
    ShareSetting((1,) * 10, 10, 5),
    ShareSetting((1000, 1000, 1), 60, 10),
    ShareSetting((99, 1), 300, 5),
    ShareSetting((60, 30, 10), 168, 12, late=80),
    ShareSetting((90, 10), 14, 60, visits=4),
    ShareSetting((1, 1, 1), 14, 60, visits=4, late=5),
    ShareSetting((90, 10), 14, 60, visits=4, by_row=True),
)


def settings() -> list[ShareSetting]:
    """Return all kinds of logs, each for the test of totals and, if shares do not change, of changes."""
    return [setting._replace(test=test) for setting in _TOTALS for test in ("totals", "changes")]


def play(setting: ShareSetting, number: int) -> bool:
    """Simulate one log with the intended traffic shares; return whether the test wrongly reports others."""
    found = run_test(setting, number)
    return (found.p if setting.test == "totals" else found.drift_p) < _LEVEL


def run_test(setting: ShareSetting, number: int, shares: tuple[float, ...] | None = None) -> SampleRatio:
    """Return the result of testing whether a simulated log has the intended traffic shares."""
    cells = draw_traffic(setting if shares is None else setting._replace(shares=shares), number)
    return sample_ratio(cells, dict(enumerate(setting.shares)), 1)


def draw_traffic(setting: ShareSetting, number: int) -> Cells:
    """Simulate the numbers of rows by arm and environment, and by unit."""
    random = np.random.default_rng((number, zlib.crc32(setting._replace(test="totals").name.encode())))
    K, J, total = len(setting.shares), setting.environments, setting.environments * setting.rows
    start = np.repeat(np.arange(J), setting.rows)
    if not setting.visits:
        return _count(_assign(setting, start, random), start, K, J, None)
    rows = np.minimum(random.zipf(2.0, total), 10 * setting.visits) + random.poisson(
        setting.visits / 2, total
    )
    unit = np.repeat(np.arange(total), rows)
    environment = np.maximum(
        start[unit], random.integers(J, size=unit.size) * (random.random(unit.size) < 0.5)
    )
    environment[np.cumsum(rows) - rows] = start  # the first row, on which the unit is assigned
    arm = _assign(setting, environment, random) if setting.by_row else _assign(setting, start, random)[unit]
    return _count(arm, environment, K, J, unit)


def _assign(setting: ShareSetting, environment: Ints, random: np.random.Generator) -> Ints:
    """Assign an arm at random in each of the given environments; the last arm may be added late."""
    share = np.array(setting.shares, float)
    early = share * (np.arange(share.size) < share.size - 1)
    bounds = np.array([np.cumsum(x / x.sum())[:-1] for x in (early, share)])
    at = bounds[(environment >= setting.late).astype(np.int64)]
    return np.asarray(np.sum(random.random((environment.size, 1)) > at, axis=1))


def _count(arm: Ints, environment: Ints, K: int, J: int, unit: Ints | None) -> Cells:
    """Return counts of rows by arm and environment, as statistics of rewards of 0."""
    cell, of = np.unique(environment * K + arm, return_inverse=True)
    n, zero = sum_by_index(of, np.ones(of.size), cell.size), np.zeros(cell.size)
    units: UnitRewards | None = None
    if unit is not None:
        part, which = np.unique(unit * cell.size + of, return_inverse=True)
        rows: Floats = sum_by_index(which, np.ones(which.size), part.size)
        units = UnitRewards(part // cell.size, part % cell.size, rows, np.zeros(part.size))
    return Cells(list(range(K)), list(range(J)), cell % K, cell // K, n, zero, zero, units=units)
