"""Policies: which arm next, and which in the end. One file each.

Ours import from their rooms; a stranger's has all that it needs in `tideproof.plugin`, and examples/plugin to
start from.
"""

from tideproof.policies.definition import Policy
from tideproof.policies.selections import MEAN, OLS, Selection
from tideproof.policies.spec import PolicySpec

__all__ = ["MEAN", "OLS", "Policy", "PolicySpec", "Selection"]
