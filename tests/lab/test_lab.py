"""The lab: the same numbers whoever computes them, right numbers, and a clear word for bad input.

Statistical tests have fixed seeds; ALARM is the probability that one would fail by accident were its
seed drawn anew.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

import tideproof as tp
from tideproof.cli import main
from tideproof.core.arrays import Int1
from tideproof.core.link import kernel
from tideproof.draw.curves import floor_of
from tideproof.files import check_picture
from tideproof.kernels.random import uniform
from tideproof.lab import engines
from tideproof.lab.curves import curves
from tideproof.lab.engines.cpu import CHUNK, run_chunk
from tideproof.lab.executors import dask
from tideproof.lab.intervals import binomial, paired, quantile
from tideproof.lab.plan import Plan
from tideproof.policies.definition import Policy
from tideproof.policies.selections import MEAN
from tideproof.policies.spec import PolicySpec

pytest.importorskip("numba")

ALARM = 1e-6
WORLD = tp.mdm(5)
POLICIES = ["linlucb", "round-robin", "round-robin+ols"]
BUDGETS = [30, 60, 100]


class Inline(Executor):
    """Runs each task where it is submitted."""

    def submit(self, task, /, *args):
        future = Future()
        future.set_result(task(*args))
        return future


class Backwards(Executor):
    """Runs nothing until a result is wanted, then the task submitted last comes first."""

    def __init__(self):
        self.tasks = []

    def submit(self, task, /, *args):
        future = Future()
        future.result = lambda: self._run(future)
        self.tasks.append((future, task, args))
        return future

    def _run(self, wanted):
        while self.tasks:
            future, task, args = self.tasks.pop()
            future.set_result(task(*args))
        return Future.result(wanted)


def same(a, b):
    return all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(a.tally, b.tally, strict=True))


@pytest.fixture(scope="module")
def study():
    return tp.simulate(WORLD, POLICIES, BUDGETS, replications=3500, seed=7)


# ---------------------------------------------------------------- the same numbers for everybody


@pytest.mark.parametrize(
    "make", [lambda: ThreadPoolExecutor(1), lambda: ThreadPoolExecutor(3), Inline, Backwards]
)
def test_any_executor_gives_the_same_bits(study, make):
    with make() as executor:
        other = tp.simulate(WORLD, POLICIES, BUDGETS, replications=3500, seed=7, executor=executor)
    assert same(study, other)


def test_a_plan_travels_as_plain_names():
    plan = Plan(WORLD, (tp.policy("linlucb", n0=3, label="L"), tp.policy("round-robin+ols")), (40, 60), 3)
    there = pickle.loads(pickle.dumps(plan))
    assert [spec.label for spec in there.policies] == ["L", "round-robin+ols"]
    for here, sent in zip(run_chunk(plan, 0, 50), run_chunk(there, 0, 50), strict=True):
        assert here.tobytes() == sent.tobytes()


def test_more_work_than_is_handed_out_at_once(monkeypatch, study):
    monkeypatch.setattr("tideproof.lab.run._MOST_HANDED_OUT", 2)
    assert same(study, tp.simulate(WORLD, POLICIES, BUDGETS, replications=3500, seed=7, executor=Inline()))


@pytest.mark.filterwarnings("ignore")  # distributed's own
def test_a_dask_cluster_of_two_processes_gives_the_same_bits(tmp_path, monkeypatch, capsys):
    distributed = pytest.importorskip("distributed")
    policies = [
        "round-robin+ols",
        tp.policy("round-robin+ols", n0=6, label="longer start"),
    ]  # one compilation
    sizes = {"replications": 4200, "seed": 7}
    local = tp.simulate(WORLD, policies, BUDGETS, **sizes)
    options = {"n_workers": 2, "processes": True, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        with dask(cluster.scheduler_address) as executor:
            spread = tp.simulate(WORLD, policies, BUDGETS, executor=executor, **sizes)
        assert same(local, spread)

        command = "simulate --no-progress --policies round-robin+ols --budgets 30,60,100 --replications 4200"
        command += f" --seed 7 --scheduler {cluster.scheduler_address}"
        saved = tmp_path / "study.json"
        assert run(monkeypatch, *command.split(), "--save", str(saved)) == 0
    assert np.array_equal(tp.Study.load(saved).pics("round-robin+ols"), local.pics("round-robin+ols"))


@pytest.mark.filterwarnings("ignore")  # distributed's own
def test_a_dask_scheduler_that_is_not_there():
    pytest.importorskip("distributed")
    nobody = "tcp://127.0.0.1:1"
    with (
        pytest.raises(tp.InputError, match=f"no Dask scheduler answers at '{nobody}'"),
        dask(nobody, patience=0.5),
    ):
        pass


def test_fewer_replications_are_the_first_ones():
    whole = tp.simulate(WORLD, "round-robin", 30, replications=60, seed=3)
    runs = [tp.replay(WORLD, "round-robin", seed=3, replication=r, budget=30) for r in range(60)]
    assert whole.tally.chosen[0, 0].tolist() == np.bincount([r.selected for r in runs], minlength=5).tolist()


# ---------------------------------------------------------------- what a study says


def brute_force(world, policies, budgets, replications, seed):
    """Selections (P, R, B) and pulls (P, R, B, K), replayed one by one."""
    selected = np.zeros((len(policies), replications, len(budgets)), int)
    pulls = np.zeros((*selected.shape, world.arms), int)
    for p, policy in enumerate(policies):
        for r in range(replications):
            for b, budget in enumerate(budgets):
                one = tp.replay(world, policy, seed, r, budget)
                selected[p, r, b] = one.selected
                pulls[p, r, b] = np.bincount(one.arm, minlength=world.arms)
    return selected, pulls


def test_study_against_replays():
    world = tp.World([0.0, 0.3, 0.7, 0.7], lengths=(2, 6), shifts=tp.Normal(0, 5))  # two best arms
    n, budgets = 40, (24, 40)
    study = tp.simulate(world, POLICIES, budgets, replications=n, seed=2**64 - 1)
    selected, pulls = brute_force(world, POLICIES, budgets, n, seed=2**64 - 1)
    cost = world.gaps[selected]
    wrong = ~np.isin(selected, world.best)
    for p, label in enumerate(POLICIES):
        np.testing.assert_allclose(study.pics(label), wrong[p].mean(axis=0))
        np.testing.assert_allclose(study.eoc(label), cost[p].mean(axis=0))
        np.testing.assert_allclose(study.stderr(label), stats.sem(wrong[p].astype(float)))
        np.testing.assert_allclose(study.stderr(label, "eoc"), stats.sem(cost[p]))
        np.testing.assert_allclose(study.pulls(label), pulls[p].mean(axis=0))
        assert study.samples(label).tolist() == list(budgets)
        assert not study.stderr(label, "samples").any()
        assert not study.stopped(label).any()
    for (i, a), (j, b) in combinations(enumerate(POLICIES), 2):
        np.testing.assert_allclose(
            study.ratio(a, b).estimate, (wrong[i].sum(axis=0) + 0.5) / (wrong[j].sum(axis=0) + 0.5)
        )
        for of, value in (("pics", wrong.astype(float)), ("eoc", cost)):
            paired_up = value[i] - value[j]
            found, mirrored = study.difference(a, b, of), study.difference(b, a, of)
            np.testing.assert_allclose(found.estimate, paired_up.mean(axis=0), atol=1e-15)
            np.testing.assert_allclose(found.stderr, stats.sem(paired_up), atol=1e-15)
            np.testing.assert_allclose(mirrored.low, -found.high, atol=1e-15)
    itself = study.difference("linlucb", "linlucb", "eoc")
    assert not itself.estimate.any()
    assert not itself.stderr.any()


def test_replay_is_what_simulate_ran():
    run = tp.replay(WORLD, "linlucb", seed=9, replication=4, budget=80)
    later = tp.replay(WORLD, "linlucb", seed=9, replication=4, budget=200)
    for name in ("arm", "environment", "shift", "reward", "estimates"):
        assert np.array_equal(getattr(run, name), getattr(later, name)[:80])
    assert run.estimates.shape == (80, 5)
    assert run.selected == run.estimates[-1].argmax()
    changes = np.flatnonzero(np.diff(run.environment, prepend=-1))
    assert np.array_equal(run.shift, np.repeat(run.shift[changes], np.diff([*changes, 80])))
    table = run.table()
    assert table.columns[:5] == ["step", "arm", "environment", "shift", "reward"]
    assert table["step"] == list(range(1, 81))
    assert repr(run).startswith(f"Replay of 80 steps, selected arm {run.selected}\n")


def test_replay_shows_raw_means_where_nothing_else_is_known():
    run = tp.replay(WORLD, "round-robin", seed=9, budget=50)
    means = [run.reward[run.arm == arm].mean() for arm in range(5)]
    np.testing.assert_allclose(run.estimates[-1], means)


def test_policies_meet_the_same_world():
    one, other = (tp.replay(WORLD, policy, 5, 8, 120) for policy in ("linlucb", "round-robin"))
    assert np.array_equal(one.environment, other.environment)
    assert np.array_equal(one.shift, other.shift)
    noises = [run.reward - run.shift - np.array(WORLD.means)[run.arm] for run in (one, other)]
    np.testing.assert_allclose(*noises, atol=1e-12)
    assert (one.arm != other.arm).any()


def test_common_random_numbers_make_differences_tighter():
    a, b = tp.policy("linlucb", label="a"), tp.policy("linlucb", exploration=12.0, label="b")
    study = tp.simulate(WORLD, [a, b], [40], replications=4000, seed=1)
    alone = np.hypot(study.stderr("a"), study.stderr("b"))
    assert study.difference("a", "b").stderr < 0.85 * alone


def test_unidentified_selections_are_counted():
    ones = tp.World([0.0, 1.0], lengths=(1, 1))  # nothing can ever be compared
    study = tp.simulate(ones, ["round-robin+ols", "round-robin"], [10], replications=20)
    assert study.unidentified("round-robin+ols").tolist() == [1.0]
    assert study.unidentified("round-robin").tolist() == [0.0]
    assert not tp.replay(ones, "round-robin+ols", budget=10).identified


# ---------------------------------------------------------------- horizons and stopping


class Horizon(NamedTuple):
    half: int


class Nothing(NamedTuple):
    unused: Int1


@kernel
def first_half_then_other(params, state, data, slot, draw):
    return 0 if data.pulls[0] < params.half else 1


@kernel
def in_turn_until_a_coin_says_stop(params, state, data, slot, draw):
    if data.pulls[0] > 0 and data.pulls[1] > 0 and uniform(draw, 0) < 0.05:
        return -1
    return 0 if data.pulls[0] <= data.pulls[1] else 1


@kernel
def no_tell(params, state, data, slot, arm, n, draw):
    pass


def made_up(ask, needs_horizon):
    policy = Policy(
        name=ask.__name__,
        idea="",
        reference="",
        State=Nothing,
        configure=lambda arms, horizon, selection: Horizon((horizon or 0) // 2),
        ask=ask,
        tell=no_tell,
        minimum=lambda arms, params: 2,
        selections=(MEAN,),
        reads=frozenset(),
        needs_horizon=needs_horizon,
        shift_aware=True,
    )
    return PolicySpec(policy, MEAN, (), "made up")


def test_a_policy_that_needs_the_horizon_runs_once_for_each_budget():
    spec = made_up(first_half_then_other, needs_horizon=True)
    pulls = tp.simulate(tp.mdm(2), spec, [10, 20, 40], replications=30).pulls("made up")
    assert pulls.tolist() == [[5, 5], [10, 10], [20, 20]]
    anytime = replace(spec, policy=replace(spec.policy, needs_horizon=False))
    pulls = tp.simulate(tp.mdm(2), anytime, [10, 20, 40], replications=30).pulls("made up")
    assert pulls.tolist() == [[10, 0], [20, 0], [20, 20]]


def test_a_policy_that_stops_keeps_its_selection():
    spec, world, budgets, n = made_up(in_turn_until_a_coin_says_stop, False), tp.mdm(2), [5, 20, 60], 2000
    study = tp.simulate(world, spec, budgets, replications=n, seed=4)
    runs = [tp.replay(world, spec, 4, r, 60) for r in range(100)]
    few = tp.simulate(world, spec, budgets, replications=100, seed=4)
    steps = np.array([len(run.arm) for run in runs])
    for b, budget in enumerate(budgets):
        assert few.samples("made up")[b] == np.minimum(steps, budget).mean()
        assert few.stopped("made up")[b] == (steps < budget).mean()
        assert few.stderr("made up", "samples")[b] == pytest.approx(stats.sem(np.minimum(steps, budget)))
    assert few.tally.chosen[0, 2].tolist() == np.bincount([r.selected for r in runs], minlength=2).tolist()
    for stopped, budget in zip(study.tally.stopped[0], budgets, strict=True):
        chance = 1 - 0.95 ** (budget - 2)  # it may stop at each step after the second
        assert stats.binomtest(int(stopped), n, chance).pvalue > ALARM


# ---------------------------------------------------------------- against what is known


def wrong_among(study, label, budget):
    at = study.budgets.index(budget)
    return study.replications - int(study.tally.chosen[study.policies.index(label), at, -1])


def round_robin_pics(means, sigma, pulls):
    """P(the last arm has not the largest of independent normal means): a one-dimensional integral."""
    gaps = (means[-1] - np.array(means[:-1])) * np.sqrt(pulls) / sigma
    right, _ = integrate.quad(
        lambda z: stats.norm.pdf(z) * special.ndtr(z + gaps).prod(), -9, 9, epsabs=1e-12
    )
    return 1 - right


@pytest.fixture(scope="module")
def still():
    return tp.simulate(tp.mdm(5, "stationary"), ["round-robin"], [50, 150], replications=50_000, seed=10)


def test_round_robin_without_shifts_against_the_integral(still):
    for budget in still.budgets:
        p = round_robin_pics(still.world.means, 1.0, budget / 5)
        assert stats.binomtest(wrong_among(still, "round-robin", budget), 50_000, p).pvalue > ALARM


def test_the_same_test_fails_under_shifts(values):
    """Negative control: the raw mean is not what the integral says once the world moves."""
    p = round_robin_pics(WORLD.means, 1.0, 20)
    wrong = wrong_among(values["general"], "round-robin", 100)
    assert stats.binomtest(wrong, values["general"].replications, p).pvalue < ALARM


def test_the_raw_mean_drowns_under_skewed_shifts():
    """Negative control: every fourth pull meets a tide of 12, and the worse arm always gets it."""
    world = tp.World([1.0, 0.0], lengths=tp.Lengths([3, 1]), shifts=tp.Weekly([0.0, 12.0]))
    study = tp.simulate(world, ["round-robin", "round-robin+ols"], [120], replications=2000, seed=1)
    assert study.pics("round-robin") > 0.99
    assert study.pics("round-robin+ols") < 0.1


# policies.md, section 2: PICS at T = 100, 200, 300 in MDM, K = 5, and the replications behind them
PUBLISHED = {
    ("general", "linlucb"): (20_000, (0.0153, 0.0006, 0.0000)),
    ("general", "round-robin+ols"): (20_000, (0.058, 0.0116, 0.0036)),
    ("general", "round-robin"): (4_000, (0.134, 0.059, 0.028)),
    ("cannot-sample-all-arms", "linlucb"): (20_000, (0.0262, 0.0020, 0.0002)),
    ("cannot-sample-all-arms", "round-robin+ols"): (20_000, (0.0804, 0.0235, 0.0074)),
}


@pytest.fixture(scope="module")
def values():
    budgets = [100, 200, 300]
    return {
        scenario: tp.simulate(tp.mdm(5, scenario), POLICIES, budgets, replications=40_000, seed=12)
        for scenario in ("general", "cannot-sample-all-arms")
    }


@pytest.mark.parametrize(("cell", "published"), PUBLISHED.items())
def test_published_values_as_two_binomials(values, cell, published):
    (scenario, label), (n, rates) = cell, published
    study = values[scenario]
    for budget, rate in zip(study.budgets, rates, strict=True):
        ours, theirs = wrong_among(study, label, budget), round(rate * n)
        table = [[ours, study.replications - ours], [theirs, n - theirs]]
        assert stats.fisher_exact(table).pvalue > ALARM / len(rates), (budget, ours / study.replications)


def test_linlucb_against_half_a_million_replications(values):
    ours = wrong_among(values["cannot-sample-all-arms"], "linlucb", 100)
    table = [[ours, 40_000 - ours], [13_800, 500_000 - 13_800]]  # PICS .0276
    assert stats.fisher_exact(table).pvalue > ALARM


# ---------------------------------------------------------------- intervals


def test_binomial_interval_is_exact():
    events = np.array([0, 1, 7, 99, 100])
    low, high = binomial(events, 100, 0.9)
    for k, left, right in zip(events, low, high, strict=True):
        exact = stats.binomtest(int(k), 100).proportion_ci(0.9, method="exact")
        assert (left, right) == pytest.approx((exact.low, exact.high), rel=1e-9)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (5, 0), (0, 5), (12, 3), (40, 41), (100, 0)])
def test_paired_interval_solves_the_score_equation(b, c):
    """At its ends the score statistic is +-z, with the likelihood maximised by a general optimiser."""
    n = 100
    low, high = (float(end[0]) for end in paired(np.array([b]), np.array([c]), n, 0.95))
    assert -1 <= low <= (b - c) / n <= high <= 1
    for d in (low, high):
        if abs(d) == 1:
            continue

        def unlikely(q, d=d):
            counts, chances = np.array([b, c, n - b - c]), np.array([q + d, q, 1 - 2 * q - d])
            return -special.xlogy(counts, np.maximum(chances, 1e-300)).sum()

        bounds = max(0.0, -d), (1 - d) / 2
        q = optimize.minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        z = ((b - c) / n - d) / np.sqrt((2 * q + d * (1 - d)) / n)
        assert abs(z) == pytest.approx(quantile(0.95), rel=1e-3)


@pytest.mark.parametrize("chances", [(0.004, 0.001), (0.002, 0.002), (0.001, 0.0), (0.05, 0.02)])
def test_paired_interval_covers(chances):
    """Exact coverage by enumeration: the score interval is close to its level even for rare errors."""
    n = 1000
    b, c = (grid.ravel() for grid in np.mgrid[:120, :60])
    low, high = paired(b, c, n, 0.95)
    truth = chances[0] - chances[1]
    weight = stats.multinomial(n, [*chances, 1 - sum(chances)]).pmf(np.stack([b, c, n - b - c], axis=1))
    assert weight.sum() == pytest.approx(1.0)
    assert weight[(low <= truth) & (truth <= high)].sum() > 0.93


# ---------------------------------------------------------------- saving, showing


def test_save_and_load(study, tmp_path):
    path = tmp_path / "study.json"
    study.save(path)
    loaded = tp.Study.load(path)
    assert same(study, loaded)
    assert repr(loaded) == repr(study)
    for name in ("world", "recipes", "budgets", "replications", "seed", "interrupted", "made"):
        assert getattr(loaded, name) == getattr(study, name)
    assert set(loaded.made) == {"tideproof", "numpy", "numba", "python", "engine", "seconds"}
    again = tp.simulate(
        loaded.world,
        [tp.policy(recipe.name, label=recipe.label, **recipe.options) for recipe in loaded.recipes],
        loaded.budgets,
        loaded.replications,
        loaded.seed,
    )
    assert same(study, again)
    assert list(tmp_path.iterdir()) == [path]


def test_a_study_of_one_policy_and_one_replication_survives_saving(tmp_path):
    lone = tp.simulate(WORLD, tp.policy("round-robin+ols", n0=np.int64(1)), [30], replications=1)
    assert np.isnan(lone.stderr("round-robin+ols(n0=1)")).all()
    lone.save(tmp_path / "lone.json")
    assert same(lone, tp.Study.load(tmp_path / "lone.json"))


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "something else"}'])
def test_loading_what_is_no_study(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(tp.InputError, match="is not a saved study"):
        tp.Study.load(path)


def test_loading_a_later_version_or_nothing(tmp_path, study):
    path = tmp_path / "study.json"
    study.save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    with pytest.raises(tp.InputError, match="has version 99; this tideproof reads up to 2"):
        tp.Study.load(path)
    with pytest.raises(tp.InputError, match=r"cannot read .*none.json': there is no such file"):
        tp.Study.load(tmp_path / "none.json")


def test_table_and_repr(study):
    table = study.table()
    assert len(table) == len(POLICIES) * len(BUDGETS)
    assert table["pics"][:3] == study.pics("linlucb").tolist()
    assert repr(study).startswith("Study of 5 arms, 3,500 replications, seed 7\npolicy")
    assert "<table>" in study._repr_html_()


def test_curves_are_data_first(study):
    drawn = curves(study, "pics", 0.95)
    assert [curve.label for curve in drawn] == POLICIES
    assert np.array_equal(drawn[0].value, study.pics("linlucb"))
    assert (drawn[0].low < drawn[0].value).all()
    nothing = [
        curve._replace(value=curve.value * 0, low=curve.low * 0, high=curve.high * 0) for curve in drawn
    ]
    assert floor_of(nothing) == 0.1
    assert 0 < floor_of(drawn) < min(curve.value.min() for curve in drawn)


@pytest.mark.parametrize("of", ["pics", "eoc", "samples"])
@pytest.mark.parametrize("log", [True, False])
def test_plots_are_saved(study, tmp_path, of, log):
    pytest.importorskip("matplotlib")
    path = tmp_path / ("picture.png" if log else "picture.svg")
    figure = study.plot(path, of=of, log=log)
    assert path.stat().st_size > 5000
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == POLICIES


def test_zeros_on_a_log_scale_are_hollow_and_on_the_edge(study, tmp_path):
    pytest.importorskip("matplotlib")
    never = replace(study, tally=study.tally._replace(chosen=study.tally.chosen * [0, 0, 0, 0, 1]))
    axes = never.plot(tmp_path / "zero.png").axes[0]
    assert "hollow: zero" in axes.get_title("right")
    assert np.isfinite(axes.get_ylim()).all()


def test_pictures_that_cannot_be_made(monkeypatch):
    with pytest.raises(tp.InputError, match=r"must end in .png, .svg, .pdf; 'a.docx' does not"):
        check_picture("a.docx")
    monkeypatch.setattr("tideproof.files.find_spec", lambda name: None)
    with pytest.raises(tp.MissingExtra, match=r"pip install 'tideproof\[plot\]'"):
        check_picture(None)


# ---------------------------------------------------------------- progress and Ctrl-C


def test_progress_changes_nothing(study, capsys):
    assert same(study, tp.simulate(WORLD, POLICIES, BUDGETS, replications=3500, seed=7, progress=True))
    assert capsys.readouterr() == ("", "")  # nobody looks


class Interrupting(Inline):
    """Ctrl-C arrives while the block of that number is awaited."""

    def __init__(self, at):
        self.at, self.futures = at, []

    def submit(self, task, /, *args):
        future = Future() if len(self.futures) > self.at else super().submit(task, *args)
        if len(self.futures) == self.at:
            future.result = self._interrupt
        self.futures.append(future)
        return future

    def _interrupt(self):
        raise KeyboardInterrupt


def test_ctrl_c_keeps_finished_work(capsys):
    pool = Interrupting(at=2)
    kept = tp.simulate(WORLD, "round-robin", [30], replications=10 * CHUNK, seed=7, executor=pool)
    assert kept.interrupted
    assert kept.replications == 2 * CHUNK
    assert same(kept, tp.simulate(WORLD, "round-robin", [30], replications=2 * CHUNK, seed=7))
    assert capsys.readouterr().err == "interrupted after 2,000 of 10,000 replications\n"
    assert all(future.cancelled() for future in pool.futures[3:])
    assert "interrupted" in repr(kept)


def test_ctrl_c_before_anything_is_finished():
    with pytest.raises(KeyboardInterrupt):
        tp.simulate(WORLD, "round-robin", [30], replications=5000, executor=Interrupting(at=0))


def test_a_real_ctrl_c(capsys):
    tp.simulate(WORLD, "round-robin", [500], replications=1)  # compiled
    threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
    kept = tp.simulate(WORLD, "round-robin", [500], replications=10_000_000)
    assert kept.interrupted
    assert 0 < kept.replications < 10_000_000
    assert kept.tally.samples[0, 0] == 500 * kept.replications


# ---------------------------------------------------------------- bad input


class Unused(Executor):
    def submit(self, task, /, *args):
        raise AssertionError("nothing may run")


TWICE = [tp.policy("linlucb", n0=3, label="x"), tp.policy("linlucb", label="x")]
BAD = [
    ({"world": 5}, tp.InputError, r"world must be tp.mdm\(...\).* not 5"),
    ({"policies": []}, tp.InputError, "policies must not be empty"),
    ({"policies": ["linlucb", "linlucb"]}, tp.InputError, "two policies are labelled 'linlucb'"),
    ({"policies": TWICE}, tp.InputError, "two policies are labelled 'x'"),
    ({"policies": "linluck"}, tp.UnknownName, "unknown policy 'linluck'; did you mean 'linlucb'"),
    ({"policies": None}, tp.InputError, "a policy is a name or .* not None"),
    ({"executor": 4}, tp.InputError, "executor must be a concurrent.futures.Executor, not 4"),
    ({"policies": [7]}, tp.InputError, "a policy is a name or .* not 7"),
    ({"budgets": []}, tp.InputError, "budgets must not be empty"),
    ({"budgets": [200, 100]}, tp.InputError, "ascending order, each once; 100 comes after 200"),
    ({"budgets": [100, 100]}, tp.InputError, "ascending order, each once; 100 comes after 100"),
    ({"budgets": [-5, 100]}, tp.InputError, "a budget must be a whole number of at least 1, not -5"),
    ({"budgets": [100.5]}, tp.InputError, "a budget must be a whole number of at least 1, not 100.5"),
    ({"budgets": [29, 100]}, tp.BudgetTooSmall, "a budget of 29 is too small for linlucb with 5 arms; .* 30"),
    ({"replications": 0}, tp.InputError, "replications must be a whole number of at least 1, not 0"),
    ({"seed": -1}, tp.InputError, f"seed must be a whole number from 0 to {2**64 - 1}, not -1"),
    ({"seed": 2**64}, tp.InputError, f"seed must be a whole number from 0 to {2**64 - 1}, not {2**64}"),
]


@pytest.mark.parametrize(("change", "error", "message"), BAD)
def test_bad_input_is_refused_before_anything_runs(change, error, message):
    good = {"world": WORLD, "policies": "linlucb", "budgets": [100], "executor": Unused()}
    with pytest.raises(error, match=message):
        tp.simulate(**(good | change))


def test_a_policy_with_a_horizon_is_checked_at_every_budget():
    spec = made_up(first_half_then_other, needs_horizon=True)
    picky = replace(spec, policy=replace(spec.policy, minimum=lambda arms, params: 2 * params.half + 1))
    with pytest.raises(tp.BudgetTooSmall, match="a budget of 10 is too small for made up"):
        tp.simulate(WORLD, picky, [10, 11], executor=Unused())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"world": None}, "world must be"),
        ({"policy": "nope"}, "unknown policy 'nope'"),
        ({"budget": 10}, "a budget of 10 is too small for linlucb"),
        ({"seed": -1}, "seed must be"),
        ({"replication": -1}, "replication must be a whole number"),
    ],
)
def test_bad_replays(change, message):
    with pytest.raises(tp.InputError, match=message):
        tp.replay(**({"world": WORLD, "policy": "linlucb", "budget": 100} | change))


def test_reading_a_study_wrongly(study):
    with pytest.raises(tp.UnknownName, match="unknown policy 'lin' in this study; did you mean 'linlucb'"):
        study.pics("lin")
    with pytest.raises(tp.UnknownName, match="unknown measure 'pisc'; did you mean 'pics'"):
        study.stderr("linlucb", "pisc")
    with pytest.raises(tp.UnknownName, match="unknown measure 'samples'"):
        study.difference("linlucb", "round-robin", "samples")
    with pytest.raises(tp.InputError, match=r"level must be between 0 and 1, such as 0.95, not 95"):
        study.interval("linlucb", level=95)


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = r"a Dask cluster needs distributed: .*tideproof\[dask\]"
    with pytest.raises(tp.MissingExtra, match=message), dask("tcp://anywhere:1"):
        pass


# ---------------------------------------------------------------- the command line


def run(monkeypatch, *arguments):
    """Run the command line as the shell does; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["tideproof", *arguments])
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0


def test_command_prints_a_table_and_saves_files(monkeypatch, capsys, tmp_path):
    csv, saved, picture = tmp_path / "t.csv", tmp_path / "s.json", tmp_path / "p.svg"
    command = "simulate --arms 5 --configuration mdm --scenario general --budgets 30,60,100 --no-progress"
    command += " --policies linlucb,round-robin --policies round-robin+ols --replications 3500 --seed 7"
    files = ["--csv", str(csv), "--save", str(saved), "--plot", str(picture)]
    assert run(monkeypatch, *command.split(), *files) == 0
    shown = capsys.readouterr().out
    study = tp.Study.load(saved)
    assert same(study, tp.simulate(WORLD, POLICIES, BUDGETS, replications=3500, seed=7))
    assert f"{study.pics('linlucb')[0]:.4f} ± {study.stderr('linlucb')[0]:.4f}" in shown
    assert all(str(path.name) in shown.replace("\n", "") for path in (csv, saved, picture))
    assert csv.read_text().splitlines()[0].startswith("policy,budget,pics,")
    assert picture.read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize("width", [28, 60])  # a number may be cut at its sign, not within
def test_numbers_stay_whole_on_a_narrow_screen(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    command = (
        "simulate --policies linlucb,round-robin --budgets 30,60,100,200 --replications 300 --no-progress"
    )
    assert run(monkeypatch, *command.split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if "linlucb" in line or "round-robin" in line]
    assert len(rows) > 2
    text = "".join(lines)
    assert text.count("±") + text.count("<") == 8 + 1  # two policies at four budgets, and the title
    assert "…" not in text


def test_command_prints_json_for_scripts(monkeypatch, capsys):
    command = (
        "simulate --json --policies round-robin --budgets 30 --replications 100 --configuration slippage"
    )
    assert run(monkeypatch, *command.split()) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["policy"], row["budget"], row["samples"]) == ("round-robin", 30, 30.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--scenario stormy", "unknown scenario 'stormy'"),
        ("--configuration flat", "unknown configuration 'flat'"),
        ("--policies linluck", "unknown policy 'linluck'"),
        ("--budgets 100,x", "whole numbers separated by commas, not 'x'"),
        ("--budgets 10", "a budget of 10 is too small for linlucb"),
        ("--arms 1", "arms must be a whole number of at least 2, not 1"),
        ("--delta nan", "delta must be a finite number"),
        ("--csv /nowhere/t.csv", "there is no folder '/nowhere'"),
        ("--plot p.docx", "a picture must end in"),
    ],
)
def test_command_errors_are_one_line(monkeypatch, capsys, arguments, message):
    assert run(monkeypatch, "simulate", *arguments.split()) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_numbers_as_they_are_typed(monkeypatch, capsys):
    command = "simulate --json --policies round-robin --budgets 3e1 --replications"
    assert run(monkeypatch, *command.split(), "1e2") == 0
    assert run(monkeypatch, *command.split(), "100") == 0
    typed, plain = capsys.readouterr().out.splitlines()
    assert typed == plain
    assert json.loads(plain)[0]["budget"] == 30
    for wrong in ("many", "1.5", "1e-2", "inf", "nan", "1e999999999"):
        assert run(monkeypatch, *command.split(), wrong) == 2
        assert f"whole number such as 1000 or 1e5, not '{wrong}'" in _flat(capsys.readouterr().err)
    assert run(monkeypatch, "simulate", "--delta", "half") == 2
    assert "it must be a number, not 'half'" in _flat(capsys.readouterr().err)


def _flat(box):
    return " ".join(box.replace("│", " ").split())


def test_command_ends_with_130_when_interrupted(monkeypatch, capsys):
    interrupted = engines.CPU._replace(workers=lambda: Interrupting(at=1))
    monkeypatch.setattr(engines, "CPU", interrupted)
    command = "simulate --policies round-robin --budgets 30 --replications 5000 --no-progress"
    assert run(monkeypatch, *command.split()) == 130
    captured = capsys.readouterr()
    assert "interrupted after 1,000 of 5,000 replications" in captured.err
    assert "round-robin" in captured.out


def test_a_run_compiles_in_the_thread_that_hears_ctrl_c(monkeypatch):
    played = []

    def noted(plan, first, count):
        played.append((threading.current_thread() is threading.main_thread(), count))
        return run_chunk(plan, first, count)

    monkeypatch.setattr(engines, "CPU", engines.CPU._replace(run_chunk=noted))
    assert tp.simulate(tp.mdm(3), "round-robin", 30, 10, seed=1, engine="cpu").replications == 10
    assert played == [(True, 1), (False, 10)]
