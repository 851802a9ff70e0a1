"""Policies that compare arms by ratios or odds: their fit against statsmodels, their design against dense sums."""

import json
from collections import Counter

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from statsmodels.discrete.conditional_models import ConditionalLogit
from typer.testing import CliRunner

import tideproof as tp
from experiments import ARMS, live_book, replay, saved_numbers, saved_state
from faults import interrupted_at
from tideproof.analysis.words.fit_text import contrast_format
from tideproof.cli import app
from tideproof.experiment.recommendation_text import headline
from tideproof.experiment.state.ratio_odds_fit import rescaled_fit

PULLS = np.array([[90.0, 60.0, 0.0], [40.0, 80.0, 120.0], [30.0, 0.0, 50.0]])
EVENTS = np.array([[4.0, 5.0, 0.0], [6.0, 9.0, 21.0], [1.0, 0.0, 2.0]])
MEAN = np.divide(EVENTS, PULLS, out=np.zeros((3, 3)), where=PULLS > 0)
SQUARES = EVENTS * (1 - MEAN)


def with_half_an_event(pulls, events):
    """Return sums of the cells with half an event more an arm, spread as if all arms were alike."""
    total, overall = events.sum(1), events.sum() / pulls.sum()
    alike = pulls * ((total + overall) / (pulls.sum(1) + 1.0))[:, None]
    return events + 0.5 * alike / alike.sum(0)


def covariances(P):
    """Return the variances of the differences to the first arm."""
    return [P[0, 0] + P[i, i] - 2 * P[0, i] for i in (1, 2)]


@pytest.mark.parametrize("unit", [1.0, 7.0])
def test_ratios_are_a_quasi_poisson_regression_with_half_an_event_more(unit):
    """For conversions, and for money with seven per sale, where half an event is 3.5."""
    environment, arm = np.nonzero(PULLS)
    n, more = PULLS[environment, arm], with_half_an_event(PULLS, EVENTS)[environment, arm] * unit
    X = np.column_stack([arm == 1, arm == 2, *(environment == j for j in range(3))]).astype(float)
    glm = sm.GLM(more, X, family=sm.families.Poisson(), offset=np.log(n)).fit(tol=1e-13)
    found = rescaled_fit("ratio", PULLS, MEAN * unit, SQUARES * unit**2)
    np.testing.assert_allclose(found.theta[1:] - found.theta[0], glm.params[:2], rtol=1e-8)
    exposure = PULLS * np.exp(np.append(0.0, glm.params[:2]))
    fitted = unit * (EVENTS.sum(1) / exposure.sum(1))[:, None] * exposure  # of the events that there were
    gaps = (EVENTS * unit - fitted)[environment, arm] ** 2 / n
    dispersion = ((SQUARES * unit**2).sum() + gaps.sum()) / fitted.sum()
    expected = np.diag(glm.cov_params())[:2] * dispersion
    np.testing.assert_allclose(covariances(found.P * found.noise), expected, rtol=1e-7)
    assert found.noise == pytest.approx(dispersion / (EVENTS.sum() * unit / PULLS.sum()))


def test_odds_are_a_conditional_logit_with_half_an_event_and_half_a_failure_more():
    rows = [
        (a, j, y)
        for j, a in np.argwhere(PULLS > 0).tolist()
        for y in [1] * int(EVENTS[j, a]) + [0] * int(PULLS[j, a] - EVENTS[j, a])
    ]
    a, j, y = np.array(rows).T
    logit = ConditionalLogit(y, np.column_stack([a == i for i in range(3)]).astype(float), groups=j)

    def worse(theta):
        return -logit.loglike(theta) - np.sum(0.5 * theta - np.log1p(np.exp(theta)))

    theta = minimize(worse, np.zeros(3), options={"gtol": 1e-9}).x
    found = rescaled_fit("odds", PULLS, MEAN, SQUARES)
    np.testing.assert_allclose(found.theta, theta, atol=1e-5)
    chance = 1.0 / (1.0 + np.exp(-theta))
    information = np.diag(chance * (1.0 - chance)) - logit.hessian(theta)
    P, variances = found.P * found.noise, covariances(np.linalg.inv(information))
    np.testing.assert_allclose(np.divide(*covariances(P)), np.divide(*variances), rtol=1e-4)
    assert covariances(P) == pytest.approx(variances, rel=0.1)  # times a dispersion, which is near 1


def test_an_arm_without_an_event_has_a_finite_estimate_and_nothing_told_has_none():
    found = rescaled_fit("ratio", PULLS, np.where([1, 1, 0], MEAN, 0.0), np.where([1, 1, 0], SQUARES, 0.0))
    assert np.isfinite(found.theta).all()
    assert found.theta.argmin() == 2
    assert rescaled_fit("ratio", PULLS, np.zeros((3, 3)), np.zeros((3, 3))) is None
    assert rescaled_fit("odds", PULLS, np.zeros((3, 3)), np.zeros((3, 3))) is None


def conversions(**options):
    return tp.Experiment(ARMS, **{"budget": 3000, "rewards": "conversions", "seed": 4, **options})


def told(run, pulls=PULLS, events=EVENTS):
    for j, a in np.argwhere(pulls > 0).tolist():
        run.tell_summary(arm=ARMS[a], environment=j, n=int(pulls[j, a]), successes=int(events[j, a]))
    return run


def test_policies_use_the_fit_on_their_scale():
    run = told(conversions())
    numbers = saved_state(run).policy_state
    numbers.look_ahead()
    found, fit = rescaled_fit("ratio", PULLS, MEAN, SQUARES), numbers.memory_with_pending.view.data.fit
    assert fit.mu.tolist() == found.theta.tolist()
    assert fit.P.tolist() == found.P.tolist()
    freedom = PULLS.sum() - 3 - 2
    assert fit.rss[0] == pytest.approx(found.noise * freedom)
    assert numbers.memory_with_pending.view.state.leader[0] == found.theta.argmax()
    raw = numbers.memory.view.data.fit
    assert raw.mu[2] - raw.mu[0] == pytest.approx(
        tp.fit(
            run.history(),
            arm="arm",
            environment="environment",
            reward="reward",
            n="n",
            sample_variance="variance",
            variance="common",
        )
        .contrast("C", "A")
        .estimate
    )


def test_pending_pulls_count_in_the_design():
    run = told(conversions())
    for environment, count in (("new", 30), (1, 20)):
        run.ask(n=count, environment=environment)
    out = np.zeros((4, 3))
    for pull in run.pending_pulls():
        out[3 if pull.environment == "new" else 1, ARMS.index(pull.arm)] += 1
    run.tell_summary(arm="A", environment="later", n=1, successes=0)  # all is laid anew
    numbers = saved_state(run).policy_state
    numbers.look_ahead()
    pulls, events = np.vstack([PULLS, [1.0, 0.0, 0.0]]), np.vstack([EVENTS, np.zeros(3)])
    mean = np.divide(events, pulls, out=np.zeros((4, 3)), where=pulls > 0)
    P = rescaled_fit("ratio", pulls, mean, events * (1 - mean)).P
    L = np.linalg.pinv(P - P.mean(0) - P.mean(1)[:, None] + P.mean())
    for before, more in ((np.zeros(3), out[3]), (PULLS[1], out[1])):
        both = before + more
        L += np.diag(both) - np.outer(both, both) / both.sum()
        if before.any():
            L -= np.diag(before) - np.outer(before, before) / before.sum()
    ahead, dense = numbers.memory_with_pending.view.data.fit.P, np.linalg.pinv(L)
    for i, k in ((0, 1), (0, 2), (1, 2)):
        one, other = (M[i, i] + M[k, k] - 2 * M[i, k] for M in (ahead, dense))
        assert one == pytest.approx(other, rel=1e-9)
    assert numbers.memory_with_pending.view.data.pulls.tolist() == (pulls.sum(0) + out.sum(0)).tolist()


def test_the_margin_is_on_the_scale_of_the_experiment():
    run = told(conversions())
    found, gap = run.recommend(), run.fit().contrast("C", "B", picked=True)
    assert (found.arm, found.runner_up, found.scale) == ("C", "B", "ratio")
    assert (found.margin, found.low, found.high) == (gap.estimate, gap.low, gap.high)
    assert f"select C. Estimated lead: {100 * found.margin:+.0f} % over B (95 % confidence interval" in str(
        found
    )
    assert found.to_dict()["scale"] == "ratio"
    less = told(conversions(direction="minimize")).recommend()
    assert (less.arm, less.runner_up) == ("A", "B")
    gap = run.fit().contrast("A", "B", picked=True)
    assert (less.margin, less.low, less.high) == (-gap.estimate, -gap.high, -gap.low)
    assert f"{100 * less.margin:.3g} % below B" in str(less)
    odds = told(conversions(scale="odds")).recommend()
    assert odds.margin > found.margin  # the larger, the higher the rates
    assert "% in odds over B (95 % confidence interval" in str(odds)
    raw = told(conversions(scale="difference")).recommend()
    assert raw.margin < 0.2
    assert raw.scale == "difference"


@pytest.mark.parametrize("policy", ["contrast", "linlucb", "top-two-thompson"])
@pytest.mark.parametrize("scale", ["ratio", "odds"])
def test_files_replays_and_queries_give_the_same_run(policy, scale, tmp_path):
    """Compare two runs of the same calls, with and without queries after each."""
    runs = [conversions(policy=policy, scale=scale, budget=400) for _ in range(2)]
    for run in runs:
        rng = np.random.default_rng(7)
        out = []
        for step in range(60):
            out += [pull.id for pull in run.ask(n=int(rng.integers(1, 9)), environment=step // 7)]
            if run is runs[0]:
                run.recommend(), run.shares(environment=step // 7)
            if step % 3:
                here = [out.pop(int(rng.integers(len(out)))) for _ in range(len(out) // 2)]
                table, rates = run.history(), {"A": 0.1, "B": 0.2, "C": 0.3}
                arms = dict(zip(table["pull"], table["arm"], strict=True))
                run.tell_many(here, [float(rng.random() < rates[arms[id]]) for id in here])
                if out and step % 9 == 0:
                    run.cancel(out.pop())
            if run.remaining < 20:
                break
    one, other = runs
    assert one.history()["arm"] == other.history()["arm"]
    path = tmp_path / "run.json"
    one.save(path)
    for again in (other, tp.Experiment.load(path), replay(one)):
        assert saved_numbers(again) == saved_numbers(one)
        theirs, ours = again.recommend(), one.recommend()
        assert (theirs.margin, theirs.low, theirs.p_best) == (ours.margin, ours.low, ours.p_best)


@pytest.mark.parametrize("call", ["ask", "tell", "expire", "look"])
def test_an_interrupted_call_happens_entirely_or_not_at_all(call):
    """Interrupt at some lines of a call, with rewards in open windows and pending pulls in two environments."""
    now = [0.0]
    run = told(conversions(lease=10.0, clock=lambda: now[0]))
    run.tell_many(run.ask(n=12, environment=1)[:6], [1, 0, 0, 1, 0, 0])
    run.ask(n=9, environment="new")
    line = 1
    calls = {
        "ask": lambda each: each.ask(n=3, environment=1),
        "tell": lambda each: each.tell_many(each.pending_pulls()[9:14], [1, 0, 1, 0, 1]),
        "expire": lambda each: (now.__setitem__(0, 11.0), each.ask(environment=2)),
        "look": lambda each: each.shares(environment=1, n=5),
    }
    while True:
        now[0] = 1.0
        each = replay(run)
        if line % 2:
            each.done  # noqa: B018  (looks ahead, or has everything to do yet)
        if not interrupted_at(line, lambda each=each: calls[call](each)):
            break
        again = replay(each)
        assert saved_numbers(again) == saved_numbers(each), line
        assert live_book(again) == live_book(each), line
        line += 1 + line // 20 + 7
    assert line > 300


def test_a_summary_of_successes_equals_single_rewards():
    one, other = conversions(budget=60), conversions(budget=60)
    for pull in one.ask(n=30, environment=1):
        one.tell(pull, float(pull.arm == "B"))
    by = Counter(one.history()["arm"])
    other.ask(n=30, environment=1)
    for arm, n in by.items():
        other.tell_summary(arm=arm, environment=1, n=n, successes=n if arm == "B" else 0)
    for run in (one, other):
        assert run.pending_pulls() == []
    assert [pull.arm for pull in one.ask(n=30, environment=2)] == [
        pull.arm for pull in other.ask(n=30, environment=2)
    ]
    single = tp.Experiment(ARMS, budget=9)
    single.tell_summary(arm="A", environment=1, n=1, successes=1)
    single.tell_summary(arm="A", environment=1, n=4, successes=1)
    assert single.history()["variance"] == [None, 0.25]


def test_a_total_of_counts_has_the_variance_of_poisson_counts():
    """Thirty events in ten pulls have a variance of 3 per pull, as samples of Poisson counts have on average."""
    run = tp.Experiment(ARMS, rewards="counts")
    run.tell_summary(arm="A", environment=1, n=10, total=30)
    run.tell_summary(arm="B", environment=1, n=1, total=7)
    assert (run.history()["reward"], run.history()["variance"]) == ([3.0, 7.0], [3.0, None])
    draws = np.random.default_rng(5).poisson(3.0, (20_000, 10))
    assert draws.var(1, ddof=1).mean() == pytest.approx(3.0, abs=0.05)  # five standard errors, 6e-7


KINDS = {
    "conversions": lambda rng, mean: rng.binomial(1, np.minimum(mean / 8.0, 1.0)),
    "counts": lambda rng, mean: rng.poisson(mean),
    "money": lambda rng, mean: np.round(mean * rng.lognormal(0.0, 0.7, mean.shape), 2),
    "normal": lambda rng, mean: rng.normal(mean, 1.0),
}


@pytest.mark.parametrize(
    ("kind", "scale"),
    [(kind, "auto") for kind in KINDS] + [("conversions", "odds"), ("conversions", "difference")],
)
def test_recommendation_fit_report_and_the_exported_log_agree(kind, scale, tmp_path):
    run = tp.Experiment(ARMS, budget=900, rewards=kind, scale=scale, seed=2)
    rng = np.random.default_rng(8)
    for day in range(6):
        pulls = run.ask(n=100, environment=f"day {day}")
        level = 1.0 + 0.5 * day
        rewards = KINDS[kind](rng, level * np.array([1.0 + 0.5 * ARMS.index(pull.arm) for pull in pulls]))
        run.tell_many(pulls, rewards.tolist())
    assert run.scale == ({"normal": "difference"}.get(kind, "ratio") if scale == "auto" else scale)
    found, fit = run.recommend(), run.fit()
    gap = fit.contrast(found.arm, found.runner_up, picked=True)
    assert (fit.scale, fit.variance) == (found.scale, "auto") == (run.scale, "auto")
    assert (found.margin, found.low, found.high) == (gap.estimate, gap.low, gap.high)
    assert found.p_best == fit.p_best[found.arm]
    run.history().to_csv(tmp_path / "log.csv")
    read = ["--arm", "arm", "--environment", "environment", "--reward", "reward"]
    options = ["--scale", run.scale, "--adaptive", "--about", "these", "--json"]
    said = CliRunner().invoke(app, ["analyze", str(tmp_path / "log.csv"), *read, *options])
    again, ours = json.loads(said.stdout), fit.to_dict()
    assert again["verdict"] == fit.verdict
    for name in ("arms", "comparisons"):
        theirs = {row["arm"]: row for row in again[name]}
        for row in ours[name]:
            for column, value in row.items():
                other = theirs[row["arm"]][column]
                assert value == (other if column == "arm" else pytest.approx(other, rel=1e-6)), column
    run.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert headline(run.recommend(), contrast_format(fit)) in page.replace("&#x27;", "'")
    checked = run.diagnostics()
    assert checked.additivity == fit.additivity()
    assert (checked.spread is None) == (kind != "normal")
    assert ("same shift" in repr(checked)) == (run.scale == "difference")


@pytest.mark.parametrize("scale", ["ratio", "odds"])
def test_arms_are_compared_by_differences_until_the_first_event(scale):
    run = conversions(scale=scale)
    for arm in ARMS:
        run.tell_summary(arm=arm, environment=1, n=20, successes=0)
    assert run.fit().scale == run.recommend().scale == "difference"
    assert run.recommend().p_best is None
    assert run.diagnostics().recorded == 60
    run.tell_summary(arm="B", environment=2, n=9, successes=9)  # nobody to compare with there
    assert run.fit().scale == ("ratio" if scale == "ratio" else "difference")
    assert run.recommend().arm is not None
    run.tell_summary(arm="B", environment=1, n=5, successes=2)
    found = run.recommend()
    assert (run.fit().scale, found.scale, found.arm) == (scale, scale, "B")
    assert (found.margin, found.high) == (None, None)  # infinite, and no less
    assert -1.0 < found.low < 0.0  # two events against none say little
    assert str(found).startswith("select B")


def test_another_variance_is_for_differences():
    run = told(conversions())
    assert run.fit(variance="sandwich").scale == "difference"
    assert run.fit(scale="odds").scale == "odds"
    assert run.fit(scale="auto").choice.tests
    with pytest.raises(tp.errors.InputError, match="variance='sandwich' requires scale='difference'"):
        run.fit(variance="sandwich", scale="ratio")


REFUSED = [
    (lambda: conversions(rewards="clicks"), "rewards must be 'normal', .* or 'money', not 'clicks'"),
    (lambda: conversions(scale="log"), "scale must be 'auto', 'difference', 'ratio' or 'odds', not 'log'"),
    (
        lambda: conversions(rewards="counts", scale="odds"),
        "scale='odds' is for rewards='conversions', not 'counts'",
    ),
    (
        lambda: conversions(rewards="normal", scale="ratio"),
        "scale='ratio' is for rewards='conversions', .* not 'normal'",
    ),
    (
        lambda: conversions(policy="round-robin", scale="ratio"),
        "by the fit alone, such as 'contrast'; round-robin does not",
    ),
    (
        lambda: conversions(lease=10.0, default=0.5),
        "default must be 0 or 1 with rewards='conversions', not 0.5",
    ),
    (lambda: tell(conversions(), 0.5), "reward must be 0 or 1 with rewards='conversions', not 0.5$"),
    (lambda: tell(conversions(), 2), "reward must be 0 or 1 with rewards='conversions', not 2"),
    (
        lambda: tell(conversions(rewards="counts"), 1.5),
        "reward must be a whole number of at least 0 with rewards='counts', not 1.5",
    ),
    (
        lambda: tell(conversions(rewards="money"), -1),
        "reward must be at least 0 with rewards='money', not -1",
    ),
    (
        lambda: summary(mean=0.2, variance=0.1),
        "a summary with rewards='conversions' requires successes, not mean=0.2",
    ),
    (lambda: summary(), "a summary requires successes, total or mean"),
    (lambda: summary(successes=-1), "successes must be a whole number from 0 to 10, not -1"),
    (
        lambda: summary(successes=11),
        r"at most n=10, not 11; .* rewards='counts'\) and tell_summary\(total=\.\.\.\)",
    ),
    (lambda: summary(successes=1, mean=0.1), "a summary takes exactly one of successes, total and mean, "),
    (
        lambda: summary("counts", total=1, variance=0.1),
        "variance only with mean, but it got total=1 and variance=0.1",
    ),
    (lambda: summary(total=3), "total=3 is for rewards='counts', not 'conversions'"),
    (lambda: summary("counts", total=2.5), "total must be a whole number of at least 0, not 2.5"),
    (
        lambda: summary("money", mean=-1, variance=0),
        "mean must be from 0 to inf with rewards='money', not -1",
    ),
    (
        lambda: conversions().warm_start(
            {"a": ["A", "B"], "d": [1, 1], "r": [2.0, 1.0]}, arm="a", environment="d", reward="r"
        ),
        "mean must be from 0 to 1 with rewards='conversions', not 2",
    ),
]


def tell(run, reward):
    run.tell(run.ask(), reward)


def summary(rewards="conversions", **told):
    conversions(rewards=rewards).tell_summary(arm="A", environment=1, n=10, **told)


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_invalid_rewards_and_scales_are_refused(make, message):
    with pytest.raises(tp.errors.InputError, match=message):
        make()


def test_policies_without_a_fit_compare_by_differences():
    assert conversions(policy="round-robin").scale == "difference"
    assert conversions(policy="lucb").scale == "difference"
    assert conversions().scale == "ratio"
    assert tp.Experiment(ARMS, budget=9).scale == "difference"


def test_normal_rewards_store_no_option():
    assert "rewards" not in tp.Experiment(ARMS, budget=9).events()[0].options
    assert conversions().events()[0].options["scale"] == "ratio"
