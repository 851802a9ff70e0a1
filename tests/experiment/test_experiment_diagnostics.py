"""Diagnostics and report of a running experiment."""

import json

import pytest

import tideproof as tp
from experiments import drive, experiment


def test_diagnostics_count_pulls_and_rewards():
    now = [1000.0]
    run = drive(experiment(clock=lambda: now[0]), 30)
    now[0] = 1010.0
    run.ask(environment=9)
    now[0] = 1020.0
    run.ask(environment=9)
    run.cancel(run.ask(environment=9))
    run.tell_summary(arm="A", environment=0, n=4, mean=0.0, variance=1.0)
    now[0] = 1050.0
    found = run.diagnostics()
    assert (found.asked, found.recorded, found.pending, found.lost, found.environments) == (33, 34, 2, 1, 6)
    assert found.oldest_pending == 40.0
    assert found.remarks == ()


def test_printed_diagnostics_have_a_line_for_each_test():
    now = [1000.0]
    run = drive(experiment(policy="round-robin+ols", clock=lambda: now[0]), 100, each=20)
    run.ask(environment=9)
    now[0] = 1040.0
    found = run.diagnostics()
    lines = repr(found).split("\n")
    assert lines[:2] == [
        "101 pulls: 1 pending, 0 cancelled or expired, the oldest pending for 40 s",
        "100 rewards in 5 environments",
    ]
    assert [line.split(": p = ")[0] for line in lines[2:]] == [
        "equal shares of the arms (sample ratio test)",
        "same shift for all arms (additivity test)",
        "equal variances",
    ]
    assert f"p = {found.additivity.p:.3g}" in lines[3]
    assert repr(experiment().diagnostics()) == (
        "0 pulls: 0 pending, 0 cancelled or expired\n0 rewards in 0 environments"
    )


def test_printed_diagnostics_contain_the_remarks():
    run = experiment(policy="round-robin+ols", tide="labels")
    for step in range(120):
        run.tell(run.ask(), step % 7)
    [remark] = run.diagnostics().remarks
    assert repr(run.diagnostics()).endswith(f"\nWarning: {remark}")


@pytest.mark.parametrize(("policy", "said"), [("contrast", True), ("round-robin+ols", False)])
def test_the_report_of_an_adaptive_run_says_which_limits_allow_for_that(tmp_path, policy, said):
    drive(experiment(policy=policy), 100, each=20).report(tmp_path / "report.html")
    assert ("account for adaptive assignment" in (tmp_path / "report.html").read_text()) == said


def test_diagnostic_tests_are_those_of_the_fit():
    run = drive(experiment(policy="round-robin+ols"), 100, each=20)
    found, fit = run.diagnostics(), run.fit()
    assert found.additivity == fit.additivity()
    assert found.spread == fit.spread()
    assert found.sample_ratio == fit.sample_ratio()


def test_adaptive_policies_have_no_test_of_the_sample_ratio():
    found = drive(experiment(policy="linlucb"), 100, each=20).diagnostics()
    assert found.sample_ratio is None
    assert found.additivity is not None


def test_too_few_rewards_give_no_tests():
    run = experiment()
    empty = run.diagnostics()
    assert (empty.recorded, empty.additivity, empty.spread, empty.oldest_pending) == (0, None, None, None)
    run.tell(run.ask(environment="mon"), 1.0)
    one = run.diagnostics()
    assert (one.recorded, one.additivity, one.spread) == (1, None, None)


def test_diagnostics_do_not_count_as_looks():
    run = experiment()
    for step in range(20):
        drive(run, 1, seed=step)
        assert run.diagnostics().remarks == ()


def test_diagnostics_contain_the_remarks():
    run = experiment(policy="round-robin+ols", tide="labels")
    for step in range(120):
        run.tell(run.ask(), step % 7)
    assert "To separate environments" in run.diagnostics().remarks[0]


def test_results_can_be_written_as_json():
    run = drive(experiment(policy="round-robin+ols"), 100, each=20)
    found = json.loads(json.dumps(run.diagnostics().to_dict()))
    assert found["additivity"]["worst"] == run.fit().additivity().worst.to_dicts()
    assert found["sample_ratio"]["arms"][0]["arm"] == "A"
    fit = run.fit()
    plain = json.loads(json.dumps(fit.to_dict()))
    assert plain["best"] == fit.best == "C"
    assert plain["arms"] == fit.arms.to_dicts()
    contrast = fit.contrast("C", "A")
    assert json.loads(json.dumps(contrast.to_dict()))["estimate"] == contrast.estimate
    assert json.loads(json.dumps(run.recommend().to_dict()))["arm"] == "C"
    pull = run.ask(environment=3)
    assert pull.to_dict() == {"id": pull.id, "arm": pull.arm, "environment": 3}


def test_the_report_has_the_verdict_pictures_and_remarks(tmp_path):
    run = experiment(policy="round-robin+ols", tide="labels")
    for step in range(120):
        run.tell(run.ask(), step % 7 + 10.0 * (step % 3))
    run.ask()
    path = tmp_path / "report.html"
    run.report(path)
    text = path.read_text(encoding="utf-8")
    assert "round-robin+ols, 121 pulls, 1 pending, 0 cancelled or expired" in text
    assert '<p class="warning">All 121 pulls are in one environment, 1. To separate' in text
    assert run.fit().best in text
    assert text.count("<svg") >= 2
    run.report(path, confidence=0.5, variance="by-arm")
    assert "50 % confidence interval" in path.read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written_raises_an_error(tmp_path):
    run = drive(experiment(), 30)
    with pytest.raises(tp.errors.MissingFile, match="no folder"):
        run.report(tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == []
