"""Each phrase on a decision has one wording, and only `decision_text.py` contains it."""

import ast
import inspect
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tideproof as tp
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.words import decision_text as words
from tideproof.experiment.recommendation_text import headline
from tideproof.text import PERCENT, PLAIN, POINTS

PACKAGE = Path(tp.__file__).parent
MODULE = "analysis/words/decision_text.py"
PHRASES = (
    "is best",
    "cannot be excluded",
    "in common",
    "share no environment",
    "shares no environment",
    "best raw mean",
    "no clear difference",
    "best with probability",
    "confirmed as the best",
    "the runner-up",
    "no best arm",
    "name a best arm",
    "valid at every inspection",
)
# Descriptions of options, fields and rows of a table, which say what a value means and not what was decided.
EXCEPTIONS = {
    ("research/trust/p_best_reliability.py", "best with probability"),
    ("policies/stopping_policy.py", "confirmed as the best"),
    ("serve/schemas/experiment_schemas.py", "confirmed as the best"),
    ("serve/schemas/experiment_schemas.py", "the runner-up"),
}
FUNCTIONS = [name for name, _ in inspect.getmembers(words, inspect.isfunction) if name.endswith("_text")]


def literals(path):
    """Return the string literals of a file, without those that are documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_other_file_contains_a_phrase_on_a_decision():
    found = {
        (path.relative_to(PACKAGE).as_posix(), phrase)
        for path in PACKAGE.rglob("*.py")
        for text in literals(path)
        for phrase in PHRASES
        if phrase in text.lower()
    }
    elsewhere = {(file, phrase) for file, phrase in found if file != MODULE}
    assert elsewhere == EXCEPTIONS
    assert {phrase for file, phrase in found if file == MODULE} >= {
        "is best",
        "cannot be excluded",
        "in common",
    }


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_has_one_wording(phrase):
    said = [text for text in literals(PACKAGE / MODULE) if phrase in text.lower()]
    wordings = {
        "share no environment": 0,
        "shares no environment": 0,
        "best raw mean": 1,
    }
    assert len(said) == wordings.get(phrase, 1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_used(name):
    """By another file, or by another function of the module."""
    count = sum(path.read_text(encoding="utf-8").count(f"{name}(") for path in PACKAGE.rglob("*.py"))
    assert count > 1


def test_logs_and_experiments_name_a_winner_alike():
    arm, day = np.tile(list("AB"), 40), np.repeat(np.arange(8), 10)
    reward = np.random.default_rng(1).normal(size=80) + 3.0 * (arm == "B")
    verdict = Fit.from_arrays(arm, day, reward).verdict
    sure = tp.Recommendation(
        "B", "A", 0.4, 0.1, 0.7, 40, (("A", "B"),), adaptive=True, sure=True, confidence=0.95
    )
    begin = words.winner_text("B", words.confidence_text(0.95), words.environments_text("similar"))
    assert begin == "B is best on average over environments like these (95 % confidence)"
    assert verdict.startswith(f"{begin}: +")
    assert headline(replace(sure, about="similar")).startswith(f"{begin}: +0.40 over A")
    these = words.winner_text("B", words.confidence_text(0.95), words.environments_text("these"))
    assert headline(sure).startswith(f"{these}: +0.40 over A")


def test_logs_and_experiments_name_separate_groups_alike():
    log = Fit.from_arrays(list("ABABC"), [1, 1, 2, 2, 3], [1.0, 2.0, 3.0, 5.0, 1.0])
    apart = "(A, B) and (C) have no environment in common"
    assert words.groups_text(log.groups) == apart
    assert log.verdict.startswith(f"no best arm: {apart}; to compare them, collect rewards of ")
    none = tp.Recommendation(None, None, None, None, None, 5, (("A", "B"), ("C",)), adaptive=True)
    assert headline(none) == f"Not comparable yet: {apart}"


def test_the_name_of_a_confidence_level():
    assert words.level_text(0.95 ** (1 / 3)) == "98.3048 %"
    assert words.level_text(0.9999999, words.STOP_DIGITS) == "99.99999 %"
    assert (
        words.interval_name(0.9, words.validity_text(True))
        == "90 % confidence interval, valid at every inspection"
    )


@pytest.mark.parametrize(
    ("doubt", "said"),
    [
        (None, "B is best: +1 over A"),
        ("several candidates", "B leads: +1 over A, but A and 'C ' cannot be excluded"),
        ("too few events", "B leads: +1 over A, but A and 'C ' cannot be excluded"),
        ("no degrees of freedom", "B leads: +1 over A; no degrees of freedom are left to estimate the noise, "
         "so the confidence is unknown"),
        ("exact", "B leads: +1 over A; the fit is exact (arms and environments explain all rewards), so the "
         "noise and the confidence are unknown"),
    ],
)  # fmt: skip
def test_a_decision(doubt, said):
    candidates = ["B"] if doubt is None else ["B", "A", "C "]
    assert words.decision_text("B", candidates, doubt, "+1 over A") == said


def test_leads():
    assert (
        words.short_lead_text(PLAIN, "minimize", "B", -1.8, (-3.1, -0.6)) == "1.8 below B (0.6 to 3.1 below)"
    )
    for bounds, ends in (
        ((-3.1, 0.6), "3.1 below to 0.6 above"),
        ((0.6, 3.1), "0.6 to 3.1 above"),
        ((-math.inf, -0.6), "0.6 or more below"),
        ((-math.inf, 0.6), "+0.6 or less"),
        ((-0.6, math.inf), "-0.6 or more"),
    ):
        assert words.short_lead_text(PLAIN, "minimize", "B", -1.8, bounds) == f"1.8 below B ({ends})"
    rival = words.runner_up_text("A")
    said = words.unbounded_lead_text(rival, "all rewards of A are 0", "95 % interval", "+5 % or more", True)
    assert said == (
        "unbounded lead in odds over A, the runner-up, because all rewards of A are 0 (95 % interval: +5 % or more)"
    )
    assert (
        words.unbounded_lead_text(rival, "", "95 % interval", "", False)
        == "unbounded lead over A, the runner-up"
    )


def test_raw_means():
    period = (
        "the best period-weighted mean (an average of its means in the environments, each weighted by all "
        "rewards there)."
    )
    assert words.raw_mean_text("A", "B", "A") == f"A has the best raw mean and {period}"
    assert words.raw_mean_text("B", "B", "B") == "B also has the best raw mean."
    assert words.raw_mean_text("A", "B", "C") == f"A has the best raw mean. C has {period}"
    assert words.raw_mean_comparison("A", None) == "A has the best raw mean."
    assert words.raw_mean_comparison("A", "A") == "A also has the best raw mean."
    assert (
        words.raw_mean_comparison("A", "B")
        == "A has the best raw mean. After the shifts are removed, B leads."
    )


def test_comparisons_with_a_control_and_in_metrics():
    lift = words.lift_text(0.03, (None, None))
    assert words.comparison_text(PERCENT, "better", 0.03, (0.01, 0.05)) == "+3.0 % (+1.0 % to +5.0 %), better"
    assert (
        words.comparison_text(PLAIN, "unclear", 0.3, (None, None), lift)
        == "+0.3 (lift +3 %), no clear difference"
    )
    assert words.comparison_text(PLAIN, "not comparable", None, (None, None)) == "cannot be compared"
    worse = words.metric_text("wait", "worse", 2.0, (1.0, 3.0), PLAIN, 0.9)
    assert worse == "worse in wait (+2.0; 90 % confidence interval: +1.0 to +3.0)"
    rate = words.metric_text("clicks", "better", 0.02, (0.01, 0.03), POINTS, 0.95)
    assert "+2.0 percentage points" in rate
    unknown = words.metric_text("wait", "not comparable", None, (None, None), PLAIN, 0.9)
    assert unknown == "cannot be compared in wait"
    assert words.guardrails_text("B", None, [worse]) == f"B compared with the best other arm: {worse}"
    assert words.guardrails_text("B", "A", [worse]) == f"B compared with A, the control: {worse}"
    assert words.harm_text("B", "A", ["wait"]) == "B is worse than A, the control, in the guardrail 'wait'."
    assert words.control_text("A", {"B": "+1, better"}, 2) == (
        "Against A, the control: B +1, better; 2 more in the table."
    )


@pytest.mark.parametrize(
    ("winners", "said"),
    [
        ({}, "no winner in any segment (sure)"),
        ({"B": ["n"], "A": ["s"]}, "the winner differs between segments (sure): B in n; A in s"),
        ({"B": ["n", "s"]}, "B is best in both segments (sure)"),
        ({"B": ["n"]}, "winners (sure): B in n; no winner in the other segments"),
    ],
)
def test_segments(winners, said):
    assert words.segments_text(winners, 2, "sure") == said
