"""Find the best of several alternatives (arms) when environments shift the rewards of all arms together.

Entry points: `fit` analyzes a log, `Experiment` runs a live test, `simulate` compares policies, `bench`
compares the speed of functions.
`errors` contains all exceptions, `worlds` the distributions of simulated worlds.
Public names are imported when they are first used, so that importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tideproof._version import __version__ as __version__
from tideproof.moved_names import missing_attribute

if TYPE_CHECKING:
    from tideproof import errors as errors
    from tideproof import worlds as worlds
    from tideproof.analysis.arm_comparisons import Contrast as Contrast
    from tideproof.analysis.fit import fit as fit
    from tideproof.analysis.fit_result import Fit as Fit
    from tideproof.analysis.pair_matrix import pair_matrix as pair_matrix
    from tideproof.analysis.segments import Segments as Segments
    from tideproof.analysis.segments import segments as segments
    from tideproof.analysis.several_metrics import Metrics as Metrics
    from tideproof.analysis.several_metrics import metrics as metrics
    from tideproof.analysis.versus_control import against as against
    from tideproof.evaluations.evaluate import evaluate as evaluate
    from tideproof.evaluations.evaluation_log import EvaluationLog as EvaluationLog
    from tideproof.evaluations.evaluation_result import Evaluation as Evaluation
    from tideproof.evaluations.log_reading import read_evals as read_evals
    from tideproof.experiment.experiment import Experiment as Experiment
    from tideproof.experiment.pull import Pull as Pull
    from tideproof.experiment.recommendation import Recommendation as Recommendation
    from tideproof.lab.replay import replay as replay
    from tideproof.lab.simulation import simulate as simulate
    from tideproof.lab.study import Study as Study
    from tideproof.plans.look_costs import LookCosts as LookCosts
    from tideproof.plans.look_costs import plan_looks as plan_looks
    from tideproof.plans.plan_result import Plan as Plan
    from tideproof.plans.planner import plan as plan
    from tideproof.policies.policy_registry import policy as policy
    from tideproof.policies.policy_registry import policy_names as policy_names
    from tideproof.policies.policy_spec import PolicySpec as PolicySpec
    from tideproof.races.callable_race import bench as bench
    from tideproof.races.race_result import RaceResult as RaceResult
    from tideproof.remote.connection import connect as connect
    from tideproof.research.suite.policy_suite import Suite as Suite
    from tideproof.research.suite.policy_suite import suite as suite
    from tideproof.stats.looks.look_plan import Looks as Looks
    from tideproof.store.stored_experiments import experiments as experiments
    from tideproof.table import Table as Table
    from tideproof.worlds.paper_scenarios import mdm as mdm
    from tideproof.worlds.paper_scenarios import slippage as slippage
    from tideproof.worlds.world import World as World

_PUBLIC_NAMES = {
    "analysis.arm_comparisons": "Contrast",
    "analysis.versus_control": "against",
    "analysis.fit_result": "Fit",
    "analysis.fit": "fit",
    "analysis.several_metrics": "Metrics metrics",
    "analysis.pair_matrix": "pair_matrix",
    "analysis.segments": "Segments segments",
    "evaluations.evaluation_log": "EvaluationLog",
    "evaluations.log_reading": "read_evals",
    "evaluations.evaluate": "evaluate",
    "evaluations.evaluation_result": "Evaluation",
    "experiment.experiment": "Experiment",
    "experiment.pull": "Pull",
    "experiment.recommendation": "Recommendation",
    "lab.replay": "replay",
    "lab.simulation": "simulate",
    "lab.study": "Study",
    "research.suite.policy_suite": "Suite suite",
    "plans.look_costs": "LookCosts plan_looks",
    "plans.plan_result": "Plan",
    "plans.planner": "plan",
    "policies.policy_spec": "PolicySpec",
    "policies.policy_registry": "policy policy_names",
    "races.callable_race": "bench",
    "races.race_result": "RaceResult",
    "remote.connection": "connect",
    "stats.looks.look_plan": "Looks",
    "store.stored_experiments": "experiments",
    "table": "Table",
    "worlds.paper_scenarios": "mdm slippage",
    "worlds.world": "World",
}
_SUBMODULES = ("errors", "worlds")
_MODULE = {name: module for module, names in _PUBLIC_NAMES.items() for name in names.split()}

__all__ = ["__version__", *_SUBMODULES, *sorted(_MODULE)]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"tideproof.{name}")
    if name not in _MODULE:
        raise missing_attribute(__name__, name)
    value = getattr(import_module(f"tideproof.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
