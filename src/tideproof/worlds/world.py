"""A world: arms, rewards, how long environments last and how they shift."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, cast, get_args

import numpy as np

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.array_layout import Floats
from tideproof.errors import InputError, UnknownName
from tideproof.kernels.simulate import world_draws as kernel
from tideproof.kernels.simulate.world_draws import WorldParameters
from tideproof.text import join_names
from tideproof.worlds.environment_lengths import Length
from tideproof.worlds.noise_laws import Noise
from tideproof.worlds.reward_laws import PLAIN, Kind, Money, Rewards
from tideproof.worlds.shift_processes import Shift, Uniform
from tideproof.worlds.tide_drifts import Drift
from tideproof.worlds.world_part import WorldPart, as_tuple, set_fields
from tideproof.worlds.wrong_cells import Outlier

Lasting = tuple[int, int] | Length | None


@dataclass(frozen=True)
class World:
    """Arms whose rewards all move together: r = means[arm] + shift + sigma * noise, or of another law.

    Parameters
    ----------
    means
        One for each arm, where the shift is 0. Arms may tie for the best: selecting any of them is right.
    sigma
        Standard deviation of the noise of normal rewards: one number, or one for each arm.
    lengths
        Steps an environment lasts: a pair (each length between them equally likely), `Geometric`,
        `Lengths`, or None for one environment for ever.
    shifts
        `Uniform`, `Normal`, `RandomWalk`, `Weekly` or `NoShift`.
    noise
        Of normal rewards: `"normal"` or `StudentT`.
    rewards
        `"normal"`, mean plus noise; `"conversions"`, 0 or 1; `"counts"`, Poisson numbers; `"money"`,
        lognormal amounts with a standard deviation as large as their mean, or `Money(variation, zeros)`.
        All but the first have no noise but their own and means of at least 0; those of conversions are
        at most 1, of counts 500. Shifts with bounds that lead out of that range are refused; others,
        such as `Normal`, are clipped to it where they do.
    tide
        `"adds"`: a shift is added to all means; `"multiplies"`: a shift s multiplies them by e^s.
    drift
        How the tide moves inside environments, on top of their shift: `Sinusoid`, `Wander`, `Trend`, `Curve`
        or None.
    announced
        Whether policies are told where an environment begins. If not, all is one environment to them.
    interaction
        Standard deviation of what an environment does to one arm alone, drawn anew for each arm and
        environment and added to the shift: one number, or one for each arm.
    noise_by_environment
        Standard deviation of the logarithm of the factor by which an environment multiplies all sigmas; for
        normal rewards.
    outliers
        `Outliers`, cells that are simply wrong, or None.

    Examples
    --------
    >>> world = World(means=[1.0, 1.2, 0.9], sigma=0.5, lengths=(5, 9), shifts=Uniform(0, 3))
    >>> world.arms, world.best
    (3, (1,))
    >>> days = World([0.02, 0.03], shifts=Uniform(-0.5, 0.5), rewards="conversions", tide="multiplies")
    >>> World(means=[0.02, 0.3], shifts=Uniform(0, 2), rewards="conversions", tide="multiplies")
    Traceback (most recent call last):
    tideproof.errors.InputError: means of conversions must be at least 0 and at most 1 wherever the
    shifts lead: 0.3 and a shift of 2 that multiplies make 2.21672
    >>> World(means=[1.0])
    Traceback (most recent call last):
    tideproof.errors.InputError: a world needs at least two arms, not 1
    """

    means: Sequence[float]
    sigma: float | Sequence[float] = 1.0
    lengths: Lasting = (2, 50)
    shifts: Shift = Uniform(0.0, 20.0)  # noqa: RUF009  (frozen)
    noise: Literal["normal"] | Noise = "normal"
    rewards: Kind | Rewards = "normal"
    tide: Literal["adds", "multiplies"] = "adds"
    drift: Drift | None = None
    announced: bool = True
    interaction: float | Sequence[float] = 0.0
    noise_by_environment: float = 0.0
    outliers: Outlier | None = None

    def __post_init__(self) -> None:
        means = tuple(require_finite("a mean", mean) for mean in as_tuple("means", self.means))
        if len(means) < 2:
            raise InputError(f"a world needs at least two arms, not {len(means)}")
        if not isinstance(self.shifts, Shift):
            raise InputError(f"shifts must be {_either(Shift)}, not {self.shifts!r}")
        if self.noise != "normal" and not isinstance(self.noise, Noise):
            raise InputError(f"noise must be {_either(Noise, before=repr('normal'))}, not {self.noise!r}")
        if self.tide not in ("adds", "multiplies"):
            raise InputError(f"tide must be 'adds' or 'multiplies', not {self.tide!r}")
        if self.drift is not None and not isinstance(self.drift, Drift):
            raise InputError(f"drift must be {_either(Drift, after='None')}, not {self.drift!r}")
        if not isinstance(self.announced, bool):
            raise InputError(f"announced must be True or False, not {self.announced!r}")
        if self.outliers is not None and not isinstance(self.outliers, Outlier):
            raise InputError(f"outliers must be {_either(Outlier, after='None')}, not {self.outliers!r}")
        set_fields(
            self,
            means=means,
            sigma=_each("sigma", self.sigma, len(means)),
            interaction=_each("interaction", self.interaction, len(means)),
            noise_by_environment=require_finite("noise_by_environment", self.noise_by_environment, 0.0),
            lengths=_lengths(self.lengths),
            rewards=_rewards(self.rewards),
        )
        if self.rewards != "normal":
            self._check_rewards()

    def _check_rewards(self) -> None:
        """Raise if rewards that are not normal have noise, or a mean that such rewards cannot have."""
        kind = self.rewards if isinstance(self.rewards, str) else type(self.rewards).__name__.lower()
        for name, default in (
            ("sigma", 1.0),
            ("noise", "normal"),
            ("noise_by_environment", 0.0),
            ("outliers", None),
        ):
            if getattr(self, name) != default:
                given = f"{name}={getattr(self, name)!r}"
                raise InputError(f"{given} is for normal rewards; {kind} spread as their mean says")
        numbers = self.numbers()
        more = (0.0, 0.0) if self.drift is None else self.drift._bounds()
        bounds = [a + b for a, b in zip(self.shifts._bounds(), more, strict=True)]
        for shift in (0.0, *filter(math.isfinite, bounds)):
            for arm in range(self.arms):
                mean = kernel.level(numbers, arm, shift)
                if not 0.0 <= mean <= numbers.most:
                    most = "" if numbers.most == math.inf else f" and at most {numbers.most:g}"
                    raise InputError(
                        f"means of {kind} must be at least 0{most} wherever the shifts lead: "
                        f"{self.means[arm]:g} and a shift of {shift:g} that {self.tide} make {mean:g}"
                    )

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

    def numbers(self) -> WorldParameters:
        """Return the world as the kernels read it."""
        blank = WorldParameters(
            means=np.array(self.means),
            sigmas=np.full(self.arms, self.sigma),
            freedom=0.0,
            rewards=kernel.NOISY,
            most=math.inf,
            log_sd=0.0,
            zeros=0.0,
            multiplies=int(self.tide == "multiplies"),
            length=kernel.NEVER,
            length_a=0.0,
            length_b=0.0,
            lengths=np.zeros(0, np.int64),
            shift=kernel.NONE,
            shift_a=0.0,
            shift_b=0.0,
            pattern=np.zeros(0),
            announced=int(self.announced),
            drift=kernel.STEADY,
            drift_a=0.0,
            drift_b=0.0,
            curve=np.zeros(0),
            interactions=np.full(self.arms, self.interaction, np.float64),
            loud=self.noise_by_environment,
            wrong=0.0,
            off=0.0,
        )
        chosen = self.shifts._numbers()
        if self.drift is not None:
            chosen |= self.drift._numbers()
        if isinstance(self.lengths, tuple):
            low, high = map(float, self.lengths)
            chosen |= {"length": kernel.BETWEEN, "length_a": low, "length_b": high}
        elif self.lengths is not None:
            chosen |= self.lengths._numbers()
        if self.outliers is not None:
            chosen |= self.outliers._numbers()
        if isinstance(self.noise, Noise):
            chosen |= self.noise._numbers()
        chosen |= PLAIN[self.rewards] if isinstance(self.rewards, str) else self.rewards._numbers()
        return blank._replace(**chosen)

    def to_dict(self) -> dict[str, Any]:
        """Return the world as numbers, strings, lists and dicts.

        What came to worlds later, from `rewards` on, is left out where it is as ever, so that a world
        is written, and its studies are known, as by older versions.

        >>> world = World([1.0, 2.0], shifts=Uniform(0, 3))
        >>> world.to_dict()["shifts"]
        {'kind': 'Uniform', 'low': 0.0, 'high': 3.0}
        >>> World.from_dict(world.to_dict()) == world
        True
        """
        shown = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        later = {
            "rewards": "normal",
            "tide": "adds",
            "drift": None,
            "announced": True,
            "interaction": 0.0,
            "noise_by_environment": 0.0,
            "outliers": None,
        }
        return {name: value for name, value in shown.items() if later.get(name, ...) != value}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> World:
        """Return the world that `to_dict` wrote."""
        world: World = _made(cls, {name: _part(value) for name, value in plain.items()})
        return world


def as_world(given: Any) -> World:
    """Return `given` if it is a world."""
    if not isinstance(given, World):
        raise InputError(f"world must be tp.mdm(...), tp.slippage(...) or tp.World(...), not {given!r}")
    return given


def _each(name: str, given: Any, arms: int) -> float | tuple[float, ...]:
    """Return a standard deviation, or one for each arm."""
    if np.ndim(given) == 0:
        return require_finite(name, given, 0.0)
    if len(given) != arms:
        raise InputError(f"{name} must be one number or one for each of the {arms} arms, not {len(given)}")
    return tuple(require_finite(name, sd, 0.0) for sd in given)


def _rewards(given: Any) -> Kind | Rewards:
    kinds = get_args(Kind)
    if isinstance(given, Rewards):
        return given
    if isinstance(given, str) and given in kinds:
        return Money() if given == "money" else cast(Kind, given)
    allowed = join_names([*map(repr, kinds), *(f"{kind}(...)" for kind in Rewards.kinds())], "or", most=9)
    raise InputError(f"rewards must be {allowed}, not {given!r}")


def _lengths(given: Any) -> Lasting:
    if given is None or isinstance(given, Length):
        return given
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InputError(f"lengths must be {_either(Length, 'a pair', 'None')}, not {given!r}")
    shortest = require_whole_number("the shortest length", given[0], 1)
    return shortest, require_whole_number(
        f"the longest length (the shortest is {shortest})", given[1], shortest
    )


def _either(part: type[WorldPart], before: str | None = None, after: str | None = None) -> str:
    """Name all kinds of a part, and what is allowed besides."""
    names = [before, *(f"{kind}(...)" for kind in part.kinds()), after]
    return join_names([name for name in names if name is not None], "or", most=len(names))


def _plain(value: Any) -> Any:
    if isinstance(value, WorldPart):
        return {"kind": type(value).__name__} | {name: _plain(each) for name, each in vars(value).items()}
    return list(value) if isinstance(value, tuple) else value


def _part(plain: Any) -> Any:
    if not isinstance(plain, Mapping):
        return plain
    rest, known = dict(plain), WorldPart.kinds()
    kind = rest.pop("kind", None)
    if not isinstance(kind, str) or kind not in known:
        raise UnknownName.with_suggestion("part of a world", kind, known)
    return _made(known[kind], rest)


def _made(kind: Any, given: Mapping[str, Any]) -> Any:
    """Make a dataclass of its fields, or say which one is unknown or lacking."""
    what = "a world" if kind is World else kind.__name__
    known = {field.name: field.default for field in fields(kind)}
    for name in given:
        if name not in known:
            raise UnknownName.with_suggestion(f"part of {what}", name, known)
    for name, default in known.items():
        if default is MISSING and name not in given:
            raise InputError(f"{what} needs {name!r}, which is not given")
    return kind(**given)
