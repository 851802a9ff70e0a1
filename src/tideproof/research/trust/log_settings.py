"""The kinds of logs that are simulated to check promises, as a table with one line for each kind."""

from __future__ import annotations

from typing import NamedTuple

from tideproof.research.trust.ledger_part import filter_by_name, no_match_error


class Setting(NamedTuple):
    """A kind of simulated log: its rewards, arms, traffic, shifts between environments, and true lifts.

    Attributes
    ----------
    rewards : the distribution: conversions (0 or 1), counts (Poisson), clumps (overdispersed counts), money
        (lognormal amounts whose logarithm has the standard deviation 1), fortunes (the same with 1.5),
        seconds (the same with 0.2), unlike (the same with 0.85 for the first arm to 1 for the last), normal
        (standard deviation 1), uneven (normal, with 1 for the first arm to 3 for the last).
    level : the rate of conversions, the mean of counts, the share of nonzero rewards for money.
    arms, environments : their numbers.
    pulls : average number of rewards of an arm.
    allocation : how traffic is split, a key of `random_logs.SPLITS`.
    tide, swell : how an environment changes rewards (none, adds, multiplies, odds), and its typical size.
    truth, lift : which arms are better, a key of `random_logs.TRUTHS`, and by how much.
    """

    rewards: str
    level: float
    arms: int
    pulls: int
    environments: int
    allocation: str
    tide: str
    swell: float
    truth: str
    lift: float

    @property
    def name(self) -> str:
        """Name of a kind of log; it seeds the random numbers, so the same name gives the same logs."""
        return "-".join(f"{value:g}" if isinstance(value, float) else str(value) for value in self)


_KINDS = (str, float, int, int, int, str, str, float, str, float)  # types of the fields of a setting


def read_settings(table: str) -> tuple[Setting, ...]:
    """Parse a table of kinds of simulated logs: a line of headings, then one line for each kind."""
    lines = [line.split() for line in table.strip().splitlines()[1:] if line.strip()]
    return tuple(Setting(*(read(x) for read, x in zip(_KINDS, line, strict=True))) for line in lines)


SETTINGS = read_settings("""
rewards      level   arms   pulls  environments  allocation  tide        swell  truth     lift
conversions  0.5        2      20             3  even        none        0      equal     0
conversions  0.5        2     200            10  even        adds        0.5    equal     0
conversions  0.5        2    2000            20  even        multiplies  0.2    equal     0
conversions  0.5        5     100            10  even        adds        0.4    first     0.2
conversions  0.5       10     200            20  drifting    adds        0.4    near      0.5
conversions  0.5        5     400            12  drifting    odds        0.8    last      0.5
conversions  0.3        2     100             5  even        odds        0.8    equal     0
conversions  0.3        3     150            30  uneven      odds        0.8    steps     0.5
conversions  0.3        2    1000           400  even        adds        0.7    last      0.1
conversions  0.2        5      40             5  even        none        0      equal     0
conversions  0.2        5     400            20  drifting    multiplies  0.4    first     0.2
conversions  0.2       10     300            30  wild        adds        0.7    last      0.2
conversions  0.1        2      50             3  even        none        0      equal     0
conversions  0.1        2     300            14  drifting    multiplies  0.5    equal     0
conversions  0.1        3    1000            14  uneven      multiplies  0.3    last      0.2
conversions  0.1       10     100            20  even        multiplies  0.5    equal     0
conversions  0.1       20     200            40  threes      multiplies  0.5    steps     0.5
conversions  0.1       40     100            20  wild        multiplies  0.3    first     0.5
conversions  0.05       2     200            10  even        adds        0.8    equal     0
conversions  0.05       2   10000           100  drifting    multiplies  0.4    last      0.1
conversions  0.05       3     600            60  threes      multiplies  0.6    last      0.12
conversions  0.05       5    2000            30  drifting    adds        0.8    near      0.4
conversions  0.05      10    1000            50  drifting    multiplies  0.5    near      0.6
conversions  0.02       2     500            10  even        multiplies  0.5    equal     0
conversions  0.02       2    5000            28  uneven      multiplies  0.5    first     0.1
conversions  0.02       5     500             7  uneven      adds        0.8    equal     0
conversions  0.02       5    4000            14  drifting    multiplies  0.5    last      0.2
conversions  0.02      10    3000            30  wild        multiplies  0.6    steps     0.3
conversions  0.02      40     500            30  uneven      multiplies  0.4    first     0.3
conversions  0.01       2     400             7  even        none        0      equal     0
conversions  0.01       2    3000           400  even        multiplies  0.5    equal     0
conversions  0.01       3   20000            14  drifting    multiplies  0.4    near      0.1
conversions  0.01      10     500            20  drifting    multiplies  0.5    equal     0
conversions  0.0065    34     400            20  drifting    multiplies  0.3    first     0.5
conversions  0.0065    34     400            20  drifting    none        0      equal     0
conversions  0.005      2   10000            28  drifting    adds        0.8    equal     0
conversions  0.005      5    3000            14  uneven      multiplies  0.5    last      0.5
conversions  0.001      2    3000             7  even        multiplies  0.3    equal     0
conversions  0.001      2  100000            28  even        multiplies  0.5    last      0.1
conversions  0.001      2  100000            28  drifting    multiplies  0.5    equal     0
conversions  0.001      5   30000            14  drifting    multiplies  0.3    first     0.3
conversions  0.001      5   10000            14  uneven      none        0      equal     0
conversions  0.05       3    5000            30  relay       multiplies  0.8    low-end   0.3
conversions  0.05       3    5000            30  relay       adds        0.8    high-end  0.3
counts       0.02       3    1000            14  drifting    multiplies  0.5    equal     0
counts       0.3        2     200            10  even        multiplies  0.5    equal     0
counts       0.3        5     300            20  uneven      multiplies  0.4    last      0.2
counts       3          3      30             6  even        multiplies  0.4    first     0.1
counts       3         10     100            30  drifting    multiplies  0.4    near      0.2
clumps       0.3        2     400            10  even        multiplies  0.4    equal     0
clumps       1          5     400            20  drifting    multiplies  0.5    last      0.2
clumps       0.1        3    2000            14  uneven      multiplies  0.4    equal     0
money        1          2     100             5  even        none        0      equal     0
money        1          2     400            10  drifting    multiplies  0.4    equal     0
money        1          5     500            20  uneven      multiplies  0.4    last      0.2
money        1          3     300            10  drifting    adds        0.5    first     0.2
money        1          3    2000            30  relay       multiplies  0.6    low-end   0.2
money        0.05       2    2000            14  even        multiplies  0.4    equal     0
money        0.05       6    1500            14  uneven      none        0      equal     0
money        0.05       5    4000            14  drifting    multiplies  0.4    first     0.3
money        0.01       2   10000            14  even        multiplies  0.3    last      0.3
money        0.01       6    3000            10  uneven      none        0      equal     0
fortunes     1          2     500            10  even        multiplies  0.4    equal     0
fortunes     1          5    1000            14  uneven      multiplies  0.4    equal     0
fortunes     0.1        2    3000            14  uneven      none        0      equal     0
money        1          4     300            15  drifting    multiplies  0.8    last      0.2
fortunes     1          3     600            14  drifting    multiplies  0.6    first     0.4
seconds      1          4     100            40  drifting    multiplies  2      last      0.05
unlike       1          2     150             5  even        multiplies  0.4    equal     0
normal       0          2      20             3  even        adds        2      equal     0
normal       0          3      30            10  drifting    adds        2      steps     1
normal       0          5     100            20  drifting    adds        5      near      0.8
normal       0         10      60           100  threes      adds        5      last      0.5
normal       0         40      50            20  uneven      adds        2      first     0.5
normal       0          2    1000           400  even        adds        5      last      0.1
uneven       0          2     250             5  uneven      adds        2      equal     0
uneven       0          5     100            20  even        adds        2      equal     0
uneven       0          5     200            20  uneven      adds        2      last      1
uneven       0         10     200            30  drifting    adds        2      near      1.5
""")

# Settings with two arms. The power to find the better arm is compared with the test of Mantel and Haenszel
# (conversions) or of Welch (other rewards).
POWER_SETTINGS = read_settings("""
rewards      level  arms  pulls  environments  allocation  tide        swell  truth  lift
conversions  0.5       2    200            10  even        none        0      last   0.2
conversions  0.2       2    500            10  even        multiplies  0.3    last   0.25
conversions  0.05      2   2000            14  even        multiplies  0.5    last   0.3
conversions  0.05      2   1000           200  even        multiplies  0.5    last   0.5
conversions  0.01      2   5000            14  even        multiplies  0.5    last   0.5
conversions  0.005     2   2000             7  even        none        0      last   1.5
money        1         2    400             5  even        none        0      last   0.25
money        0.05      2   3000             5  even        none        0      last   0.5
fortunes     1         2    600             5  even        none        0      last   0.5
counts       0.3       2    400             5  even        none        0      last   0.3
normal       0         2     50             3  even        none        0      last   0.5
uneven       0         2     80             5  even        none        0      last   1
""")


def chosen(pattern: str) -> tuple[tuple[Setting, ...], tuple[Setting, ...]]:
    """Return the kinds of simulated logs whose names match a pattern.

    The kinds in the first result test error rates, and those in the second test power. In a pattern, * stands
    for any text.
    """
    found = tuple(filter_by_name(SETTINGS, pattern)), tuple(filter_by_name(POWER_SETTINGS, pattern))
    if not any(found):
        raise no_match_error("setting", pattern, SETTINGS)
    return found
