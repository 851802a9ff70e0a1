"""The settings of the ledger: enough of them, of every kind that is promised."""

import pytest

from tideproof.errors import InputError
from tideproof.research.trust.log_settings import POWER_SETTINGS, SETTINGS, chosen
from tideproof.research.trust.random_logs import SPLITS, TRUTHS


def seen(field):
    return {getattr(setting, field) for setting in SETTINGS}


def test_there_are_sixty_with_names_of_their_own():
    assert len(SETTINGS) >= 60
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    assert len({setting.name for setting in POWER_SETTINGS}) == len(POWER_SETTINGS)


@pytest.mark.parametrize(
    ("field", "low", "high"),
    [("arms", 2, 40), ("pulls", 20, 100_000), ("environments", 3, 400)],
)
def test_small_and_large(field, low, high):
    assert min(seen(field)) == low
    assert max(seen(field)) == high


def test_conversions_are_rare_and_frequent():
    rates = {setting.level for setting in SETTINGS if setting.rewards == "conversions"}
    assert min(rates) == 0.001
    assert max(rates) == 0.5


def test_every_kind_occurs():
    lognormal = {"seconds", "money", "fortunes", "unlike"}
    assert seen("rewards") == {"conversions", "counts", "clumps", "normal", "uneven"} | lognormal
    assert seen("allocation") == set(SPLITS)
    assert seen("truth") == set(TRUTHS)
    assert seen("tide") == {"none", "adds", "multiplies", "odds"}
    assert any(setting.rewards == "money" and setting.level < 1.0 for setting in SETTINGS)


def test_duels_are_of_two_arms_of_which_the_second_is_better():
    assert {(setting.arms, setting.truth) for setting in POWER_SETTINGS} == {(2, "last")}


def test_a_pattern_chooses():
    settings, power_settings = chosen("money-1-*")
    assert settings
    assert power_settings
    assert {setting.rewards for setting in (*settings, *power_settings)} == {"money"}
    with pytest.raises(InputError, match="no setting matches 'gold'"):
        chosen("gold")
