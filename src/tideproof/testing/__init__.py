"""Tests that every policy must pass, built-in or from a plug-in.

Use them in the test suite of a plug-in::

    import pytest
    from my_package import POLICY
    from tideproof.testing import policy_checks

    @pytest.mark.parametrize("check", policy_checks(POLICY), ids=lambda check: check.__name__)
    def test_contract(check):
        check()

`policy_checks` also accepts the name of a policy or `tp.policy(...)` with options.
"""

from tideproof.testing.policy_contract import policy_checks

__all__ = ["policy_checks"]
