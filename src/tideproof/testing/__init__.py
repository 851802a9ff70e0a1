"""Contracts that every policy must pass, ours or a stranger's.

In a plug-in's test suite::

    import pytest
    from tideproof.testing import policy_checks

    @pytest.mark.parametrize("check", policy_checks("my-policy"))
    def test_contract(check):
        check()
"""

from tideproof.testing.policy_contract import policy_checks

__all__ = ["policy_checks"]
