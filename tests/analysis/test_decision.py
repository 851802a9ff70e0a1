"""The winner is decided once: every reason not to name one, and everybody who shows the decision agrees."""

from __future__ import annotations

import numpy as np
import pytest

from tideproof.analysis import Fit
from tideproof.analysis.arm_comparisons import NOT_COMPARABLE, decide
from tideproof.analysis.words.analysis_report import describe_fit

DAYS = np.repeat(np.arange(6), 4)
ARMS = np.tile(list("AABB"), 6)
NOISE = np.random.default_rng(1).normal(size=24)

LOGS = {
    "winner": (ARMS, DAYS, 3.0 * (ARMS == "B") + NOISE + DAYS),
    "several": (ARMS, DAYS, 0.01 * (ARMS == "B") + NOISE + DAYS),
    "no degrees of freedom": (list("ABBC"), [1, 1, 2, 2], [1.0, 3.0, 5.0, 1.5]),
    "exact": (list("ABABC"), [1, 1, 2, 2, 2], [9.0, 10.0, 1.0, 2.0, 4.0]),
    "groups": (list("ABABCDCD"), [1, 1, 2, 2, 3, 3, 4, 4], [1.0, 2.0, 3.0, 5.0, 1.0, 2.0, 3.0, 5.0]),
}


@pytest.mark.parametrize(
    ("log", "standing", "doubt", "best", "runner_up", "candidates"),
    [
        ("winner", "winner", None, "B", "A", ("B",)),
        ("several", "open", "several candidates", "A", "B", ("A", "B")),
        ("no degrees of freedom", "open", "no degrees of freedom", "B", "A", ("B", "A", "C")),
        ("exact", "open", "exact", "C", "B", ("C", "B", "A")),
        ("groups", "not_comparable", "groups", None, None, ()),
    ],
)
def test_why_there_is_no_winner(log, standing, doubt, best, runner_up, candidates):
    found = Fit.from_arrays(*LOGS[log])
    decision = found.decision
    assert (decision.standing, decision.doubt) == (standing, doubt)
    assert (decision.best, decision.runner_up, decision.candidates) == (best, runner_up, candidates)
    shown = describe_fit(found).to_dict()
    assert (shown["standing"], shown["doubt"], shown["best"]) == (standing, doubt, best)
    assert shown["candidates"] == (list(candidates) or None)
    assert found.verdict.startswith(f"{best} is best" if standing == "winner" else f"{best} leads: ") or (
        standing == "not_comparable" and found.verdict.startswith("no best arm: (A, B) and (C, D) have")
    )


def test_the_first_reason_counts():
    """Without freedom nothing is known to be exact, and an exact fit has no candidates worth the name."""
    assert decide("AB", "AB", 0, True).doubt == "no degrees of freedom"
    assert decide("AB", "AB", 1, True).doubt == "exact"
    assert decide("AB", "AB", 1, False).doubt == "several candidates"
    assert decide("AB", "A", 1, False).doubt is None
    assert decide("AB", "", 1, False).doubt is None
    assert NOT_COMPARABLE.standing == "not_comparable"


def test_the_leader_is_a_candidate_at_any_level():
    """Below one half the constants are negative; the leader may be the best even so."""
    for confidence in (0.01, 0.3, 0.5, 0.95):
        found = Fit.from_arrays(*LOGS["several"], confidence=confidence)
        assert found.candidates[0] == found.best == found.decision.best
        assert found.verdict.startswith("A is best" if found.candidates == ["A"] else "A leads")


def test_a_rival_is_the_best_of_the_others_of_its_group():
    found = Fit.from_arrays(*LOGS["groups"])
    assert [found.rival(arm) for arm in "ABCD"] == ["B", "A", "D", "C"]
    three = Fit.from_arrays(list("ABC") * 3, np.repeat([1, 2, 3], 3), [1.0, 3, 2, 1.5, 3, 2, 1, 3, 2.5])
    assert [three.rival(arm) for arm in "ABC"] == ["B", "C", "B"]
    less = Fit.from_arrays(
        list("ABC") * 3, np.repeat([1, 2, 3], 3), [1.0, 3, 2, 1.5, 3, 2, 1, 3, 2.5], direction="minimize"
    )
    assert [less.rival(arm) for arm in "ABC"] == ["C", "A", "A"]
    alone = Fit.from_arrays(list("ABABC"), [1, 1, 2, 2, 3], [1.0, 2.0, 3.0, 5.0, 1.0])
    assert alone.rival("C") is None


def test_how_sure_a_verdict_says_that_it_is():
    """Three digits, but no certainty: from 0.9995 on it says "> 0.999"."""
    arm, day = np.tile(list("AB"), 6), np.repeat(np.arange(6), 2)
    noise = np.array([0.3, -0.3, 0.5, -0.1, -0.2, 0.4, 0.1, 0.2, -0.4, 0.1, 0.2, -0.1])
    seen = set()
    for gap in np.linspace(0.1, 2.0, 40):
        reward = noise + gap * (arm == "B")
        found = Fit.from_arrays(arm, day, reward, confidence=0.8, prior="flat", about="these")
        chance = found.p_best[found.best]
        if found.decision.standing == "open" and chance >= 0.8:
            assert "probability" not in found.verdict
            continue
        said = found.verdict.rsplit("probability ", 1)[1].removesuffix(" (flat prior)")
        assert said == ("> 0.999" if chance > 0.9995 else f"{chance:.3f}")
        seen.add(said)
    assert "> 0.999" in seen
    assert any(said.startswith("0.99") for said in seen)
