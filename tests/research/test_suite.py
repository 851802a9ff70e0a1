"""The held-out suite: a fixed collection, honest ratios, and a clear word for bad input."""

from __future__ import annotations

import hashlib
import json
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app
from tideproof.commands.simulate_suite import suite_tables
from tideproof.lab.replication_sums import ReplicationSums
from tideproof.lab.share_intervals import paired_ratio
from tideproof.lab.simulation_plan import make_plan
from tideproof.lab.study import Recipe, Study
from tideproof.research.suite.held_out_worlds import COLLECTION
from tideproof.research.suite.policy_suite import FOR_UNEVEN, POLICIES, geometric_mean
from tideproof.research.suite.unequal_worlds import UNEVEN

ALARM = 1e-6  # probability that a statistical test would fail by accident were its seed drawn anew


# ---------------------------------------------------------------- the collection


def test_the_collection_is_fixed():
    """Whoever changes a world, a budget or a name makes old tables incomparable: say so in the changelog."""
    plain = json.dumps([(case.name, case.budget, case.world.to_dict()) for case in COLLECTION])
    assert hashlib.sha256(plain.encode()).hexdigest()[:16] == "a3160c78bff9a00b"


def test_the_uneven_collection_is_fixed_and_uneven():
    plain = json.dumps([(case.name, case.budget, case.world.to_dict()) for case in UNEVEN])
    assert hashlib.sha256(plain.encode()).hexdigest()[:16] == "f65113989df2e080"
    worlds = [case.world for case in UNEVEN]
    assert (
        len(set(worlds)) == len({case.reason for case in UNEVEN}) == len({case.name for case in UNEVEN}) == 10
    )
    assert all(len(world.best) == 1 for world in worlds)
    for part in ("interaction", "noise_by_environment", "outliers"):
        assert any(getattr(world, part) for world in worlds)
    assert sum(isinstance(world.sigma, tuple) for world in worlds) >= 4
    for case in UNEVEN:
        make_plan(case.world, FOR_UNEVEN, case.budget, 0)


def test_the_uneven_collection_by_name():
    found = tp.suite(["linlucb", "round-robin+ols"], replications=20, worlds="uneven")
    assert list(found.studies) == [case.name for case in UNEVEN]
    assert not found.interrupted


def test_worlds_are_distinct_and_explained():
    assert len({case.name for case in COLLECTION}) == len({case.reason for case in COLLECTION})
    assert len({case.name for case in COLLECTION}) == len({case.world for case in COLLECTION}) >= 20
    assert all(len(case.world.best) == 1 for case in COLLECTION)


def test_worlds_are_none_of_the_papers():
    scenarios = ("worst-case", "cannot-sample-all-arms", "sample-1-to-10", "general")
    panels = [
        make(arms, scenario) for make in (tp.mdm, tp.slippage) for arms in (5, 10) for scenario in scenarios
    ]
    assert not any(case.world == panel for case in COLLECTION for panel in panels)


def test_worlds_are_diverse():
    worlds = [case.world for case in COLLECTION]
    assert {2, 3, 5, 8, 10, 16, 20, 30, 50, 100} == {world.arms for world in worlds}
    assert len({type(world.shifts) for world in worlds}) == 5
    assert len({type(world.lengths) for world in worlds}) == 4
    assert {type(world.noise) for world in worlds} == {str, tp.worlds.StudentT}
    assert any(isinstance(world.sigma, tuple) for world in worlds)


@pytest.mark.parametrize("name", [*POLICIES, "sequential-halving", "pss", "ocba"])
def test_policies_accept_every_budget(name):
    for case in COLLECTION:
        make_plan(case.world, name, case.budget, 0)


# ---------------------------------------------------------------- the paired ratio


@pytest.mark.parametrize(
    ("only_a", "only_b", "both"),
    [(0.03, 0.02, 0.02), (0.002, 0.002, 0.038), (0.05, 0.04, 0.0), (0.1, 0.05, 0.2), (0.01, 0.04, 0.01)],
)
def test_the_bound_of_the_ratio_against_brute_force(only_a, only_b, both):
    """At 400 errors or more, each 99.9 % bound fails in at most 0.15 % of studies."""
    n, studies = 10_000, 1_000_000
    chances = [only_a, only_b, both, 1 - only_a - only_b - both]
    first, second, joint, _ = np.random.default_rng(5).multinomial(n, chances, studies).T
    ratio = paired_ratio(first + joint, second + joint, joint, 0.998)
    truth = (only_a + both) / (only_b + both)
    for failed in ((ratio.low > truth).sum(), (ratio.high < truth).sum()):
        assert stats.binomtest(int(failed), studies, 0.0015, alternative="greater").pvalue > ALARM
        assert stats.binomtest(int(failed), studies, 0.0005, alternative="less").pvalue > ALARM


def test_zero_errors_divide_nothing():
    a, b, both = np.array([0, 0, 5, 7]), np.array([0, 5, 0, 7]), np.array([0, 0, 0, 7])
    estimate, low, high = paired_ratio(a, b, both, 0.95)
    assert estimate.tolist() == [1.0, 0.5 / 5.5, 11.0, 1.0]
    assert (low <= estimate).all()
    assert (estimate <= high).all()
    assert low[:2].tolist() == [0.0, 0.0]
    assert np.isinf(high[[0, 2]]).all()
    assert low[3] < 1.0 < high[3]  # policies that never differed are not known to be equal


# ---------------------------------------------------------------- what the suite says


def tallied(errors, both, n=10_000):
    """A study of two arms in which policies "a", "b", ... erred that often, and pairs that often at once."""
    chosen = np.array([[[wrong, n - wrong]] for wrong in errors])
    pairs = np.array([[both.get(pair, 0)] for pair in combinations(range(len(errors)), 2)])
    blank = np.zeros((len(errors), 1), np.int64)
    tally = ReplicationSums(
        chosen, blank, chosen, blank, blank, blank, np.zeros_like(chosen), pairs, np.zeros(pairs.shape)
    )
    recipes = tuple(Recipe(label, {}, label) for label in "abcd"[: len(errors)])
    return Study(tp.World([0.0, 1.0]), recipes, (40,), n, 0, tally)


def test_relative_to_the_best_and_to_the_best_rival():
    found = tp.Suite(
        ("a", "b", "c"),
        {
            "better": tallied([400, 800, 500], {}),
            "worse": tallied([900, 600, 700], {}),
            "few": tallied([399, 199, 700], {}),
            "never": tallied([3, 0, 0], {}),
            "c left out": tallied([100, 50], {(0, 1): 50}),
        },
    )
    np.testing.assert_allclose(found.relative("a"), [1, 900.5 / 600.5, 399.5 / 199.5, 7, 100.5 / 50.5])
    np.testing.assert_allclose(found.relative("c"), [500.5 / 400.5, 700.5 / 600.5, 700.5 / 199.5, 1, np.nan])
    standing = found.standing()
    assert standing["rival"] == ["c", "b", "b", "b", "b"]
    assert standing["errors"] == [500, 600, 199, 0, 50]
    assert standing["ratio"][0] == pytest.approx(400.5 / 500.5)
    assert standing["worse"] == [False, True, False, False, False]
    assert found.worse == ["worse"]
    assert found.score == pytest.approx(stats.gmean(standing["ratio"]))
    assert "clearly worse than the best rival" in found.verdict
    assert "bound of the ratio above 1.25) in worse.\n" in found.verdict
    assert "In 3 of 5 worlds, the best rival made fewer than 400 errors" in found.verdict
    assert found.interrupted  # most worlds are missing
    assert found.table()["errors"][:3] == [400, 800, 500]
    assert repr(found).startswith("Suite of 5 worlds\nworld")
    with pytest.raises(tp.errors.UnknownName, match="unknown policy 'd' in this suite"):
        found.relative("d")


def test_errors_in_common_tighten_the_bound():
    apart, together = (tp.Suite(("a", "b"), {"w": tallied([600, 420], both)}) for both in ({}, {(0, 1): 415}))
    assert apart.standing()["ratio"] == together.standing()["ratio"]
    assert not apart.worse
    assert together.worse == ["w"]


def test_geometric_mean_passes_over_what_is_missing():
    assert geometric_mean([1.0, 4.0, np.nan]) == pytest.approx(2.0)


# ---------------------------------------------------------------- running it


@pytest.fixture(scope="module")
def tiny():
    """A policy of one's own, alone: it meets all default policies."""
    pytest.importorskip("numba")
    return tp.suite(tp.policy("linlucb", n0=3, label="mine"), replications=3, seed=1)


def test_a_policy_alone_meets_the_default_rivals_in_every_world(tiny):
    assert tiny.policies == ("mine", *POLICIES)
    assert list(tiny.studies) == [case.name for case in COLLECTION]
    assert not tiny.interrupted
    for case in COLLECTION:
        study = tiny.studies[case.name]
        assert (study.world, study.budgets, study.replications) == (case.world, (case.budget,), 3)
        assert set(tiny.policies) - set(study.policies) == set(case.too_slow)


def test_it_is_what_simulate_finds(tiny):
    case = COLLECTION[4]
    alone = tp.simulate(case.world, "linlucb", case.budget, replications=3, seed=1)
    study = tiny.studies[case.name]
    assert study.errors("linlucb").tolist() == alone.errors("linlucb").tolist()
    assert study.pulls("linlucb").tolist() == alone.pulls("linlucb").tolist()
    assert study.pulls("linlucb").tolist() != study.pulls("mine").tolist()


def test_the_default_policy_is_not_its_own_rival(monkeypatch):
    met = []
    monkeypatch.setattr(
        "tideproof.research.suite.policy_suite.run_plan", lambda plan, *rest: met.append(plan) or tiny_study()
    )
    assert tp.suite("contrast").policies == POLICIES
    assert tp.suite(["reduce:lucb", "linlucb"]).policies == ("reduce:lucb", "linlucb")
    assert all(plan.policies[0].label == "reduce:lucb" for plan in met[len(COLLECTION) :])  # never left out


def tiny_study():
    return tallied([1, 2], {})


def test_each_world_has_its_own_replications(monkeypatch):
    counts = []
    monkeypatch.setattr(
        "tideproof.research.suite.policy_suite.run_plan",
        lambda plan, n, *rest: counts.append(n) or tiny_study(),
    )
    tp.suite()
    assert counts == [case.replications for case in COLLECTION]


def test_ctrl_c_keeps_the_worlds_that_are_done(monkeypatch):
    studies = [tiny_study(), tiny_study()]

    def stop(*arguments):
        if not studies:
            raise KeyboardInterrupt
        return studies.pop()

    monkeypatch.setattr("tideproof.research.suite.policy_suite.run_plan", stop)
    found = tp.suite()
    assert len(found.studies) == 2
    assert found.interrupted
    with pytest.raises(KeyboardInterrupt):
        tp.suite()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": "linlucp"}, "unknown policy 'linlucp'; did you mean 'linlucb'"),
        ({"policies": []}, "policies must not be empty"),
        ({"policies": ["linlucb", "linlucb"]}, "two policies have the label 'linlucb'"),
        ({"replications": 0}, "replications must be a whole number of at least 1, not 0"),
        ({"seed": -1}, "seed must be"),
        ({"policies": tp.policy("linlucb", n0=50)}, "a budget of 60 is too small for linlucb"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(monkeypatch, arguments, message):
    monkeypatch.setattr("tideproof.research.suite.policy_suite.run_plan", None)
    with pytest.raises(tp.errors.InputError, match=message):
        tp.suite(**arguments)


# ---------------------------------------------------------------- the command line


def run(arguments, columns=120):
    return CliRunner().invoke(app, ["simulate", *arguments.split()], env={"COLUMNS": str(columns)})


def test_the_screen_shows_ratios_and_the_least_pics_of_each_world():
    found = tp.Suite(("a", "b"), {"one": tallied([400, 800], {}), "two": tallied([900, 600], {})})
    (table,) = suite_tables(found, 120)
    cells = {
        str(column.header).split("\n")[0]: [str(cell) for cell in column.cells] for column in table.columns
    }
    assert cells == {
        "world": ["one", "two", "geometric mean"],
        "arms": ["2", "2", ""],
        "budget": ["40", "40", ""],
        "a": ["1.00", "1.50", "1.22"],
        "b": ["2.00", "1.00", "1.41"],
        "PICS": ["0.0400", "0.0600", ""],
    }


def test_command_prints_a_row_for_each_world(monkeypatch, tmp_path, tiny):
    calls = []
    monkeypatch.setattr(
        "tideproof.research.suite.policy_suite.suite", lambda *given: calls.append(given) or tiny
    )
    path = tmp_path / "t.csv"
    result = run(f"--suite --csv {path}")
    assert result.exit_code == 0
    assert calls == [(None, None, 0, None, True, "auto", "even")]
    for case in COLLECTION:
        assert case.name in result.stdout
    assert "geometric mean" in result.stdout
    assert "not simulated, because the policy is too slow" in result.stdout
    assert tiny.verdict in result.stdout
    assert len(path.read_text().splitlines()) == len(tiny.table()) + 1
    assert "budget" in result.stdout

    narrow = run("--suite", columns=80).stdout  # arms and budgets give way, numbers do not
    assert "budget" not in narrow
    assert "\u2026" not in narrow
    calls.pop()

    result = run("--suite --json --no-progress --policies a,b --policies c --replications 7")
    assert calls[1] == (["a", "b", "c"], 7, 0, None, False, "auto", "even")
    found = json.loads(result.stdout)
    assert found["score"] == tiny.score
    assert found["table"] == tiny.table().to_dicts()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--suite --arms 5", "--arms cannot be combined with --suite"),
        ("--suite --budgets 100", "allowed: --worlds, --policies, --replications, --seed"),
        ("--suite --save x.json", "--save cannot be combined with --suite"),
        ("--suite --plot x.png", "--plot cannot be combined with --suite"),
        ("--suite --policies linlucp", "unknown policy 'linlucp'"),
        ("--suite --replications 0", "replications must be a whole number of at least 1"),
        ("--suite --csv nowhere/t.csv", "there is no folder 'nowhere'"),
        ("--suite --worlds odd", "unknown collection of worlds 'odd'"),
        ("--worlds uneven", "requires --suite, whose collection"),
    ],
)
def test_command_refuses(arguments, message):
    refused = run(arguments).exception
    assert isinstance(refused, tp.errors.InputError)  # `main` makes it one line and exit code 2
    assert message in str(refused)
