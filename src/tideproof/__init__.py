"""Find the best of K alternatives (arms) when environments shift the rewards of all arms together.

Three entry points: `fit` analyses a log, `Experiment` runs a live test, `simulate` compares policies.
Public names are imported when they are first used, so that importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tideproof._version import __version__ as __version__

if TYPE_CHECKING:
    from tideproof.analysis.arm_contrast import Contrast as Contrast
    from tideproof.analysis.fit import fit as fit
    from tideproof.analysis.fit_result import Fit as Fit
    from tideproof.analysis.segments import Segments as Segments
    from tideproof.analysis.segments import segments as segments
    from tideproof.analysis.several_metrics import Metrics as Metrics
    from tideproof.analysis.several_metrics import metrics as metrics
    from tideproof.analysis.versus_control import against as against
    from tideproof.errors import *  # noqa: F403
    from tideproof.experiment.experiment import Experiment as Experiment
    from tideproof.experiment.pull import Pull as Pull
    from tideproof.experiment.recommendation import Recommendation as Recommendation
    from tideproof.lab.replay import replay as replay
    from tideproof.lab.simulation import simulate as simulate
    from tideproof.lab.study import Study as Study
    from tideproof.plans.plan_result import Plan as Plan
    from tideproof.plans.planner import plan as plan
    from tideproof.policies.policy_definition import Policy as Policy
    from tideproof.policies.policy_registry import policy as policy
    from tideproof.policies.policy_registry import policy_names as policy_names
    from tideproof.policies.policy_spec import PolicySpec as PolicySpec
    from tideproof.remote.connection import connect as connect
    from tideproof.research.suite.policy_suite import Suite as Suite
    from tideproof.research.suite.policy_suite import suite as suite
    from tideproof.store.stored_experiments import experiments as experiments
    from tideproof.table import Table as Table
    from tideproof.worlds import *  # noqa: F403

_PUBLIC_NAMES = {
    "errors": "BudgetTooSmall ConflictingReward Finished InputError KernelError MissingExtra MissingFile "
    "NotComparable StoreError TideproofError UnknownName",
    "analysis.arm_contrast": "Contrast",
    "analysis.versus_control": "against",
    "analysis.fit_result": "Fit",
    "analysis.fit": "fit",
    "analysis.several_metrics": "Metrics metrics",
    "analysis.segments": "Segments segments",
    "experiment.experiment": "Experiment",
    "experiment.pull": "Pull",
    "experiment.recommendation": "Recommendation",
    "lab.replay": "replay",
    "lab.simulation": "simulate",
    "lab.study": "Study",
    "research.suite.policy_suite": "Suite suite",
    "plans.plan_result": "Plan",
    "plans.planner": "plan",
    "policies.policy_definition": "Policy",
    "policies.policy_spec": "PolicySpec",
    "policies.policy_registry": "policy policy_names",
    "remote.connection": "connect",
    "store.stored_experiments": "experiments",
    "table": "Table",
}
_MODULE = {name: module for module, names in _PUBLIC_NAMES.items() for name in names.split()}


def _modules() -> dict[str, str]:
    """Return the module that defines each public name, for the names that are imported on first use."""
    return _MODULE | dict.fromkeys(import_module("tideproof.worlds").__all__, "worlds")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return ["__version__", *sorted(_modules())]
    known = _MODULE if name in _MODULE or name.startswith("_") else _modules()
    if name not in known:
        raise AttributeError(f"module 'tideproof' has no attribute {name!r}")
    value = getattr(import_module(f"tideproof.{known[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return ["__version__", *sorted(_modules())]
