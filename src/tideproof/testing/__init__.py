"""Contracts that every policy must pass, ours or a stranger's.

In a plug-in's test suite::

    import pytest
    from my_package import POLICY
    from tideproof.testing import policy_checks

    @pytest.mark.parametrize("check", policy_checks(POLICY), ids=lambda check: check.__name__)
    def test_contract(check):
        check()

A name, or `tp.policy(...)` with options, will do as well.
"""

from tideproof.testing.policy_contract import policy_checks

__all__ = ["policy_checks"]
