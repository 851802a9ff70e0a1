"""Random numbers from Threefry-2x64-13, a published counter-based generator.

The key is (seed, replication) and the counter is (step, purpose). So every random number of a run is a pure
function of its position: there is no state, and the order of evaluation does not matter.

Salmon, Moraes, Dror, Shaw (2011), Parallel random numbers: as easy as 1, 2, 3.
Wichura (1988), Algorithm AS 241: the percentage points of the normal distribution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_linker import kernel

# Purposes of random numbers. They are the upper half of the second counter word. The lower half is the lane:
# the index of a random number among those with the same purpose and step.
LANE_BITS = np.uint64(32)
NOISE = np.uint64(0)
ENVIRONMENT = np.uint64(1)
ASK = np.uint64(2)
TELL = np.uint64(3)
SELECT = np.uint64(4)
DRIFT = np.uint64(5)
CELL = np.uint64(6)
LOUDNESS = np.uint64(7)

_PARITY = np.uint64(0x1BD11BDAA9FC1A22)
_64 = np.uint64(64)
_12 = np.uint64(12)
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)
_R0, _R1, _R2, _R3 = np.uint64(16), np.uint64(42), np.uint64(12), np.uint64(31)
_R4, _R5, _R6, _R7 = np.uint64(16), np.uint64(32), np.uint64(24), np.uint64(21)
_STEP = 2.0**-52


class Draw(NamedTuple):
    """Position in a stream of random numbers: the key (seed, replication) and the counter (purpose, step)."""

    seed: np.uint64
    replication: np.uint64
    purpose: np.uint64
    step: np.uint64


@kernel
def _mix(x0, x1, rotation):
    """Return the two 64-bit words after one round of the random number generator Threefry."""
    x0 = x0 + x1
    x1 = (x1 << rotation) | (x1 >> (_64 - rotation))
    return x0, x1 ^ x0


@kernel
def threefry(counter0, counter1, key0, key1):
    """Return two independent 64-bit words for a counter and a key: 13 rounds of Threefry-2x64."""
    key2 = _PARITY ^ key0 ^ key1
    x0, x1 = counter0 + key0, counter1 + key1
    x0, x1 = _mix(x0, x1, _R0)
    x0, x1 = _mix(x0, x1, _R1)
    x0, x1 = _mix(x0, x1, _R2)
    x0, x1 = _mix(x0, x1, _R3)
    x0, x1 = x0 + key1, x1 + key2 + _1
    x0, x1 = _mix(x0, x1, _R4)
    x0, x1 = _mix(x0, x1, _R5)
    x0, x1 = _mix(x0, x1, _R6)
    x0, x1 = _mix(x0, x1, _R7)
    x0, x1 = x0 + key2, x1 + key0 + _2
    x0, x1 = _mix(x0, x1, _R0)
    x0, x1 = _mix(x0, x1, _R1)
    x0, x1 = _mix(x0, x1, _R2)
    x0, x1 = _mix(x0, x1, _R3)
    x0, x1 = x0 + key0, x1 + key1 + _3
    return _mix(x0, x1, _R4)


@kernel
def unit(word):
    """Map a random 64-bit word to a random number between 0 and 1, both excluded.

    The number has 52 random bits plus one half, so that 1 is never reached.
    """
    return (np.float64(word >> _12) + 0.5) * _STEP


@kernel
def uniform(draw, lane):
    """Return the uniform random number with index `lane` at the position `draw`, between 0 and 1."""
    counter1 = (draw.purpose << LANE_BITS) | np.uint64(lane)
    return unit(threefry(draw.step, counter1, draw.seed, draw.replication)[0])


@kernel
def below(draw, lane, n):
    """Return a random integer from 0 to n - 1; all are equally likely (to within n / 2**52)."""
    return int(uniform(draw, lane) * n)


@kernel
def normal(draw, lane):
    """Return the standard normal random number with index `lane` at the position `draw`."""
    return normal_quantile(uniform(draw, lane))


# AS 241: numerator and denominator of a rational function, highest power first, for the centre, the tails
# and the far tails.
# fmt: off
_MIDDLE = (
    2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
    13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608,
    5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
    5394.1960214247511077, 687.1870074920579083, 42.313330701600911252,
)
_TAIL = (
    7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
    3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734,
    1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
    0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187,
)
_FAR = (
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
    0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772,
    2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
    7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769,
)
# fmt: on


@kernel
def normal_quantile(p):
    """Return the standard normal quantile of p, for 0 < p < 1, with a relative error of 1e-16 (AS 241)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        c, r, factor = _MIDDLE, 0.180625 - q * q, q
    else:
        root = math.sqrt(-math.log(min(p, 1.0 - p)))
        c, r, factor = _TAIL, root - 1.6, -1.0 if q < 0.0 else 1.0
        if root > 5.0:
            c, r = _FAR, root - 5.0
    top = (((c[0] * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]
    top = ((top * r + c[5]) * r + c[6]) * r + c[7]
    low = (((c[8] * r + c[9]) * r + c[10]) * r + c[11]) * r + c[12]
    low = ((low * r + c[13]) * r + c[14]) * r + 1.0
    return factor * top / low
