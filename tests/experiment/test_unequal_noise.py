"""Experiments whose policy allows for unequal noise, interactions or outlying cells."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import tideproof as tp
from experiments import ARMS, MEANS, experiment, replace_kernels, saved_numbers, saved_state
from naive_experiment import check_replay, check_same, check_uneven
from tideproof.core.kernel_array_access import wrap_state
from tideproof.experiment.snapshots.experiment_file import rebuild_state
from tideproof.kernels.simulate.threefry import ASK, TELL, Draw

KINDS = ["by-arm:contrast", "auto:contrast", "by-arm:interaction:contrast", "robust:contrast"]
OTHERS = ["auto:linlucb", "robust:top-two-thompson", "by-arm:auto:round-robin", "interaction:linlucb"]
ROUGH = replace(tp.mdm(3), sigma=(1.0, 2.0, 0.5), interaction=0.7, lengths=(4, 9))
WRONG = replace(tp.mdm(3), outliers=tp.worlds.Outliers(0.1, 20.0), lengths=(6, 12))


def play(run, steps, seed=0, omega=0.6, each=6, wrong=()):
    """Ask and tell; each arm has its own shift each day, and the rewards of cells in `wrong` are 50 too high."""
    random, alone = np.random.default_rng(seed), {}
    for step in range(steps):
        day = f"day {step // each}"
        pull = run.ask(environment=day)
        own = alone.setdefault((pull.arm, day), omega * random.standard_normal())
        off = 50.0 if (pull.arm, day) in wrong else 0.0
        run.tell(pull, MEANS[pull.arm] + 3.0 * (step // each % 4) + own + off + random.standard_normal())
    return run


def known(run):
    """Return the fit of the recorded rewards that the policy uses."""
    return saved_state(run).policy_state.memory.view.data.fit


def looking_ahead(run):
    """Return the numbers by which the policy decides, with pending pulls counted."""
    numbers = saved_state(run).policy_state
    numbers.look_ahead()
    return numbers


def contrasts(run):
    """Return differences to the first arm and their covariances, for every variance ratio."""
    fits, D = known(run).fits, np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    return np.array([D @ fits.mu[f] for f in range(3)]), np.array([D @ fits.P[f] @ D.T for f in range(3)])


# -- what the lab plays


@pytest.mark.parametrize("name", [*KINDS, *OTHERS])
def test_live_runs_and_simulations_ask_for_the_same_arms(name):
    world = WRONG if name.startswith("robust") else ROUGH
    played = tp.replay(world, name, seed=5, budget=90)
    run = tp.Experiment(ARMS, budget=90, policy=name, seed=5)
    for row in played.table():
        pull = run.ask(environment=row["environment"])
        assert pull.arm == ARMS[row["arm"]]
        run.tell(pull, row["reward"])
    assert run.recommend().arm == ARMS[played.selected]
    check_replay(run)


@pytest.mark.parametrize("name", KINDS)
def test_programs_on_plain_numbers_and_on_arrays_agree_bit_by_bit(name):
    spec, random = tp.policy(name), np.random.default_rng(8)
    both = [
        (spec.program(), spec.memory(4), lambda view: view),
        (spec.plain_program(), spec.memory(4), wrap_state),
    ]
    rewards = random.normal(size=60) + 30.0 * (random.random(60) < 0.1)
    for program, memory, shown in both:
        run, params, zero = shown(memory.view), spec.params(4, 60), np.uint64(0)
        for step, reward in enumerate(rewards.tolist()):
            if step % 10 == 0:
                for array in memory.view.slot:
                    array[:] = 0
            at = np.uint64(step)
            arm = program.ask(params, run.state, run.data, run.slot, Draw(zero, zero, ASK, at))
            draw = Draw(zero, zero, TELL, at)
            program.take(params, run.state, run.data, run.slot, int(arm), 1, reward, 0.0, draw)
    (_, one, _), (_, other, _) = both
    assert one.floats.tobytes() == other.floats.tobytes()
    assert one.ints.tobytes() == other.ints.tobytes()


# -- the order of rewards


def test_rewards_in_any_order_and_summaries_give_the_same_fits():
    random = np.random.default_rng(1)
    rows = [(ARMS[i], day, float(random.normal(i + day))) for day in range(5) for i in (0, 1, 2, 1, 0, 2)]
    runs = [experiment(policy="auto:contrast") for _ in range(3)]
    for run, order in zip(runs, (list(range(30)), random.permutation(30).tolist(), []), strict=True):
        for place in order:
            arm, day, reward = rows[place]
            run.tell_summary(arm=arm, environment=day, n=1, mean=reward, variance=0.0)
    for day in range(5):
        for arm in ARMS:
            told = np.array([reward for a, d, reward in rows if (a, d) == (arm, day)])
            values = {"n": told.size, "mean": told.mean(), "variance": told.var(ddof=1)}
            runs[2].tell_summary(arm=arm, environment=day, **values)
    for run in runs[1:]:
        for one, other in zip(contrasts(runs[0]), contrasts(run), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(known(run).fits.rss, known(runs[0]).fits.rss, rtol=1e-9)
    for run in runs:
        check_replay(run)


@pytest.mark.parametrize("name", KINDS)
def test_a_late_reward_costs_one_step(name, monkeypatch):
    steps = []

    def counted(program):
        return program._replace(take=lambda *args: steps.append(1) or program.take(*args))

    replace_kernels(monkeypatch, counted)
    run = experiment(policy=name)
    pulls = [run.ask(environment=step // 10) for step in range(100)]
    for pull in pulls[1:]:
        run.tell(pull, MEANS[pull.arm])
    steps.clear()
    run.tell(pulls[0], 1.0)
    assert len(steps) == 1
    check_replay(run)


@pytest.mark.parametrize("name", KINDS)
def test_a_correction_gives_the_fit_of_the_corrected_cells(name):
    run = play(experiment(policy=name), 60)
    place = 20
    pull, right = run.history()["pull"][place], run.history()["reward"][place]
    run.correct(pull, 500.0)
    check_replay(run)
    run.correct(pull, right)
    rows = run.history()
    again = experiment(policy=name)
    for day in dict.fromkeys(rows["environment"]):
        for arm in ARMS:
            told = [row["reward"] for row in rows if (row["arm"], row["environment"]) == (arm, day)]
            if told:
                spread = np.var(told, ddof=1) if len(told) > 1 else 0.0
                again.tell_summary(arm=arm, environment=day, n=len(told), mean=np.mean(told), variance=spread)
    one, other = known(run), known(again)
    np.testing.assert_allclose(one.mu - one.mu[0], other.mu - other.mu[0], rtol=1e-6, atol=1e-9)
    if name != "robust:contrast":
        np.testing.assert_allclose(one.fits.noise, other.fits.noise, rtol=1e-6)
    check_replay(run)


def test_a_reward_that_was_a_mistake_leaves_no_trace_in_the_noise():
    run = play(experiment(policy="by-arm:contrast"), 60)
    before = known(run).fits.learned.copy()
    pull = run.ask(environment="day 9")
    arm = ARMS.index(pull.arm)
    run.tell(pull, 500.0)
    assert known(run).fits.learned[arm] > 2.0 * before[arm]
    run.correct(pull, MEANS[pull.arm] + 3.0)
    assert known(run).fits.learned[arm] < 1.3 * before[arm]


def test_sums_of_rewards_and_replaced_defaults_give_the_right_fit():
    now = [0.0]
    run = experiment(policy="by-arm:auto:contrast", lease=10.0, default=0.0, clock=lambda: now[0])
    for unit in range(40):
        pull = run.ask(unit=unit, environment=unit // 8)
        if unit % 3:
            run.tell(pull, 1.0, key="a")
            run.tell(pull, 0.5, key="b")
            run.tell(pull, 0.5, key="b")
        now[0] += 1.0
    run.tell(run.history()["pull"][0], 4.0)
    rows = run.history()
    assert (rows["reward"][0], rows["reward"][1], rows["status"][3]) == (4.0, 1.5, "defaulted")
    check_uneven(run)
    check_replay(run)


# -- pulls that are out


@pytest.mark.parametrize("name", KINDS)
def test_pending_pulls_do_not_change_estimates(name):
    run = play(experiment(policy=name), 40)
    before = known(run)
    mu, noise = before.mu.copy(), getattr(before, "fits", before).rss.copy()
    out = [run.ask(environment=day) for day in ("day 2", "day 3", "new") for _ in range(4)]
    np.testing.assert_array_equal(known(run).mu, mu)
    ahead = looking_ahead(run).memory_with_pending.view.data
    np.testing.assert_array_equal(getattr(ahead.fit, "fits", ahead.fit).rss, noise)
    assert ahead.pulls.sum() == 52
    assert np.trace(ahead.fit.P[:2, :2]) < np.trace(known(run).P[:2, :2]) or name == "robust:contrast"
    check_replay(run)
    run.cancel_many(out)
    told, _, with_pending, *_ = saved_numbers(run)
    assert with_pending == told
    check_replay(run)


def test_pending_pulls_count_in_the_design():
    run = play(experiment(policy="auto:contrast"), 40)
    run.ask(n=7, environment="day 4")
    run.ask(environment="day 1")
    run.ask(n=3, environment="new")
    check_uneven(run)
    run.tell(run.pending_pulls()[3], 2.0)
    run.cancel(run.pending_pulls()[0])
    check_uneven(run)
    check_replay(run)


@pytest.mark.parametrize("name", [*KINDS, *OTHERS])
def test_shares_are_those_of_the_next_asks(name):
    run = play(experiment(policy=name), 30)
    shares = run.shares(environment="x", n=15)
    arms = [pull.arm for pull in run.ask(environment="x", n=15)]
    assert shares == {arm: arms.count(arm) / 15 for arm in ARMS}
    check_replay(run)


@pytest.mark.parametrize("name", KINDS)
def test_arms_are_added_and_retired(name):
    run = play(experiment(policy=name), 40)
    out = run.ask(n=3, environment="day 1")
    run.add_arm("D")
    run.retire_arm("A")
    run.tell_many(out, [1.0, 2.0, 3.0])
    run.warm_start(
        {"a": ["B", "C", "D"], "d": ["old"] * 3, "r": [1.0, 2.0, 1.5]}, arm="a", environment="d", reward="r"
    )
    arms = {run.ask(environment="later").arm for _ in range(12)}
    assert "D" in arms
    assert "A" not in arms
    assert run.recommend().arm in "BCD"
    check_replay(run)


# -- what it says


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("by-arm:contrast", {"variance": "by-arm"}),
        ("auto:contrast", {"variance": "interaction"}),
        ("interaction:contrast", {"variance": "interaction"}),
        ("by-arm:auto:contrast", {"variance": "interaction+by-arm"}),
        ("robust:contrast", {"robust": "cells"}),
    ],
)
def test_the_fit_of_a_run_is_the_fit_of_its_log(name, options):
    run = play(experiment(policy=name), 120)
    fit = run.fit()
    same = tp.fit(
        run.history(), arm="arm", environment="environment", reward="reward", adaptive=True, scale="difference",
        **options,
    )  # fmt: skip
    assert fit.variance == same.variance
    found = run.recommend()
    gap = same.contrast(found.arm, found.runner_up, picked=True, about=found.about)
    assert found.about == fit.about == ("similar" if "interaction" in fit.variance else "these")
    assert (found.margin, found.low, found.high) == pytest.approx((gap.estimate, gap.low, gap.high), rel=1e-6)
    assert fit.sigma == pytest.approx(same.sigma, rel=1e-6)
    if "interaction" in fit.variance:
        assert fit.interaction.omega == pytest.approx(same.interaction.omega, rel=1e-5)
    plain_fit = run.fit(variance="common")
    assert plain_fit.variance == "common"
    assert plain_fit.left_out is None


def test_outlying_cells_are_named_and_do_not_decide():
    wrong = {("A", f"day {day}") for day in (3, 5, 8, 11)}
    fooled = play(experiment(policy="contrast"), 120, omega=0.0, wrong=wrong)
    run = play(experiment(policy="robust:contrast"), 120, omega=0.0, wrong=wrong)
    found = run.recommend()
    assert found.arm == "C"
    assert found.left_out
    assert set(found.left_out) <= {f"A in '{day}'" for _, day in wrong}
    assert f"Excluded outlying cells: {found.left_out[0]}" in str(found)
    assert found.to_dict()["left_out"] == found.left_out
    assert len(run.fit().left_out.table) == len(found.left_out)
    assert fooled.recommend().left_out == ()
    assert fooled.recommend().low < 0.0 or fooled.recommend().arm == "A"


def test_excluded_cells_may_leave_arms_that_cannot_be_compared():
    """The four arms meet in one environment only, whose cells are all excluded."""
    cells = [("A", 0, 0.0), ("B", 0, 1.0), ("A", 1, 0.0), ("B", 1, 1.0), ("C", 2, 0.0), ("D", 2, 1.0)]
    cells += [("C", 4, 0.0), ("D", 4, 1.0), ("A", 3, 0.0), ("B", 3, 30.0), ("C", 3, -9.0), ("D", 3, 70.0)]
    run = tp.Experiment(list("ABCD"), policy="robust:round-robin")
    for arm, day, mean in cells:
        run.tell_summary(arm=arm, environment=day, n=4, mean=mean, variance=0.01)
    assert len(run.fit().groups) > 1
    found = run.recommend()
    assert found.arm is not None
    assert (found.margin, found.low, found.p_best) == (None, None, None)
    assert "have no environment in common, so no lead can be given" in str(found)
    assert any("have no environment in common" in remark for remark in run.diagnostics().remarks)


@pytest.mark.parametrize("name", KINDS)
def test_queries_work_from_the_first_reward_on(name, tmp_path):
    run = experiment(policy=name)
    assert run.recommend().arm is None
    with pytest.raises(tp.errors.NotComparable, match="no reward has been recorded"):
        run.fit()
    for step in range(14):
        run.tell(run.ask(environment=step // 5), 1.0 if step < 9 else float(step))
        run.recommend()
        run.diagnostics()
        assert run.fit().arms["n"]
    play(run, 60)
    run.report(tmp_path / "run.html")
    run.plot(tmp_path / "run.svg")
    assert "<svg" in (tmp_path / "run.svg").read_text()


def test_anytime_intervals_are_refused_for_these_models():
    run = play(experiment(policy="auto:contrast"), 60)
    with pytest.raises(
        tp.errors.InputError,
        match="anytime=True is not supported with the noise model of auto:contrast",
    ):
        run.fit(anytime=True)
    assert run.fit(variance="common", anytime=True).anytime
    assert play(experiment(policy="robust:contrast"), 60).fit(anytime=True).anytime


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"confidence": 0.95},
            r"confidence=0.95 is not possible with auto:contrast: .* the policy 'contrast'",
        ),
        ({"confidence": 0.9, "rule": "proven"}, "confidence=0.9 is not possible with auto:contrast"),
        ({"tide": "hidden"}, "policy auto:contrast requires tide='labels', not tide='hidden'"),
        ({"tide": "both"}, "policy auto:contrast requires tide='labels', not tide='both'"),
        ({"rewards": "conversions", "scale": "ratio"}, "scale='ratio' cannot be combined with auto:contrast"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(tp.errors.InputError, match=message):
        experiment(policy=tp.policy("contrast", interaction="auto"), **options)


def test_conversions_are_compared_by_differences():
    run = experiment(policy="auto:contrast", rewards="conversions")
    assert run.scale == "difference"
    random = np.random.default_rng(3)
    for step in range(80):
        pull = run.ask(environment=step // 10)
        run.tell(pull, float(random.random() < 0.2 + 0.3 * MEANS[pull.arm] / 2))
    assert run.recommend().scale == "difference"
    assert run.ask().environment == 7
    check_replay(run)


# -- kept


@pytest.mark.parametrize("name", KINDS)
def test_files_and_pickles_continue_the_same_run(tmp_path, name):
    run = play(experiment(policy=name, budget=400), 130)
    late = run.ask(n=3, environment="day 2")
    run.save(tmp_path / "run.json")
    again = check_same(run, tp.Experiment.load(tmp_path / "run.json"))
    sent = pickle.loads(pickle.dumps(run))
    for each in (run, again, sent):
        each.tell(late[0].id, 4.0)
    assert run.policy == again.policy == sent.policy
    assert run.ask(environment="x").arm == again.ask(environment="x").arm == sent.ask(environment="x").arm
    check_replay(run)


def test_a_file_with_an_impossible_policy_is_refused():
    run = play(experiment(policy="auto:contrast"), 5)
    created = run.events()[0]
    for name, message in (("auto:mine+ols", "not registered"), ("auto:lucb+ols", "not for lucb")):
        bad = created._replace(policy=created.policy | {"name": name})
        with pytest.raises(tp.errors.InputError, match=message):
            rebuild_state([bad, *run.events()[1:]], None)


def test_two_handles_of_a_store_and_another_process_agree(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    options = {"budget": 300, "policy": tp.policy("contrast", noise="by-arm", interaction="auto")}
    one = tp.Experiment.open(url, "prices", ARMS, **options)
    other = tp.Experiment.open(url, "prices", ARMS, **options)
    random, alone = np.random.default_rng(6), tp.Experiment(ARMS, **options)
    for step in range(60):
        handle = (one, other)[step % 2]
        pull, own = handle.ask(environment=step // 6), alone.ask(environment=step // 6)
        assert pull.arm == own.arm
        reward = MEANS[pull.arm] + random.standard_normal()
        (one, other)[step // 2 % 2].tell(pull, reward)
        alone.tell(own, reward)
        if step % 7 == 0:
            one.recommend()
        if step == 30:
            one.correct(pull, reward + 1.0)
            alone.correct(own, reward + 1.0)
    assert one.recommend().to_dict() == other.recommend().to_dict() | {"remarks": one.recommend().remarks}
    script = (
        "import tideproof as tp, sys; run = tp.Experiment.open(sys.argv[1], 'prices'); "
        "found = run.recommend(); print(run.ask(environment='z').arm, found.arm, repr(found.margin))"
    )
    blocked = "import sys; sys.modules['numba'] = None; "  # as the bare package is
    done = subprocess.run(
        [sys.executable, "-c", blocked + script, url], capture_output=True, text=True, check=True
    )
    found = alone.recommend()
    assert done.stdout.split() == [alone.ask(environment="z").arm, found.arm, repr(found.margin)]
    with pytest.raises(tp.errors.InputError, match="with the policy 'by-arm:auto:contrast', not 'contrast'"):
        tp.Experiment.open(url, "prices", policy="contrast")
    one.close()
    other.close()
