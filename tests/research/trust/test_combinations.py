"""The part on combined options: settings have distinct names, and wrong analyses are counted."""

from typing import NamedTuple

from tideproof.research.trust.combinations import combined_options
from tideproof.research.trust.ledger_part import PartOptions


class Coin(NamedTuple):
    name: str
    every: int


def settings():
    return [Coin("coin", 2)]


def play(setting, number):
    """Be wrong for every second log, and decline every fifth."""
    return None if number % 5 == 0 else number % setting.every == 0


def test_wrong_analyses_are_counted(monkeypatch):
    monkeypatch.setattr(combined_options, "_load", lambda _: type("Module", (), {"play": play}))
    cell = combined_options.CombinedSetting("here", settings()[0])
    ((row,),) = combined_options.PART.play([cell], PartOptions(100, workers=1))
    assert (row["runs"], row["logs"], row["wrong"], row["kept"]) == (100, 80, 40, False)
    assert combined_options.PART.summarize([row])[0].startswith("coin: wrong in 50.0 %")


def test_names_of_settings_are_distinct():
    names = [cell.name for cell in combined_options.cells()]
    assert len(set(names)) == len(names) > 0


def test_every_setting_can_be_played():
    for cell in combined_options.cells():
        ((row,),) = combined_options.PART.play([cell], PartOptions(1, workers=1))
        assert row["logs"] in (0, 1), cell.name
