"""Every registered policy against the contract."""

import pytest

import tideproof as tp
from tideproof.testing import policy_checks

SPECS: list[str | tp.PolicySpec] = [
    "contrast",
    tp.policy("contrast", n0=1, anytime=True),
    "linlucb",
    tp.policy("linlucb", n0=3, covariance="printed"),
    tp.policy("linlucb", n0=3, covariance="reduced"),
    "round-robin",
    "round-robin+ols",
    "round-robin+period",
    "round-robin+control",
    "ucb1-normal",
    "lucb",
    "p1",
    "p1+ips",
    tp.policy("exp4p", lo=-3.0, hi=25.0),
    tp.policy("exp4p+ips", lo=-3.0, hi=25.0),
    "successive-rejects",
    "sequential-halving",
    "pss",
    tp.policy("pss", u=1.5),
    "ser3",
    tp.policy("ser3", epsilon=1.0, log_inverse_delta=1.0),
    "zero-one",
    "ocba",
    "knowledge-gradient",
    "top-two-thompson",
    tp.policy("top-two-thompson", n0=3, beta=0.8),
    "reduce:linlucb",
    "reduce:lucb",
    "reduce:p1",
    "reduce:successive-rejects",
    "reduce:sequential-halving",
    "reduce:zero-one",
    "reduce:top-two-thompson",
]
LONG = {f"compiled_equals_interpreted[reduce:{name}]" for name in
        ("p1", "successive-rejects", "sequential-halving", "zero-one", "top-two-thompson")}  # fmt: skip
CHECKS = [
    pytest.param(check, id=check.__name__, marks=[pytest.mark.long] if check.__name__ in LONG else [])
    for spec in SPECS
    for check in policy_checks(spec)
]


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    check()


def test_every_registered_policy_is_tested():
    tested = {(s if isinstance(s, str) else s.policy.name).split("+")[0] for s in SPECS}
    assert tested >= set(tp.policy_names())
