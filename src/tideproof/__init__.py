"""tideproof finds the best of K alternatives while the whole world moves.

Three faces: `fit` for a log, `Experiment` for a live test, `simulate` for research. Names are
loaded when they are first used, so importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tideproof._version import __version__

if TYPE_CHECKING:
    from tideproof.errors import (
        BudgetTooSmall as BudgetTooSmall,
    )
    from tideproof.errors import (
        ConflictingReward as ConflictingReward,
    )
    from tideproof.errors import (
        Finished as Finished,
    )
    from tideproof.errors import (
        InputError as InputError,
    )
    from tideproof.errors import (
        MissingExtra as MissingExtra,
    )
    from tideproof.errors import (
        MissingFile as MissingFile,
    )
    from tideproof.errors import (
        NotComparable as NotComparable,
    )
    from tideproof.errors import (
        TideproofError as TideproofError,
    )
    from tideproof.errors import (
        UnknownName as UnknownName,
    )
    from tideproof.estimate.contrast import Contrast as Contrast
    from tideproof.estimate.fitted import Fit as Fit
    from tideproof.estimate.log import fit as fit
    from tideproof.lab.replay import replay as replay
    from tideproof.lab.simulate import simulate as simulate
    from tideproof.lab.study import Study as Study
    from tideproof.lab.suite import Suite as Suite
    from tideproof.lab.suite import suite as suite
    from tideproof.live.experiment import (
        Experiment as Experiment,
    )
    from tideproof.live.experiment import (
        Pull as Pull,
    )
    from tideproof.live.experiment import (
        Recommendation as Recommendation,
    )
    from tideproof.policies.definition import Policy as Policy
    from tideproof.policies.registry import policy as policy
    from tideproof.policies.registry import policy_names as policy_names
    from tideproof.policies.spec import PolicySpec as PolicySpec
    from tideproof.table import Table as Table
    from tideproof.worlds import (
        Geometric as Geometric,
    )
    from tideproof.worlds import (
        Lengths as Lengths,
    )
    from tideproof.worlds import (
        Normal as Normal,
    )
    from tideproof.worlds import (
        NoShift as NoShift,
    )
    from tideproof.worlds import (
        RandomWalk as RandomWalk,
    )
    from tideproof.worlds import (
        StudentT as StudentT,
    )
    from tideproof.worlds import (
        Uniform as Uniform,
    )
    from tideproof.worlds import (
        Weekly as Weekly,
    )
    from tideproof.worlds import (
        World as World,
    )
    from tideproof.worlds import (
        mdm as mdm,
    )
    from tideproof.worlds import (
        slippage as slippage,
    )

_HOME = {
    "errors": "BudgetTooSmall ConflictingReward Finished InputError MissingExtra MissingFile NotComparable "
    "TideproofError UnknownName",
    "estimate.contrast": "Contrast",
    "estimate.fitted": "Fit",
    "estimate.log": "fit",
    "live.experiment": "Experiment Pull Recommendation",
    "lab.replay": "replay",
    "lab.simulate": "simulate",
    "lab.study": "Study",
    "lab.suite": "Suite suite",
    "policies.definition": "Policy",
    "policies.spec": "PolicySpec",
    "policies.registry": "policy policy_names",
    "table": "Table",
    "worlds": "Geometric Lengths Normal NoShift RandomWalk StudentT Uniform Weekly World mdm slippage",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = ["__version__", *sorted(_MODULE)]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'tideproof' has no attribute {name!r}")
    value = getattr(import_module(f"tideproof.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
