"""Definition of a simulated world: arms, rewards, lengths of environments, and shifts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, cast, get_args

import numpy as np

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError, UnknownName
from tideproof.kernels.simulate import world_draws as kernel
from tideproof.kernels.simulate.world_draws import WorldParameters
from tideproof.text import join_names
from tideproof.worlds.environment_lengths import Length
from tideproof.worlds.noise_laws import Noise
from tideproof.worlds.reward_laws import KERNEL_PARAMETERS, Kind, Money, Rewards
from tideproof.worlds.shift_processes import Shift, Uniform
from tideproof.worlds.tide_drifts import Drift
from tideproof.worlds.world_part import WorldPart, as_tuple, set_fields
from tideproof.worlds.wrong_cells import Outlier

EnvironmentLengths = tuple[int, int] | Length | None


@dataclass(frozen=True)
class World:
    """Simulated world: arms with given means, and environments that shift the rewards of all arms.

    Parameters
    ----------
    means
        Mean of each arm for a shift of 0. Arms may tie for the best: selecting any of them is correct.
    sigma
        Standard deviation of the noise of normal rewards: one number, or one for each arm.
    lengths
        Lengths of environments in steps: a pair (each length between them is equally likely), `Geometric`,
        `Lengths`, or None for one permanent environment.
    shifts
        Process of shifts: `Uniform`, `Normal`, `RandomWalk`, `Weekly` or `NoShift`.
    noise
        Noise of normal rewards: `"normal"` or `StudentT`.
    rewards
        `"normal"`, mean plus noise; `"conversions"`, 0 or 1; `"counts"`, Poisson numbers; `"money"`,
        lognormal amounts with a standard deviation as large as their mean, or `Money(variation, zeros)`.
        All but the first have no additional noise, and means of at least 0; the means of conversions are
        at most 1, those of counts at most 500. Bounded shifts that lead outside that range raise an error;
        with unbounded shifts, such as `Normal`, means are clipped to the range.
    tide
        `"adds"`: a shift is added to all means; `"multiplies"`: a shift s multiplies them by e^s.
    drift
        Movement of the tide within environments, added to the shift: `Sinusoid`, `Wander`, `Trend`, `Curve`
        or None.
    announced
        Whether policies see where an environment begins. If not, they see one single environment.
    interaction
        Standard deviation of the effect of an environment on one arm, which is drawn for each arm and
        environment and added to the shift: one number, or one for each arm.
    noise_by_environment
        Standard deviation of the logarithm of the factor by which an environment multiplies all sigmas; only
        for normal rewards.
    outliers
        Outlying cells: `Outliers`, or None.

    Examples
    --------
    >>> world = World(means=[1.0, 1.2, 0.9], sigma=0.5, lengths=(5, 9), shifts=Uniform(0, 3))
    >>> world.arms, world.best
    (3, (1,))
    >>> days = World([0.02, 0.03], shifts=Uniform(-0.5, 0.5), rewards="conversions", tide="multiplies")
    >>> World(means=[0.02, 0.3], shifts=Uniform(0, 2), rewards="conversions", tide="multiplies")
    Traceback (most recent call last):
    tideproof.errors.InputError: means of conversions must be at least 0 and at most 1 for every shift:
    a mean of 0.3 and a shift of 2 (tide='multiplies') give 2.21672
    >>> World(means=[1.0])
    Traceback (most recent call last):
    tideproof.errors.InputError: a world needs at least two arms, not 1
    """

    means: Sequence[float]
    sigma: float | Sequence[float] = 1.0
    lengths: EnvironmentLengths = (2, 50)
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
            raise InputError(f"shifts must be {_list_kinds(Shift)}, not {self.shifts!r}")
        if self.noise != "normal" and not isinstance(self.noise, Noise):
            raise InputError(f"noise must be {_list_kinds(Noise, before=repr('normal'))}, not {self.noise!r}")
        if self.tide not in ("adds", "multiplies"):
            raise InputError(f"tide must be 'adds' or 'multiplies', not {self.tide!r}")
        if self.drift is not None and not isinstance(self.drift, Drift):
            raise InputError(f"drift must be {_list_kinds(Drift, after='None')}, not {self.drift!r}")
        if not isinstance(self.announced, bool):
            raise InputError(f"announced must be True or False, not {self.announced!r}")
        if self.outliers is not None and not isinstance(self.outliers, Outlier):
            raise InputError(f"outliers must be {_list_kinds(Outlier, after='None')}, not {self.outliers!r}")
        set_fields(
            self,
            means=means,
            sigma=_require_deviations("sigma", self.sigma, len(means)),
            interaction=_require_deviations("interaction", self.interaction, len(means)),
            noise_by_environment=require_finite("noise_by_environment", self.noise_by_environment, 0.0),
            lengths=_require_lengths(self.lengths),
            rewards=_require_rewards(self.rewards),
        )
        if self.rewards != "normal":
            self._check_rewards()

    def _check_rewards(self) -> None:
        """Raise an error if rewards that are not normal have additional noise or impossible means."""
        kind = self.rewards if isinstance(self.rewards, str) else type(self.rewards).__name__.lower()
        for name, default in (
            ("sigma", 1.0),
            ("noise", "normal"),
            ("noise_by_environment", 0.0),
            ("outliers", None),
        ):
            if getattr(self, name) != default:
                argument = f"{name}={getattr(self, name)!r}"
                raise InputError(
                    f"{argument} is only for normal rewards; the mean of {kind} determines their variance"
                )
        numbers = self.numbers()
        drift_bounds = (0.0, 0.0) if self.drift is None else self.drift.bounds()
        bounds = [a + b for a, b in zip(self.shifts.bounds(), drift_bounds, strict=True)]
        for shift in (0.0, *filter(math.isfinite, bounds)):
            for arm in range(self.arms):
                mean = kernel.level(numbers, arm, shift)
                if not 0.0 <= mean <= numbers.most:
                    most = "" if numbers.most == math.inf else f" and at most {numbers.most:g}"
                    raise InputError(
                        f"means of {kind} must be at least 0{most} for every shift: a mean of "
                        f"{self.means[arm]:g} and a shift of {shift:g} (tide={self.tide!r}) give {mean:g}"
                    )

    @property
    def arms(self) -> int:
        """The number of arms."""
        return len(self.means)

    @property
    def gaps(self) -> Floats:
        """The cost of selecting each arm, as an array: the best arm's mean minus the arm's own mean."""
        means = np.array(self.means)
        gaps: Floats = means.max() - means
        return gaps

    @property
    def best(self) -> tuple[int, ...]:
        """The indices of the best arms; more than one if they tie."""
        return tuple(np.flatnonzero(self.gaps == 0.0).tolist())

    def numbers(self) -> WorldParameters:
        """Return the parameters of the simulated world for the compiled functions that simulate it."""
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
        chosen = self.shifts.numbers()
        if self.drift is not None:
            chosen |= self.drift.numbers()
        if isinstance(self.lengths, tuple):
            low, high = map(float, self.lengths)
            chosen |= {"length": kernel.BETWEEN, "length_a": low, "length_b": high}
        elif self.lengths is not None:
            chosen |= self.lengths.numbers()
        if self.outliers is not None:
            chosen |= self.outliers.numbers()
        if isinstance(self.noise, Noise):
            chosen |= self.noise.numbers()
        chosen |= KERNEL_PARAMETERS[self.rewards] if isinstance(self.rewards, str) else self.rewards.numbers()
        return blank._replace(**chosen)

    def to_dict(self) -> dict[str, Any]:
        """Return the simulated world as a dict of numbers, strings, lists and dicts.

        The fields from `rewards` on were added later. They are omitted if they have their default value, so
        that the dict, and the identity of saved studies, is the same as in older versions.

        >>> world = World([1.0, 2.0], shifts=Uniform(0, 3))
        >>> world.to_dict()["shifts"]
        {'kind': 'Uniform', 'low': 0.0, 'high': 3.0}
        >>> World.from_dict(world.to_dict()) == world
        True
        """
        values = {field.name: _to_plain(getattr(self, field.name)) for field in fields(self)}
        later_defaults = {
            "rewards": "normal",
            "tide": "adds",
            "drift": None,
            "announced": True,
            "interaction": 0.0,
            "noise_by_environment": 0.0,
            "outliers": None,
        }
        return {name: value for name, value in values.items() if later_defaults.get(name, ...) != value}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> World:
        """Return the simulated world from the dict that `to_dict` returned."""
        world: World = _build_dataclass(cls, {name: _from_plain(value) for name, value in plain.items()})
        return world


def as_world(value: Any) -> World:
    """Return `value` unchanged if it is a simulated world; otherwise raise an error."""
    if not isinstance(value, World):
        raise InputError(f"world must be tp.mdm(...), tp.slippage(...) or tp.World(...), not {value!r}")
    return value


def _require_deviations(name: str, value: Any, arms: int) -> float | tuple[float, ...]:
    """Return the standard deviations of a simulated world, or raise an error if they are not valid.

    `value` is one number, or one number for each arm.
    """
    if np.ndim(value) == 0:
        return require_finite(name, value, 0.0)
    if len(value) != arms:
        raise InputError(
            f"{name} must be one number or one for each of the {arms} arms, not {len(value)} numbers"
        )
    return tuple(require_finite(name, sd, 0.0) for sd in value)


def _require_rewards(value: Any) -> Kind | Rewards:
    """Return the distribution of rewards, or raise an error if it is not a valid one."""
    kinds = get_args(Kind)
    if isinstance(value, Rewards):
        return value
    if isinstance(value, str) and value in kinds:
        return Money() if value == "money" else cast(Kind, value)
    allowed = join_names([*map(repr, kinds), *(f"{kind}(...)" for kind in Rewards.kinds())], "or", most=9)
    raise InputError(f"rewards must be {allowed}, not {value!r}")


def _require_lengths(value: Any) -> EnvironmentLengths:
    """Return the lengths of environments, or raise an error if they are not valid."""
    if value is None or isinstance(value, Length):
        return value
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InputError(
            f"lengths must be {_list_kinds(Length, 'a pair such as (2, 50)', 'None')}, not {value!r}"
        )
    shortest = require_whole_number("the shortest length", value[0], 1)
    return shortest, require_whole_number(
        f"the longest length (the shortest is {shortest})", value[1], shortest
    )


def _list_kinds(part: type[WorldPart], before: str | None = None, after: str | None = None) -> str:
    """Return a text that lists the allowed values of one part of a simulated world, such as its shifts.

    The list consists of `before`, the names of all kinds of the part, and `after`.
    """
    names = [before, *(f"{kind}(...)" for kind in part.kinds()), after]
    return join_names([name for name in names if name is not None], "or", most=len(names))


# Names of parameters in files that differ from those in Python.
_NAMES_IN_FILES = {"degrees_of_freedom": "freedom"}
_NAMES_IN_PYTHON = {plain: name for name, plain in _NAMES_IN_FILES.items()}


def _to_plain(value: Any) -> Any:
    """Convert a part of a simulated world, such as its shifts, to values that JSON allows.

    An object becomes a dict.

    The dict contains the name of the class as `kind`. A tuple becomes a list.
    """
    if isinstance(value, WorldPart):
        fields = {_NAMES_IN_FILES.get(name, name): _to_plain(each) for name, each in vars(value).items()}
        return {"kind": type(value).__name__} | fields
    return list(value) if isinstance(value, tuple) else value


def _from_plain(plain: Any) -> Any:
    """Rebuild a part of a simulated world, such as its shifts, from a dict.

    The dict is that of `_to_plain`; other values are returned unchanged.
    """
    if not isinstance(plain, Mapping):
        return plain
    arguments: dict[Any, Any] = {_NAMES_IN_PYTHON.get(name, name): value for name, value in plain.items()}
    known = WorldPart.kinds()
    kind = arguments.pop("kind", None)
    if not isinstance(kind, str) or kind not in known:
        raise UnknownName.with_suggestion("kind", kind, known, "of a part of a world")
    return _build_dataclass(known[kind], arguments)


def _build_dataclass(kind: Any, arguments: Mapping[str, Any]) -> Any:
    """Create a dataclass from a dict of its fields; raise an error that names an unknown or missing field."""
    what = "a world" if kind is World else kind.__name__
    known = {field.name: field.default for field in fields(kind)}
    for name in arguments:
        if name not in known:
            raise UnknownName.with_suggestion("parameter", name, known, f"of {what}")
    for name, default in known.items():
        if default is MISSING and name not in arguments:
            raise InputError(f"{what} needs {name!r}, which is missing")
    return kind(**arguments)
