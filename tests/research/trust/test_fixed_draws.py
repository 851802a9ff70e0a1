"""Random logs and worlds of the trust ledger are the same for ever, because its committed counts rest on them."""

import numpy as np
import pytest

from tideproof.research.trust import (
    interaction_coverage,
    named_winners,
    random_logs,
    unlabelled_log_coverage,
    wrong_stops,
)
from tideproof.research.trust.log_settings import SETTINGS

# Name of the setting; its first log: rewards of the first arms, sums of the true means, of rewards and of squares
LOGS = [
    ("conversions-0.5-2-20-3-even-none-0-equal-0", [18, 22], 3.0, 24.0, 8.88095),
    ("conversions-0.5-2-200-10-even-adds-0.5-equal-0", [202, 198], 11.5141, 232.0, 78.1119),
    ("conversions-0.5-2-2000-20-even-multiplies-0.2-equal-0", [2028, 1972], 19.5578, 1905.0, 955.753),
    ("conversions-0.5-5-100-10-even-adds-0.4-first-0.2", [87, 103, 101, 107], 26.352, 276.0, 107.045),
    ("conversions-0.5-10-200-20-drifting-adds-0.4-near-0.5", [439, 363, 268, 208], 109.14, 1057.0, 413.964),
    ("conversions-0.5-5-400-12-drifting-odds-0.8-last-0.5", [822, 488, 328, 195], 27.1619, 888.0, 410.353),
    ("conversions-0.3-3-150-30-uneven-odds-0.8-steps-0.5", [363, 77, 10], 33.7477, 136.0, 74.7476),
    ("conversions-0.2-10-300-30-wild-adds-0.7-last-0.2", [282, 273, 307, 336], 60.0563, 567.0, 390.103),
    (
        "conversions-0.1-20-200-40-threes-multiplies-0.5-steps-0.5",
        [156, 196, 120, 204],
        130.553,
        651.0,
        488.042,
    ),
    (
        "conversions-0.05-3-5000-30-relay-multiplies-0.8-low-end-0.3",
        [3753, 7446, 3801],
        7.95736,
        1268.0,
        1055.32,
    ),
    ("conversions-0.05-3-5000-30-relay-adds-0.8-high-end-0.3", [3663, 7563, 3774], 4.83032, 738.0, 685.138),
    ("counts-0.02-3-1000-14-drifting-multiplies-0.5-equal-0", [1925, 724, 351], 0.979385, 72.0, 70.274),
    ("clumps-0.3-2-400-10-even-multiplies-0.4-equal-0", [397, 403], 7.80364, 341.0, 581.975),
    ("money-1-2-100-5-even-none-0-equal-0", [104, 96], 16.4872, 373.509, 995.85),
    ("fortunes-1-2-500-10-even-multiplies-0.4-equal-0", [482, 518], 68.1693, 3154.22, 47808.0),
    ("seconds-1-4-100-40-drifting-multiplies-2-last-0.05", [206, 97, 56, 41], 463.227, 1084.28, 316.376),
    ("unlike-1-2-150-5-even-multiplies-0.4-equal-0", [143, 157], 14.7121, 416.439, 633.04),
    ("normal-0-2-20-3-even-adds-2-equal-0", [15, 25], 5.60914, 33.9912, 29.1422),
    ("uneven-0-2-250-5-uneven-adds-2-equal-0", [478, 22], -4.281, -120.108, 575.689),
]

# Index of the cell, pulls of the second arm, sums of rewards and of the first arm's means
UNLABELLED = [
    (2, 497, 564.67515, 433.31285),
    (4, 524, 204.18937, 38.506253),
    (8, 502, 811.52307, 707.24103),
    (20, 484, 1945.1618, 1459.4966),
    (26, 503, 21.0, 20.838155),
    (28, 474, 41.0, 31.813477),
    (40, 518, 659.0, 534.99583),
    (46, 502, 448.0, 357.21705),
    (52, 512, 31.102596, 44.288621),
    (58, 486, 137.84255, 134.69588),
    (64, 512, 541.72908, 454.96967),
]

# Index of the cell, number of rewards, their sum and the sum of squares
INTERACTIONS = [
    (3, 60, 573.22618, 46.451875),
    (8, 150, 1018.8896, 109.70716),
    (34, 73, 872.39613, 71.121289),
    (59, 2839, 29567.196, 2591.5826),
]

# Name, means and lengths of the first random worlds
WORLDS = [
    ("000 tie, 2 arms, 2\N{EN DASH}200 pulls", [0.0, 0.0], (2, 200)),
    ("001 near tie, 2 arms, 3\N{EN DASH}12 pulls", [0.1, 0.0], (3, 12)),
    ("002 slippage, 2 arms, 2\N{EN DASH}2 pulls", [0.1, 0.0], (2, 2)),
    ("003 two levels, 2 arms, 10\N{EN DASH}10 pulls", [0.2, -1.0], (10, 10)),
    ("004 normal means, 2 arms, 2\N{EN DASH}2 pulls", [-0.156056, -0.173054], (2, 2)),
    ("005 tie, 3 arms, 2\N{EN DASH}200 pulls", [0.0, 0.0, -1.256685], (2, 200)),
    ("006 near tie, 3 arms, 10\N{EN DASH}10 pulls", [0.03, 0.0, -0.50412], (10, 10)),
    ("007 slippage, 3 arms, 3\N{EN DASH}12 pulls", [0.5, 0.0, 0.0], (3, 12)),
    ("008 two levels, 3 arms, 2\N{EN DASH}2 pulls", [0.05, 0.0, -1.0], (2, 2)),
    ("009 normal means, 3 arms, 2\N{EN DASH}2 pulls", [0.610459, 0.018788, -0.465388], (2, 2)),
]


@pytest.mark.parametrize(("name", "pulls", "means", "rewards", "squares"), LOGS)
def test_logs_with_labels(name, pulls, means, rewards, squares):
    setting = next(setting for setting in SETTINGS if setting.name == name)
    log = random_logs.draw(setting, 0)
    cells = log.cells
    assert cells.by_arm(cells.n)[:4].tolist() == pulls
    found = log.means.sum(), (cells.n * cells.mean).sum(), cells.squares.sum()
    assert found == pytest.approx((means, rewards, squares), rel=1e-5)


@pytest.mark.parametrize(("index", "pulls", "rewards", "means"), UNLABELLED)
def test_logs_without_labels(index, pulls, rewards, means):
    arm, reward, mean = unlabelled_log_coverage.draw(unlabelled_log_coverage.cells()[index], 5, 7)
    assert arm.sum() == pulls
    assert (reward.sum(), mean.sum()) == pytest.approx((rewards, means), rel=1e-7)


@pytest.mark.parametrize(("index", "size", "rewards", "squares"), INTERACTIONS)
def test_logs_with_interactions(index, size, rewards, squares):
    cells = interaction_coverage.draw(interaction_coverage.cells()[index], 5, 7)
    assert cells.n.sum() == size
    assert ((cells.n * cells.mean).sum(), cells.squares.sum()) == pytest.approx((rewards, squares), rel=1e-7)


def test_random_worlds():
    found = [
        (each.name, [round(mean, 6) for mean in each.world.means], each.world.lengths)
        for each in wrong_stops.random_stop_worlds(10)
    ]
    assert found == WORLDS


def test_short_environments_have_no_arm_twice():
    arms = named_winners.rounds(np.random.default_rng(1), 5, 3, 200)
    assert all(len(set(arms[start : start + 3])) == 3 for start in range(0, 198, 3))
    assert np.bincount(arms).tolist() == [40] * 5
