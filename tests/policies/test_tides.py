"""Policies without labels: the same policy files on the statistics of a hidden tide."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from tideproof.testing import policy_contract as contract

SPECS = [
    "hidden:contrast",
    "hidden:linlucb",
    "hidden:round-robin+ols",
    "hidden:top-two-thompson",
    "hidden:reduce:successive-rejects",
    "hidden:reduce:ocba",
    "both:contrast",
]
CHECKS = [contract.reads_what_it_declares, contract.compiled_equals_interpreted, contract.integers_are_small]


LONG = SPECS[1:3] + SPECS[4:6]  # to compile


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(
            name,
            check,
            id=f"{check.__name__}-{name}",
            marks=[pytest.mark.long]
            if name in LONG and check is contract.compiled_equals_interpreted
            else [],
        )
        for check in CHECKS
        for name in SPECS
    ],
)
def test_contract(name, check):
    check(tp.policy(name))


def test_it_is_an_option_and_a_prefix():
    spec = tp.policy("contrast", tide="hidden", n0=3)
    assert spec.policy is tp.policy("hidden:contrast").policy
    assert spec.label == "hidden:contrast(n0=3)"
    assert tp.policy(spec.name).policy is spec.policy
    assert tp.policy("contrast", tide="labels") == tp.policy("contrast")
    assert tp.policy("round-robin+ols", tide="hidden").selection.name == "ols"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("contrast", {"tide": "none"}, "unknown tide 'none'"),
        ("hidden:contrast", {"tide": "both"}, "hidden:contrast already has a model"),
        ("lucb", {"tide": "hidden"}, "lucb does not estimate shifts"),
        ("round-robin+mean", {"tide": "hidden"}, "unknown selection 'mean'"),
        ("contrast", {"tide": "hidden", "confidence": 0.9}, "no stopping rule is calibrated"),
        ("sure:contrast", {"tide": "hidden"}, "no stopping rule is calibrated"),
        ("reduce:p1", {"tide": "hidden"}, "reduce:p1 does not estimate shifts"),
    ],
)
def test_what_cannot_be_is_said(name, options, message):
    with pytest.raises(tp.errors.InputError, match=message):
        tp.policy(name, **options)


def pics(world, *names, replications=1500, budget=100):
    study = tp.simulate(world, names, budget, replications, seed=7, engine="cpu")
    return [study.pics(name)[0] for name in names]


def test_labels_are_not_looked_at():
    told, hidden = (
        tp.simulate(world, "hidden:contrast", 60, 200, seed=3, engine="cpu", keep=60)
        for world in (tp.mdm(4), replace(tp.mdm(4), announced=False))
    )
    np.testing.assert_array_equal(
        told.selected("hidden:contrast", 60), hidden.selected("hidden:contrast", 60)
    )


def differ(one, other, n):
    """Tell whether two shares of n each differ: a false alarm in a million."""
    spread = np.sqrt((one * (1 - one) + other * (1 - other)) / n)
    return abs(one - other) > stats.norm.isf(5e-7) * spread


def test_hidden_jumps_cost_little_and_raw_means_fail():
    world = replace(tp.mdm(5), announced=False)
    hidden, robin, raw, blind = pics(
        world, "hidden:contrast", "hidden:round-robin+ols", "round-robin", "contrast"
    )
    (labelled,) = pics(tp.mdm(5), "contrast")
    assert not differ(hidden, 1.2 * labelled, 1500)
    assert hidden < robin
    assert differ(robin, raw, 1500)
    assert robin < raw
    assert differ(hidden, blind, 1500)  # labels forgotten, and nobody looks for the tide


@pytest.mark.parametrize(
    "drift",
    [
        tp.worlds.Sinusoid(3.0, 100),
        tp.worlds.Wander(0.1),
        tp.worlds.Trend(0.1),
        tp.worlds.Curve([0, 4, 0, -4], 60),
    ],
)
def test_smooth_tides_cost_little(drift):
    still = tp.mdm(5, "stationary")
    (hidden,) = pics(replace(still, drift=drift, announced=False), "hidden:contrast")
    (told,) = pics(still, "contrast")
    assert not differ(hidden, 1.3 * told, 1500)


def test_no_tide_costs_little():
    still = tp.mdm(5, "stationary")
    hidden, told = pics(still, "hidden:contrast", "contrast", replications=3000)
    assert not differ(hidden, 1.1 * told, 3000)


def test_both_knows_of_jumps_and_of_drift():
    """Pairs, where the hidden tide is hardest; and a wave inside of environments, which labels do not show."""
    pairs = tp.mdm(5, "worst-case")
    both, hidden = pics(pairs, "both:contrast", "hidden:contrast", replications=15_000)
    assert differ(both, hidden, 15_000)
    assert both < hidden
    both, labels = pics(replace(tp.mdm(5), drift=tp.worlds.Sinusoid(3.0, 50)), "both:contrast", "contrast")
    assert differ(both, labels, 1500)
    assert both < labels
