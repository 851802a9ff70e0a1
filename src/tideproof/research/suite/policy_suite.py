"""Comparison of one policy with rival policies in a fixed collection of simulated worlds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from tideproof.checks import require_whole_number
from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import UnknownName
from tideproof.lab.chunk_runner import run_plan
from tideproof.lab.engines import find_engine
from tideproof.lab.simulation_plan import make_plan
from tideproof.lab.study import Study
from tideproof.policies.policy_registry import Chosen, as_policies
from tideproof.policies.policy_spec import PolicySpec
from tideproof.progress import progress_bar
from tideproof.research.suite.held_out_worlds import COLLECTION, SuiteWorld
from tideproof.research.suite.unequal_worlds import UNEVEN
from tideproof.table import Table, render_notebook_html

POLICIES = (
    "contrast",
    "linlucb",
    "round-robin+ols",
    "reduce:successive-rejects",
    "reduce:lucb",
    "top-two-thompson",
)
FOR_UNEVEN = (
    "by-arm:auto:contrast",
    "by-arm:contrast",
    "auto:contrast",
    "robust:contrast",
    "contrast",
    "linlucb",
    "round-robin+ols",
)
COLLECTIONS = {"even": (COLLECTION, POLICIES), "uneven": (UNEVEN, FOR_UNEVEN)}
ENOUGH = 400  # errors of the best rival that a world needs to count against a policy
WORSE = 1.25  # errors relative to the best rival above which a policy is clearly worse
CONFIDENCE_LEVEL = 0.998  # of a two-sided interval; each of its bounds is a 99.9 % bound


def suite(
    policies: Chosen | Iterable[Chosen] | None = None,
    replications: int | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    progress: bool = False,
    engine: str = "auto",
    worlds: str = "even",
) -> Suite:
    """Run policies in a fixed collection of simulated worlds, and compare the first policy with its rivals.

    Parameters
    ----------
    policies
        The policy to compare, then its rivals. A single policy meets the default rivals: `contrast`,
        `linlucb`, `round-robin+ols`, `reduce:successive-rejects`, `reduce:lucb`, `top-two-thompson`; in
        uneven worlds `contrast` on every kind of statistics, `linlucb`, `round-robin+ols`.
    replications
        Runs of each policy in each world. By default, each world has its own number, which gives about 400
        errors of the best rival.
    seed, executor, progress, engine
        As in `simulate`.
    worlds
        `"even"`: all arms share the shifts and have equal noise; `"uneven"`: unequal noise, interactions of
        arms and environments, or outlying cells.

    Returns
    -------
    Suite
        The results. If Ctrl-C ends the run, they cover the worlds that were finished or begun.

    Examples
    --------
    >>> import tideproof as tp
    >>> found = tp.suite(["linlucb", "round-robin+ols"], replications=50, seed=1)
    >>> bool(found.score < 1.0)  # fewer errors than round robin, over all worlds
    True
    """
    if worlds not in COLLECTIONS:
        raise UnknownName.with_suggestion("collection of worlds", worlds, COLLECTIONS)
    cases, usual = COLLECTIONS[worlds]
    specs = as_policies(usual if policies is None else policies)
    if len(specs) == 1:
        specs += tuple(rival for rival in as_policies(usual) if rival != specs[0])
    if replications is not None:
        replications = require_whole_number("replications", replications, 1)
    plans = [make_plan(case.world, _without_slow_rivals(specs, case), case.budget, seed) for case in cases]
    studies: dict[str, Study] = {}
    find_engine(engine, executor).prepare(plans)
    try:
        for number, (case, plan) in enumerate(zip(cases, plans, strict=True), 1):
            count = replications or case.replications
            doing = f"{case.name}, world {number} of {len(cases)}"
            watch = progress_bar(doing, count, "replications", first="compiling") if progress else None
            study = run_plan(plan, count, executor, engine, watch)
            studies[case.name] = study
            if study.interrupted:
                break
    except KeyboardInterrupt:
        if not studies:
            raise
    return Suite(tuple(spec.label for spec in specs), studies, len(cases))


def _without_slow_rivals(specs: tuple[PolicySpec, ...], case: SuiteWorld) -> list[PolicySpec]:
    """Leave out rival policies that are too slow for this simulated world; the first policy always runs."""
    slow = as_policies(case.too_slow)
    return [spec for spec in specs if spec is specs[0] or spec not in slow]


@dataclass(frozen=True, eq=False, repr=False)
class Suite:
    """Result of `tp.suite`: how often policies select a wrong arm in a fixed set of simulated worlds.

    Wrong selections are called errors. Half an error is added to both numbers of errors in every ratio, so
    that no ratio divides by zero.

    Attributes
    ----------
    policies : the labels of the policies; the first is the compared one, the others are its rivals.
    studies : the study of each world, by the name of the world.
    worlds : number of worlds, including those that an interrupted run did not reach.
    """

    policies: tuple[str, ...]
    studies: Mapping[str, Study]
    worlds: int = len(COLLECTION)

    @property
    def interrupted(self) -> bool:
        """Whether the comparison of policies was interrupted before all worlds were simulated."""
        return len(self.studies) < self.worlds or any(s.interrupted for s in self.studies.values())

    @property
    def score(self) -> float:
        """How often the first policy errs relative to its best rival, as a geometric mean over worlds."""
        return geometric_mean(self.standing()["ratio"])

    @property
    def worse(self) -> list[str]:
        """Names of the simulated worlds where the first policy is clearly worse than its best rival.

        `standing` defines what is clear.
        """
        return [row["world"] for row in self.standing() if row["worse"]]

    def relative(self, label: str) -> Floats:
        """Return how often a policy errs relative to the best policy, for each simulated world.

        The result is nan in worlds for which the policy was left out.
        """
        if label not in self.policies:
            raise UnknownName.with_suggestion("policy", label, self.policies, "in this suite")
        return np.array(
            [
                study.ratio(label, _policy_with_fewest_errors(study)).estimate[0]
                if label in study.policies
                else np.nan
                for study in self.studies.values()
            ]
        )

    def standing(self) -> Table:
        """Return a table that compares the first policy with its best rival, by simulated world.

        `ratio` is the ratio of their errors, `low` its paired lower 99.9 % bound, and `errors` those of the
        rival. `worse` is True where the bound is above 1.25 and the rival erred at least 400 times.
        """
        columns: dict[str, list[Any]] = {
            name: [] for name in ("world", "rival", "errors", "ratio", "low", "worse")
        }
        for world, study in self.studies.items():
            first, *rivals = study.policies
            if not rivals:
                continue
            rival = _policy_with_fewest_errors(study, rivals)
            ratio, errors = study.ratio(first, rival, CONFIDENCE_LEVEL), int(study.errors(rival)[0])
            low = float(ratio.low[0])
            row = (world, rival, errors, float(ratio.estimate[0]), low, errors >= ENOUGH and low > WORSE)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        return Table(columns)

    def table(self) -> Table:
        """Return a table of how often each policy selects a wrong arm in each simulated world."""
        rows = [
            {
                "world": world,
                "arms": study.world.arms,
                "budget": study.budgets[0],
                "replications": study.replications,
                "policy": label,
                "errors": int(study.errors(label)[0]),
                "pics": float(study.pics(label)[0]),
                "relative": float(study.ratio(label, _policy_with_fewest_errors(study)).estimate[0]),
            }
            for world, study in self.studies.items()
            for label in study.policies
        ]
        return Table({name: [row[name] for row in rows] for name in rows[0]})

    @property
    def verdict(self) -> str:
        """Summary, in three sentences, of how the first policy compares with its rivals.

        It has three sentences: the score, clearly worse worlds, and worlds with too few errors.
        """
        standing = self.standing()
        few = sum(row["errors"] < ENOUGH for row in standing)
        return (
            f"{self.policies[0]} makes {self.score:.3f} times as many errors as the best rival of each world "
            f"(geometric mean, {len(standing)} worlds).\n"
            f"It is clearly worse than the best rival (lower 99.9 % confidence bound of the ratio above "
            f"{WORSE:g}) in {'; '.join(self.worse) or 'no world'}.\n"
            f"In {few} of {len(standing)} worlds, the best rival made fewer than {ENOUGH} errors, "
            "too few for this comparison."
        )

    def __repr__(self) -> str:
        return f"Suite of {len(self.studies)} worlds\n{self.table()!r}\n{self.verdict}"

    def _repr_html_(self) -> str:
        return render_notebook_html(f"Suite of {len(self.studies)} worlds. {self.verdict}", self.table())


def _policy_with_fewest_errors(study: Study, labels: list[str] | None = None) -> str:
    """Return the label of the policy that selects a wrong arm least often in a simulation study.

    In a tie, it is the first such policy.
    """
    return min(labels or study.policies, key=lambda label: int(study.errors(label)[0]))


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of all given numbers that are not NaN."""
    return float(np.exp(np.nanmean(np.log(np.array(list(values))))))
