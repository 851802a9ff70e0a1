"""tideproof finds the best of K alternatives while the whole world moves.

Three faces: `fit` for a log, `Experiment` for a live test, `simulate` for research. Names are
loaded when they are first used, so importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tideproof._version import __version__ as __version__

if TYPE_CHECKING:
    from tideproof.errors import *  # noqa: F403
    from tideproof.estimate.against import against as against
    from tideproof.estimate.contrast import Contrast as Contrast
    from tideproof.estimate.fitted import Fit as Fit
    from tideproof.estimate.from_log import fit as fit
    from tideproof.estimate.metrics import Metrics as Metrics
    from tideproof.estimate.metrics import metrics as metrics
    from tideproof.estimate.segments import Segments as Segments
    from tideproof.estimate.segments import segments as segments
    from tideproof.lab.replay import replay as replay
    from tideproof.lab.simulate import simulate as simulate
    from tideproof.lab.study import Study as Study
    from tideproof.lab.suite import Suite as Suite
    from tideproof.lab.suite import suite as suite
    from tideproof.live.experiment import Experiment as Experiment
    from tideproof.live.pull import Pull as Pull
    from tideproof.live.recommendation import Recommendation as Recommendation
    from tideproof.plans.found import Plan as Plan
    from tideproof.plans.plan import plan as plan
    from tideproof.policies.definition import Policy as Policy
    from tideproof.policies.registry import policy as policy
    from tideproof.policies.registry import policy_names as policy_names
    from tideproof.policies.spec import PolicySpec as PolicySpec
    from tideproof.remote.connecting import connect as connect
    from tideproof.store.opening import experiments as experiments
    from tideproof.table import Table as Table
    from tideproof.worlds import *  # noqa: F403

_HOME = {
    "errors": "BudgetTooSmall ConflictingReward Finished InputError KernelError MissingExtra MissingFile "
    "NotComparable StoreError TideproofError UnknownName",
    "estimate.contrast": "Contrast",
    "estimate.against": "against",
    "estimate.fitted": "Fit",
    "estimate.from_log": "fit",
    "estimate.metrics": "Metrics metrics",
    "estimate.segments": "Segments segments",
    "live.experiment": "Experiment",
    "live.pull": "Pull",
    "live.recommendation": "Recommendation",
    "lab.replay": "replay",
    "lab.simulate": "simulate",
    "lab.study": "Study",
    "lab.suite": "Suite suite",
    "plans.found": "Plan",
    "plans.plan": "plan",
    "policies.definition": "Policy",
    "policies.spec": "PolicySpec",
    "policies.registry": "policy policy_names",
    "remote.connecting": "connect",
    "store.opening": "experiments",
    "table": "Table",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names.split()}


def _modules() -> dict[str, str]:
    """Return the module of every public name; those of worlds name their kinds themselves."""
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
