"""Policies: which arm next, and which in the end. One file each.

Whoever writes one needs `Policy` and a selection rule from here, and kernels from
`tideproof.kernels`; `linlucb.py` is a good example to start from.
"""

from tideproof.policies.definition import Policy
from tideproof.policies.selections import MEAN, OLS, Selection
from tideproof.policies.spec import PolicySpec

__all__ = ["MEAN", "OLS", "Policy", "PolicySpec", "Selection"]
