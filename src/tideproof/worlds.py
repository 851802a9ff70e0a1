"""What a world is: arms, noise, how long environments last and how they shift.

A world only describes; the kernels draw it, as a pure function of (seed, replication, step). All
descriptions are frozen, check themselves when they are made and can be written as plain dicts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, Literal

import numpy as np

from tideproof.checks import finite, whole
from tideproof.core.arrays import Floats
from tideproof.errors import InputError, UnknownName
from tideproof.kernels import world as kinds
from tideproof.kernels.world import Numbers
from tideproof.words import listed


def _set(made: object, **values: Any) -> None:
    """Set fields of a frozen dataclass that is being made."""
    for name, value in values.items():
        object.__setattr__(made, name, value)


def _listed(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{name} must be a list of numbers, not {given!r}")
    values = tuple(given)
    if not values:
        raise InputError(f"{name} must not be empty")
    return values


@dataclass(frozen=True)
class Uniform:
    """Shifts drawn anew for each environment, uniformly between `low` and `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _set(self, low=finite("low", self.low), high=finite("high", self.high))
        if self.low > self.high:
            raise InputError(f"low must not be above high: {self.low:g} > {self.high:g}")

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kinds.UNIFORM, "shift_a": self.low, "shift_b": self.high}


@dataclass(frozen=True)
class Normal:
    """Shifts drawn anew for each environment, normal with that mean and standard deviation."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        _set(self, mean=finite("mean", self.mean), sd=finite("sd", self.sd, 0.0))

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kinds.NORMAL, "shift_a": self.mean, "shift_b": self.sd}


@dataclass(frozen=True)
class RandomWalk:
    """Shifts that wander: each is the one before plus a normal step with standard deviation `sd`.

    `start` is the level before the first environment, which already makes a step from it.
    """

    sd: float
    start: float = 0.0

    def __post_init__(self) -> None:
        _set(self, sd=finite("sd", self.sd, 0.0), start=finite("start", self.start))

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kinds.WALK, "shift_a": self.start, "shift_b": self.sd}


@dataclass(frozen=True)
class Weekly:
    """Shifts that repeat: environment j has `pattern[j % len(pattern)]`, plus normal noise of `sd`.

    Seven values and environments of one day make a week; any other period does as well.
    """

    pattern: Sequence[float]
    sd: float = 0.0

    def __post_init__(self) -> None:
        pattern = tuple(finite("a shift of the pattern", shift) for shift in _listed("pattern", self.pattern))
        _set(self, pattern=pattern, sd=finite("sd", self.sd, 0.0))

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kinds.WEEKLY, "shift_b": self.sd, "pattern": np.array(self.pattern)}


@dataclass(frozen=True)
class NoShift:
    """No shift at all: the stationary world of classical bandits."""

    def _numbers(self) -> dict[str, Any]:
        return {"shift": kinds.NONE}


@dataclass(frozen=True)
class Geometric:
    """Environments that end with the same probability after each step, from `minimum` steps on."""

    mean: float
    minimum: int = 1

    def __post_init__(self) -> None:
        minimum = whole("minimum", self.minimum, 1)
        _set(self, mean=finite("mean length", self.mean, minimum), minimum=minimum)

    def _numbers(self) -> dict[str, Any]:
        """Return what the kernel needs.

        The length is minimum + floor(ln u / ln q) with q the probability to go on. Its mean is
        minimum + q/(1 - q), so ln q = -ln(1 + 1/(mean - minimum)).
        """
        more = self.mean - self.minimum
        log_q = -math.log1p(1.0 / more) if more > 0.0 else -math.inf
        return {"length": kinds.GEOMETRIC, "length_a": float(self.minimum), "length_b": log_q}


@dataclass(frozen=True)
class Lengths:
    """Environments of exactly these lengths, one after the other; the list starts over at its end."""

    values: Sequence[int]

    def __post_init__(self) -> None:
        _set(self, values=tuple(whole("a length", value, 1) for value in _listed("lengths", self.values)))

    def _numbers(self) -> dict[str, Any]:
        return {"length": kinds.LISTED, "lengths": np.array(self.values, np.int64)}


@dataclass(frozen=True)
class StudentT:
    """Heavy-tailed noise: Student's t with more than 2 degrees of freedom, scaled to the stated sigma."""

    freedom: float

    def __post_init__(self) -> None:
        _set(self, freedom=finite("freedom", self.freedom))
        if self.freedom <= 2.0:
            raise InputError(f"freedom must be above 2, or sigma is infinite; not {self.freedom:g}")

    def _numbers(self) -> dict[str, Any]:
        return {"freedom": self.freedom}


Shifts = Uniform | Normal | RandomWalk | Weekly | NoShift
LengthsLike = tuple[int, int] | Geometric | Lengths | None


@dataclass(frozen=True)
class World:
    """Arms whose rewards all move together: r = means[arm] + shift + sigma * noise.

    Parameters
    ----------
    means
        One for each arm. Arms may tie for the best: selecting any of them is right.
    sigma
        Standard deviation of the noise: one number, or one for each arm.
    lengths
        Steps an environment lasts: a pair (each length between them equally likely), `Geometric`,
        `Lengths`, or None for one environment for ever.
    shifts
        `Uniform`, `Normal`, `RandomWalk`, `Weekly` or `NoShift`.
    noise
        `"normal"` or `StudentT`.

    Examples
    --------
    >>> world = World(means=[1.0, 1.2, 0.9], sigma=0.5, lengths=(5, 9), shifts=Normal(0, 3))
    >>> world.arms, world.best
    (3, (1,))
    >>> World(means=[1.0])
    Traceback (most recent call last):
    tideproof.errors.InputError: a world needs at least two arms, not 1
    """

    means: Sequence[float]
    sigma: float | Sequence[float] = 1.0
    lengths: LengthsLike = (2, 50)
    shifts: Shifts = Uniform(0.0, 20.0)
    noise: Literal["normal"] | StudentT = "normal"

    def __post_init__(self) -> None:
        means = tuple(finite("a mean", mean) for mean in _listed("means", self.means))
        if len(means) < 2:
            raise InputError(f"a world needs at least two arms, not {len(means)}")
        if not isinstance(self.shifts, Shifts):
            allowed = listed((f"{each.__name__}(...)" for each in Shifts.__args__), "or")
            raise InputError(f"shifts must be {allowed}, not {self.shifts!r}")
        if self.noise != "normal" and not isinstance(self.noise, StudentT):
            raise InputError(f"noise must be 'normal' or StudentT(...), not {self.noise!r}")
        _set(self, means=means, sigma=_sigma(self.sigma, len(means)), lengths=_lengths(self.lengths))

    @property
    def arms(self) -> int:
        """The number of arms."""
        return len(self.means)

    @property
    def gaps(self) -> Floats:
        """What selecting each arm costs, (K,): the best mean minus its own."""
        means = np.array(self.means)
        gaps: Floats = means.max() - means
        return gaps

    @property
    def best(self) -> tuple[int, ...]:
        """The best arm; several if they tie."""
        return tuple(np.flatnonzero(self.gaps == 0.0).tolist())

    def numbers(self) -> Numbers:
        """Return the world as the kernels read it."""
        blank = Numbers(
            means=np.array(self.means),
            sigmas=np.full(self.arms, self.sigma),
            freedom=0.0,
            length=kinds.NEVER,
            length_a=0.0,
            length_b=0.0,
            lengths=np.zeros(0, np.int64),
            shift=kinds.NONE,
            shift_a=0.0,
            shift_b=0.0,
            pattern=np.zeros(0),
        )
        chosen = self.shifts._numbers()
        if isinstance(self.lengths, tuple):
            low, high = map(float, self.lengths)
            chosen |= {"length": kinds.BETWEEN, "length_a": low, "length_b": high}
        elif self.lengths is not None:
            chosen |= self.lengths._numbers()
        if isinstance(self.noise, StudentT):
            chosen |= self.noise._numbers()
        return blank._replace(**chosen)

    def to_dict(self) -> dict[str, Any]:
        """Return the world as numbers, strings, lists and dicts.

        >>> world = mdm(3, "stationary")
        >>> World.from_dict(world.to_dict()) == world
        True
        """
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> World:
        """Return the world that `to_dict` wrote."""
        for name in plain:
            if name not in cls.__dataclass_fields__:
                raise UnknownName.among("part of a world", name, cls.__dataclass_fields__)
        return cls(**{name: _part(value) for name, value in plain.items()})


SCENARIOS: dict[str, Callable[[int], tuple[LengthsLike, Shifts]]] = {
    "worst-case": lambda arms: ((2, 2), Uniform(0.0, 20.0)),
    "cannot-sample-all-arms": lambda arms: ((2, arms - 1), Uniform(0.0, 20.0)),
    "sample-1-to-10": lambda arms: ((arms, 10 * arms), Uniform(0.0, 20.0)),
    "general": lambda arms: ((2, 10 * arms), Uniform(0.0, 20.0)),
    "stationary": lambda arms: (None, NoShift()),
}


def mdm(arms: int, scenario: str = "general", delta: float = 0.5, sigma: float = 1.0) -> World:
    """Return the world of monotone decreasing means: each arm is `delta` better than the one before.

    Parameters
    ----------
    arms
        Their number; the last is the best.
    scenario
        How long environments last, for K arms: `"worst-case"` 2 steps, `"cannot-sample-all-arms"`
        2 to K - 1, `"sample-1-to-10"` K to 10 K, `"general"` 2 to 10 K; shifts are uniform between
        0 and 20. `"stationary"` is one environment for ever, without a shift.
    delta
        The gap between neighbours.
    sigma
        Standard deviation of the noise.

    Examples
    --------
    >>> mdm(5).means, mdm(5).lengths
    ((0.0, 0.5, 1.0, 1.5, 2.0), (2, 50))
    """
    means = [finite("delta", delta, 0.0) * arm for arm in range(whole("arms", arms, 2))]
    return _scenario(means, scenario, sigma)


def slippage(arms: int, scenario: str = "general", delta: float = 0.5, sigma: float = 1.0) -> World:
    """Return the slippage world: all arms are equal but the last, which is `delta` better.

    Parameters are those of `mdm`.

    Examples
    --------
    >>> slippage(5, "worst-case").means
    (0.0, 0.0, 0.0, 0.0, 0.5)
    """
    means = [0.0] * (whole("arms", arms, 2) - 1) + [finite("delta", delta, 0.0)]
    return _scenario(means, scenario, sigma)


def as_world(given: Any) -> World:
    """Return `given` if it is a world."""
    if not isinstance(given, World):
        raise InputError(f"world must be tp.mdm(...), tp.slippage(...) or tp.World(...), not {given!r}")
    return given


def _scenario(means: list[float], scenario: str, sigma: float) -> World:
    if scenario not in SCENARIOS:
        raise UnknownName.among("scenario", scenario, SCENARIOS)
    if scenario == "cannot-sample-all-arms" and len(means) < 3:
        raise InputError(f"scenario {scenario!r} needs at least 3 arms, not {len(means)}")
    lengths, shifts = SCENARIOS[scenario](len(means))
    return World(means, sigma, lengths, shifts)


def _sigma(given: Any, arms: int) -> float | tuple[float, ...]:
    if np.ndim(given) == 0:
        return finite("sigma", given, 0.0)
    if len(given) != arms:
        raise InputError(f"sigma must be one number or one for each of the {arms} arms, not {len(given)}")
    return tuple(finite("sigma", sigma, 0.0) for sigma in given)


def _lengths(given: Any) -> LengthsLike:
    if given is None or isinstance(given, (Geometric, Lengths)):
        return given
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InputError(f"lengths must be a pair, Geometric(...), Lengths(...) or None, not {given!r}")
    shortest = whole("the shortest length", given[0], 1)
    return shortest, whole(f"the longest length (the shortest is {shortest})", given[1], shortest)


_PARTS: dict[str, type[Any]] = {
    part.__name__: part
    for part in (Uniform, Normal, RandomWalk, Weekly, NoShift, Geometric, Lengths, StudentT)
}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {"kind": type(value).__name__} | {name: _plain(each) for name, each in asdict(value).items()}
    return list(value) if isinstance(value, tuple) else value


def _part(plain: Any) -> Any:
    if not isinstance(plain, Mapping):
        return plain
    rest = dict(plain)
    kind = rest.pop("kind", None)
    if kind not in _PARTS:
        raise UnknownName.among("part of a world", kind, _PARTS)
    return _PARTS[kind](**rest)
