"""Every registered policy against the contract."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
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


HUGE = 10**5000  # Python does not write it


@pytest.mark.parametrize(
    "value", [[], {}, set(), np.array([1, 2]), np.array(["hidden", "cells"]), b"x", 1 + 2j, HUGE], ids=type
)
@pytest.mark.parametrize(
    ("name", "option"),
    [
        *(("contrast", each) for each in ("tide", "noise", "interaction", "robust", "rule", "confidence")),
        *(("contrast", each) for each in ("label", "selection", "n0", "exploration", "anytime")),
        *(("linlucb", each) for each in ("covariance", "n0")),
        *(("sure:contrast", each) for each in ("confidence", "bound")),
    ],
)
def test_an_option_of_a_wrong_type_gets_one_clear_line(name, option, value):
    with pytest.raises(tp.errors.InputError, match=rf"^(unknown )?{option} ") as found:
        tp.policy(name, **{option: value})
    assert "\n" not in str(found.value)


def test_numbers_of_other_kinds_are_kept_as_files_have_them(tmp_path):
    for value in (Decimal("2.5"), Fraction(5, 2), np.array(2.5), np.float32(2.5)):
        spec = tp.policy("contrast", exploration=value)
        assert spec.label == "contrast(exploration=2.5)"
        tp.Experiment(["A", "B"], policy=spec).save(tmp_path / "run.json")
        assert tp.Experiment.load(tmp_path / "run.json").policy == spec


# Policy: whether it needs a budget, whether it is aware of shifts, and its smallest budgets with 3 and 5 arms.
DESCRIBED = {
    "contrast": (True, True, 3, 5),
    "exp4p": (True, False, 4, 9),  # K ln K
    "knowledge-gradient": (False, False, 3 * 6, 5 * 6),
    "linlucb": (False, True, 3 * 6, 5 * 6),
    "lucb": (False, False, 3 * 6, 5 * 6),
    "ocba": (False, False, 3 * 6, 5 * 6),
    "p1": (False, False, 3, 5),
    "pss": (True, False, 3 * 2, 5 * 3),  # as many phases as it takes to halve to one arm
    "round-robin": (False, True, 3, 5),
    "sequential-halving": (True, False, 3 * 2, 5 * 3),
    "ser3": (False, False, 3, 5),
    "successive-rejects": (True, False, 4, 6),
    "top-two-thompson": (False, True, 3 * 2, 5 * 2),
    "ucb1-normal": (False, False, 3 * 2, 5 * 2),
    "zero-one": (False, False, 3 * 6, 5 * 6),
}


@pytest.mark.parametrize("name", tp.policy_names())
def test_policies_say_what_they_need(name):
    needs_horizon, shift_aware, *smallest = DESCRIBED[name]
    spec = tp.policy(name, **({"lo": 0.0, "hi": 1.0} if name == "exp4p" else {}))
    assert (spec.policy.needs_horizon, spec.policy.shift_aware) == (needs_horizon, shift_aware)
    for arms, budget in zip((["A", "B", "C"], list("ABCDE")), smallest, strict=True):
        tp.Experiment(arms, policy=spec, budget=budget)
        with pytest.raises(tp.errors.BudgetTooSmall, match=f"at least {budget}$"):
            tp.Experiment(arms, policy=spec, budget=budget - 1)
