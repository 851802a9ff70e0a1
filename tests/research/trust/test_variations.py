"""Random variations of logs with combined options: always the same ones, all different, and counted."""

from typing import NamedTuple

import numpy as np
import pytest

from tideproof.research.trust.combinations import random_variations
from tideproof.research.trust.combinations.random_variations import KINDS, VARIATIONS, VariedKind
from tideproof.research.trust.ledger_part import PartOptions


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_settings_are_the_same_every_time_and_differ(kind):
    assert kind.settings == kind.settings
    assert len(set(kind.settings)) == VARIATIONS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_logs_of_a_setting_can_be_analyzed(kind):
    found = [kind.play(setting, 3) for setting in kind.settings[:6]]
    assert {type(wrong) for wrong in found} <= {bool, np.bool_, type(None)}


def test_wrong_analyses_are_counted_by_variation(monkeypatch):
    class Coin(NamedTuple):
        number: int

    def play(setting, number):
        """Be wrong in the first quarter of the variations; decline every tenth log."""
        return None if number % 10 == 0 else setting.number < VARIATIONS // 4

    kind = VariedKind("coins", lambda _, number: Coin(number), play)
    monkeypatch.setattr(random_variations, "KINDS", (kind,))
    ((row,),) = random_variations.PART.play([kind], PartOptions(10, workers=1))
    assert (row["logs"], row["wrong"], row["share"]) == (9 * VARIATIONS, 9 * VARIATIONS // 4, 0.25)
    assert (row["worst"], row["variation"], row["kept"]) == (1.0, 0, False)
    assert random_variations.PART.summarize([row])[0].startswith("coins, 20 variations: wrong in 25.0 %")
