"""Every registered policy, and a stranger's, against the contract."""

import subprocess
import sys
import textwrap

import pytest

import tideproof as tp
from tideproof.testing import policy_checks

SPECS = [
    "contrast",
    tp.policy("contrast", n0=1, anytime=True),
    "linlucb",
    tp.policy("linlucb", n0=3, covariance="printed"),
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
CHECKS = [check for spec in SPECS for check in policy_checks(spec)]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check):
    check()


def test_every_registered_policy_is_tested():
    tested = {(s if isinstance(s, str) else s.policy.name).split("+")[0] for s in SPECS}
    assert tested >= set(tp.policy_names())


STRANGER = '''
"""Leader or a coin: a policy from another package."""
from typing import NamedTuple

from tideproof.core.arrays import Int1
from tideproof.core.link import kernel
from tideproof.kernels.choose import argmax, least_pulled
from tideproof.kernels.initialise import Start, start_arm, start_tell, started
from tideproof.kernels.random import uniform
from tideproof.policies import OLS, Policy


class Params(NamedTuple):
    share: float


class State(NamedTuple):
    start: Start
    told: Int1


def configure(arms, horizon, selection, *, share=0.5):
    return Params(share)


@kernel
def ask(params, state, data, slot, draw):
    if not started(data, 2):
        return start_arm(state.start, data, slot, 2, -1, draw)
    if uniform(draw, 7) < params.share:
        return argmax(data.fit.mu, draw)
    return least_pulled(data.pulls, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    start_tell(state.start, data, slot, arm, n)
    state.told[0] += n


POLICY = Policy(
    name="coin", idea="leader or a coin", reference="none", State=State, configure=configure, ask=ask, tell=tell,
    minimum=lambda arms, params: 2 * arms, selections=(OLS,), reads=frozenset({"fit"}),
    needs_horizon=False, shift_aware=True,
)
'''


def test_a_strangers_policy_registers_and_passes(tmp_path):
    """Another distribution, found through its entry point, passes the same contract."""
    (tmp_path / "stranger.py").write_text(STRANGER)
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tideproof.policies]\ncoin = stranger:POLICY\n")
    code = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import tideproof as tp
        from tideproof.testing import policy_checks
        assert "coin" in tp.policy_names()
        for check in policy_checks("coin"):
            check()
        print(tp.policy("coin", share=0.3).label)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "coin(share=0.3)"
