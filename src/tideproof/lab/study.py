"""The class `Study`: results of a simulation with their uncertainty, which can be saved and loaded."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof._version import __version__
from tideproof.checks import require_whole_number
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError, UnknownName
from tideproof.files import read_text, write_text_atomically
from tideproof.lab.replication_sums import ReplicationSums
from tideproof.lab.share_intervals import Interval, PairedRatio, binomial, paired, paired_ratio, quantile
from tideproof.table import Table, render_notebook_html
from tideproof.text import join_names
from tideproof.worlds import ResponseMatrix, World, world_from_dict

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure
    from tideproof.draw.policy_curves import Measure

FORMAT = 4


class Recipe(NamedTuple):
    """Name, options and label of a policy: the arguments with which `tp.policy` rebuilds it."""

    name: str
    options: dict[str, Any]
    label: str


class PairedDifference(NamedTuple):
    """Paired difference of two policies in error rate or opportunity cost, with uncertainty, by budget."""

    estimate: Floats
    standard_error: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Results of a simulation, as `tp.simulate` returns them.

    The methods take the label of a policy and return arrays with one value for each budget.

    Attributes
    ----------
    world : the world in which the policies ran.
    recipes : the policies.
    budgets : the budgets at which selections were recorded.
    replications : the number of finished replications.
    seed : the random seed. With the attributes above it determines all results.
    tally : sums over replications, from which all results are computed.
    interrupted : whether the run ended before all replications were finished. The study then equals the
        study of its first `replications` replications.
    made : versions of tideproof, NumPy, numba and Python, the engine, and the run time in seconds.
    keep : the budgets at which the selected arm of every replication was kept.
    """

    world: World | ResponseMatrix
    recipes: tuple[Recipe, ...]
    budgets: tuple[int, ...]
    replications: int
    seed: int
    tally: ReplicationSums
    interrupted: bool = False
    made: Mapping[str, Any] = field(default_factory=dict)
    keep: tuple[int, ...] = ()

    @property
    def policies(self) -> list[str]:
        """Labels of the policies in the study."""
        return [recipe.label for recipe in self.recipes]

    def pics(self, label: str) -> Floats:
        """Return the share of replications that selected a wrong arm; arms tied for the best are right."""
        return self._mean(label, "pics")

    def errors(self, label: str) -> Ints:
        """Return the number of replications that selected a wrong arm."""
        wrong: Ints = self.tally.chosen[self._index(label)][:, self.world.gaps > 0.0].sum(axis=1)
        return wrong

    def selected(self, label: str, budget: int) -> NDArray[np.int16]:
        """Return the selected arm of every replication, at a budget listed in `keep` of `tp.simulate`.

        The same replication of another study with the same seed has the same noise and, if the worlds agree
        in them, the same environments.
        """
        if budget not in self.keep:
            kept = join_names(self.keep) if self.keep else "none"
            raise InputError(
                f"selections at budget {budget} were not kept (kept budgets: {kept}); "
                "name the budgets to keep with simulate(..., keep=...)"
            )
        arms: NDArray[np.int16] = self.tally.selected[self._index(label), self.keep.index(budget)]
        return arms.copy()

    def wrong(self, label: str, budget: int) -> NDArray[np.bool_]:
        """Return whether each replication selected a wrong arm, at a budget whose selections were kept."""
        incorrect: NDArray[np.bool_] = self.world.gaps[self.selected(label, budget)] > 0.0
        return incorrect

    def eoc(self, label: str) -> Floats:
        """Return the expected opportunity cost: the mean of the best arm minus that of the selected arm."""
        return self._mean(label, "eoc")

    def samples(self, label: str) -> Floats:
        """Return the mean number of pulls, which is below the budget if the policy stops by itself."""
        return self._mean(label, "samples")

    def stopped(self, label: str) -> Floats:
        """Return the share of replications that the policy stopped before the budget was spent."""
        return self._average(self.tally.stopped, label)

    def wrong_stops(self, label: str) -> Floats:
        """Return the share of all replications that the policy stopped with a wrong arm.

        If arms tie for the best, every stop is wrong, because no single arm is the best.
        """
        best = self.world.gaps <= 0.0
        wrong = ~best if np.count_nonzero(best) == 1 else np.ones_like(best)
        return self._average(self.tally.stops[..., wrong].sum(axis=-1), label)

    def unidentified(self, label: str) -> Floats:
        """Return the share of selections made although no chain of shared environments connected the arms."""
        return self._average(self.tally.unidentified, label)

    def pulls(self, label: str) -> Floats:
        """Return the mean number of pulls of each arm, as an array (budgets, arms)."""
        return self._average(self.tally.pulls, label)

    def standard_error(self, label: str, measure: Measure = "pics") -> Floats:
        """Return the standard error of a measure: error rate, opportunity cost, or number of pulls.

        It is nan if there is only one replication.
        """
        index, n = self._index(label), self.replications
        mean = self._mean(label, measure)
        if measure == "samples":
            mean_square = self.tally.squares[index] / n - mean**2
        else:
            mean_square = (self.tally.chosen[index] * (self._costs(measure) - mean[:, None]) ** 2).sum(
                axis=1
            ) / n
        return _standard_error(mean_square, n)

    def interval(self, label: str, confidence: float = 0.95, measure: Measure = "pics") -> Interval:
        """Return confidence intervals of the error rate (exact), opportunity cost or mean pulls (normal)."""
        if measure == "pics":
            return binomial(self.errors(label), self.replications, confidence)
        mean, reach = self._mean(label, measure), quantile(confidence) * self.standard_error(label, measure)
        return Interval(mean - reach, mean + reach)

    def difference(
        self, a: str, b: str, measure: Literal["pics", "eoc"] = "pics", confidence: float = 0.95
    ) -> PairedDifference:
        """Return the paired difference of two policies in a measure such as the error rate, `a` minus `b`.

        Both policies ran in the same worlds, which makes the interval narrow. It is Tango's score interval
        for `pics`, and the normal interval for `eoc`.
        """
        i, j, n = self._index(a), self._index(b), self.replications
        _check_measure(measure, "pics", "eoc")
        estimate = self._mean(a, measure) - self._mean(b, measure)
        if measure == "pics":
            both = self._both(a, b)
            only_a, only_b = self.errors(a) - both, self.errors(b) - both
            standard_error = _standard_error((only_a + only_b) / n - estimate**2, n)
            return PairedDifference(estimate, standard_error, *paired(only_a, only_b, n, confidence))
        squares = self._pair(self.tally.cost_gap_squares, i, j, same=np.zeros(len(self.budgets)))
        standard_error = _standard_error(squares / n - estimate**2, n)
        reach = quantile(confidence) * standard_error
        return PairedDifference(estimate, standard_error, estimate - reach, estimate + reach)

    def ratio(self, a: str, b: str, confidence: float = 0.95) -> PairedRatio:
        """Return the paired ratio of the error rates of two policies, `a` divided by `b`.

        1/2 is added to both numbers of errors. The interval comes from the delta method for the logarithm of
        the ratio. It is reliable from some hundred errors on. Each bound by itself has the confidence level
        (1 + confidence)/2: `confidence=0.998` gives a lower 99.9 % bound.
        """
        return paired_ratio(self.errors(a), self.errors(b), self._both(a, b), confidence)

    def table(self) -> Table:
        """Return a table with one row for each policy and budget, with 95 % intervals of error rates."""
        columns: dict[str, list[Any]] = {"policy": [], "budget": []}
        for label in self.policies:
            low, high = self.interval(label)
            values = {
                "pics": self.pics(label),
                "pics_se": self.standard_error(label),
                "pics_low": low,
                "pics_high": high,
                "eoc": self.eoc(label),
                "eoc_se": self.standard_error(label, "eoc"),
                "samples": self.samples(label),
                "stopped": self.stopped(label),
                "wrong_stops": self.wrong_stops(label),
                "unidentified": self.unidentified(label),
            }
            columns["policy"] += [label] * len(self.budgets)
            columns["budget"] += self.budgets
            for name, column in values.items():
                columns.setdefault(name, []).extend(column)
        return Table(columns)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        measure: Measure = "pics",
        log: bool = True,
        confidence: float = 0.95,
    ) -> Figure:
        """Draw a chart of a measure, such as the error rate, against the budget: one curve for each policy.

        If a path is given, the picture is saved; the suffix of the path chooses the format png, svg or pdf.
        On a log scale, a value of zero is drawn as a hollow marker at the lower edge.
        """
        from tideproof.draw.policy_curves import draw_study
        from tideproof.lab.budget_curves import curves

        _check_measure(measure, "pics", "eoc", "samples")
        return draw_study(curves(self, measure, confidence), measure, self.replications, log, path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write simulation results to a JSON file; after a crash the file is the old or the new one."""
        plain = {
            "format": "tideproof study",
            "version": FORMAT,
            "world": self.world.to_dict(),
            "policies": [recipe._asdict() for recipe in self.recipes],
            "budgets": self.budgets,
            "replications": self.replications,
            "seed": self.seed,
            "interrupted": self.interrupted,
            "made": dict(self.made),
            "tally": {name: sums.tolist() for name, sums in self.tally.sums().items()},
            "keep": self.keep,
            "selected": _pack(self.tally.selected),
        }
        write_text_atomically(path, json.dumps(plain, default=_plain_number) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Study:
        """Read simulation results from a file that `save` wrote; the policies need not be installed."""
        name = repr(os.fspath(path))
        try:
            plain = json.loads(read_text(path))
            if plain["format"] != "tideproof study":
                raise KeyError("format")
            version = plain["version"]
        except (json.JSONDecodeError, UnicodeDecodeError, TypeError, KeyError):
            raise InputError(f"{name} is not a saved study") from None
        if version != FORMAT:
            raise InputError(
                f"{name} has version {version!r} of the study format, but tideproof {__version__} reads only "
                f"version {FORMAT}: repeat the simulation, or use the version that saved the study"
            )
        try:
            return cls._from_dict(plain)
        except InputError as error:
            raise InputError(f"{name} is damaged: {error}") from None
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InputError(f"{name} is damaged: parts of the study are missing or unreadable") from None

    @classmethod
    def _from_dict(cls, plain: dict[str, Any]) -> Study:
        """Rebuild simulation results from the content of a JSON file, and check that they are consistent."""
        world = world_from_dict(plain["world"])
        recipes = tuple(Recipe(**recipe) for recipe in plain["policies"])
        budgets = tuple(require_whole_number("a budget", budget, 1) for budget in plain["budgets"])
        replications = require_whole_number("replications", plain["replications"], 1)
        shapes = ReplicationSums.shapes(len(recipes), len(budgets), world.arms)
        tally: dict[str, Any] = {}
        for name, sums in plain["tally"].items():
            kind = np.float64 if name == "cost_gap_squares" else np.int64
            tally[name] = np.array(sums, kind).reshape(shapes[name])
        keep = tuple(plain["keep"])
        kept_rows = [budgets.index(budget) for budget in keep]
        try:
            selected = _unpack(plain["selected"]).reshape(len(recipes), len(keep), replications)
            counted = [[np.bincount(arms, minlength=world.arms) for arms in each] for each in selected]
        except (ValueError, zlib.error):
            raise InputError("the selected arms cannot be read") from None
        for mine, chosen in zip(counted, tally["chosen"], strict=True):
            if not all(map(np.array_equal, mine, chosen[kept_rows])):
                raise InputError("the selected arms do not agree with their counts")
        return cls(
            world=world,
            recipes=recipes,
            budgets=budgets,
            replications=replications,
            seed=plain["seed"],
            tally=ReplicationSums(**tally, selected=selected),
            interrupted=plain["interrupted"],
            made=plain["made"],
            keep=keep,
        )

    def __repr__(self) -> str:
        cut = ", interrupted" if self.interrupted else ""
        return (
            f"Study of {self.world.arms} arms, {self.replications:,} replications, seed {self.seed}{cut}\n"
            f"{self.table()!r}"
        )

    def _repr_html_(self) -> str:
        return render_notebook_html(repr(self).splitlines()[0], self.table())

    def _index(self, label: str) -> int:
        """Return the index of a policy by its label."""
        if label not in self.policies:
            raise UnknownName.with_suggestion("policy", label, self.policies, "in this study")
        return self.policies.index(label)

    def _costs(self, measure: Measure) -> Floats:
        """Return the cost of selecting each arm: 0 or 1 for the error rate, else the opportunity cost."""
        gaps = self.world.gaps
        return (gaps > 0.0).astype(np.float64) if measure == "pics" else gaps

    def _mean(self, label: str, measure: Measure) -> Floats:
        """Return a policy's mean error rate, opportunity cost or number of pulls over replications."""
        _check_measure(measure, "pics", "eoc", "samples")
        if measure == "samples":
            return self._average(self.tally.samples, label)
        return self._average(self.tally.chosen @ self._costs(measure), label)

    def _average(self, sums: Any, label: str) -> Floats:
        """Return a policy's averages over replications: its sums divided by the number of replications."""
        average: Floats = sums[self._index(label)] / self.replications
        return average

    def _both(self, a: str, b: str) -> Any:
        """Return the number of replications in which two policies both selected a wrong arm."""
        return self._pair(self.tally.both, self._index(a), self._index(b), same=self.errors(a))

    def _pair(self, sums: Any, i: int, j: int, same: Any) -> Any:
        """Return the results for a pair of policies from an array with one row for each pair.

        Return `same` if both are the same policy. `i` and `j` are the indices of the policies.
        """
        if i == j:
            return same
        order = list(combinations(range(len(self.recipes)), 2))
        return sums[order.index((min(i, j), max(i, j)))]


def _check_measure(measure: str, *known: str) -> None:
    """Raise `UnknownName` unless `measure` is an allowed name, such as "pics" for the error rate."""
    if measure not in known:
        raise UnknownName.with_suggestion("measure", measure, known)


def _standard_error(mean_square: Floats, n: int) -> Floats:
    """Return the standard error of the mean of n values from their mean squared deviation."""
    if n == 1:
        return np.full_like(mean_square, np.nan)
    error: Floats = np.sqrt(np.maximum(mean_square, 0.0) / (n - 1))
    return error


def _pack(arms: NDArray[np.int16]) -> str:
    """Return selected arms as base64 text, compressed because most of them are the same arm."""
    return base64.b64encode(zlib.compress(arms.astype("<i2").tobytes(), 6)).decode() if arms.size else ""


def _unpack(text: str) -> NDArray[np.int16]:
    """Return the array of selected arms from its compressed base64 text."""
    plain = zlib.decompress(base64.b64decode(text)) if text else b""
    return np.frombuffer(plain, "<i2").astype(np.int16)


def _plain_number(value: Any) -> Any:
    """Convert a NumPy number to a plain Python number, which can be written as JSON."""
    return value.item()
