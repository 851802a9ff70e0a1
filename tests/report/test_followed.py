"""The page of a run whose tide is followed: its table says what its fit says."""

import random

import numpy as np
import pytest

import tideproof as tp
from tideproof.report.hidden_tide_report import EACH, OrderedRewards, best_raw_arm, tide_card, tide_columns

WORTH = {"A": 0.0, "B": 0.2, "C": 3.0}


def played(sign, pulls=90):
    """A run whose tide jumps by 8 after a third and two thirds, and its rewards in order."""
    noise = random.Random(5)
    run = tp.Experiment(list(WORTH), direction="maximize" if sign > 0 else "minimize", seed=2)
    arms, rewards = [], []
    for step in range(pulls):
        pull = run.ask()
        arms.append("ABC".index(pull.arm))
        rewards.append(sign * (WORTH[pull.arm] + 8.0 * (3 * step // pulls)) + noise.gauss(0.0, 1.0))
        run.tell(pull, rewards[-1])
    return run, OrderedRewards(np.array(arms), np.array(rewards))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_table_says_what_the_fit_says(sign):
    run, told = played(sign)
    fit, raw = run.fit(), told.raw_means(3)
    table = {column.header.partition(",")[0]: column.cells for column in tide_columns(fit, raw)}
    assert table["arm"][0] == fit.best == run.recommend().arm
    assert table["can be best"][0] == "yes"
    assert table["rewards"] == [str(int(np.sum(told.arm == "ABC".index(arm)))) for arm in table["arm"]]
    for place, arm in enumerate(table["arm"]):
        of_arm = told.reward[told.arm == "ABC".index(arm)]
        assert float(table["raw mean"][place].replace("\N{MINUS SIGN}", "-")) == pytest.approx(
            of_arm.mean(), rel=6e-3
        )
        if arm != fit.best:
            gap = fit.contrast(arm, fit.best)
            beaten = gap.high < 0.0 if sign > 0 else gap.low > 0.0
            assert table["can be best"][place] == ("no" if beaten else "yes")
            assert table[f"against {fit.best}"][place].startswith("-" if sign > 0 else "+")
    assert best_raw_arm(fit, raw) == "ABC"[int(np.argmax(sign * raw))]


def test_the_tide_is_what_is_left_of_rewards():
    run, told = played(1.0)
    card = tide_card(run.fit(), told)
    assert card.picture.count("<circle") == 90 // EACH
    assert "about 2 abrupt changes" in card.words
    assert tide_card(run.fit(), OrderedRewards(told.arm[:9], told.reward[:9])) is None
