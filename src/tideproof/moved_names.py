"""Public names that were renamed or moved to another module, with their new names.

Reading an old name raises an `AttributeError` that says the new one. There are no aliases.
"""

from __future__ import annotations

from typing import NoReturn

_ERRORS = (
    "BudgetTooSmall ConflictingReward Finished InputError KernelError MissingExtra MissingFile NotComparable "
    "StoreError TideproofError UnknownName"
)
_WORLDS = (
    "Curve Geometric Lengths Money NoShift Normal Outliers RandomWalk Sinusoid StudentT Trend Uniform Wander "
    "Weekly"
)

# Maps each module to its old names, and each old name to the full new name.
MOVED_NAMES: dict[str, dict[str, str]] = {
    "tideproof": {
        **{name: f"tideproof.errors.{name}" for name in _ERRORS.split()},
        **{name: f"tideproof.worlds.{name}" for name in _WORLDS.split()},
        "Policy": "tideproof.plugin.Policy",
    },
    "tideproof.plugin": {
        "finite": "tideproof.plugin.require_finite",
        "freedom": "tideproof.plugin.degrees_of_freedom",
        "whole": "tideproof.plugin.require_whole_number",
    },
}


def missing_attribute(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module does not have; it says the new name if the name was moved.

    >>> str(missing_attribute("tideproof", "InputError"))
    "module 'tideproof' has no attribute 'InputError'; use tideproof.errors.InputError"
    """
    new = MOVED_NAMES[module].get(name)
    hint = "" if new is None else f"; use {new}"
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)


def raise_missing_plugin_name(name: str) -> NoReturn:
    """Raise the error for a name that `tideproof.plugin` does not have."""
    raise missing_attribute("tideproof.plugin", name)
