"""The report of an experiment says what its page says: the same sentence, with the promise of the stopping rule."""

import html
import re

import numpy as np
import pytest

import tideproof as tp
from experiments import MEANS, drive, experiment


def heading(run, folder, **options):
    """Return the text and the class of the heading of the report of an experiment."""
    run.report(folder / "report.html", **options)
    text = (folder / "report.html").read_text()
    kind, said = re.search(r'<h1 class="(\w+)">(.*?)</h1>', text).groups()
    return html.unescape(said), kind, html.unescape(text)


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_an_arm_is_not_the_best_by_one_inspection(tmp_path, confidence):
    run = drive(experiment(policy="contrast", confidence=confidence, budget=10_000), 12)
    while run.fit().decision.standing != "winner_on_these":  # for one look at the end of a budget
        drive(run, 3)
    assert not run.recommend().sure
    said, kind, text = heading(run, tmp_path)
    assert said.startswith("C leads: ")
    assert kind == "open"
    assert " is best" not in said
    assert "is best on average" not in text
    assert ("valid at every inspection" in said) == (confidence is not None)


def test_an_arm_that_the_stopping_rule_found_is_the_best(tmp_path):
    run, random = experiment(policy="contrast", confidence=0.95, budget=10_000), np.random.default_rng(1)
    while not run.done:
        pull = run.ask(environment="monday")
        run.tell(pull, MEANS[pull.arm] + random.standard_normal())
    said, kind, _ = heading(run, tmp_path)
    assert said.startswith("C is best")
    assert kind == "winner"


def test_a_decision_is_in_the_report(tmp_path):
    run = drive(experiment(), 30)
    run.stop("legal <says> no", by="ann", ship="A")
    text = heading(run, tmp_path)[2]
    assert "Every visitor gets the arm A." in text
    assert re.search(r"Stopped by ann, [\d-]+ [\d:]+ UTC: legal <says> no", text)


@pytest.mark.parametrize("tide", ["labels", "hidden", "both", "auto"])
def test_an_experiment_without_rewards_has_a_report(tmp_path, tide):
    said, kind, text = heading(experiment(tide=tide, policy="contrast"), tmp_path)
    assert (said, kind) == ("No rewards yet.", "not_comparable")
    assert "Arms: A, B and C." in text
    assert "Estimates appear with the first rewards." in text


@pytest.mark.parametrize("rewards", ["normal", "conversions", "money"])
def test_an_experiment_without_labels_has_a_report(tmp_path, rewards):
    run = tp.Experiment(["A", "B"], budget=100, policy="contrast", tide="hidden", seed=1)
    if rewards == "conversions":
        run = tp.Experiment(["A", "B"], budget=100, policy="linlucb", rewards=rewards, seed=1)
    for step in range(60):
        pull = run.ask() if rewards != "conversions" else run.ask(environment=1)
        run.tell(
            pull, float(step % 2) if rewards == "conversions" else step % 7 + (pull.arm == "B") + 0.01 * step
        )
    said, _, text = heading(run, tmp_path)
    assert "leads" in said
    assert "<table" in text
    assert "<svg" in text
