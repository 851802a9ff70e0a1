"""How many environments a plan needs if arms interact with them: other libraries, brute force, a real pilot."""

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

import tideproof as tp
from tideproof.plans.environment_count import needed_environments, paired_test_power
from tideproof.plans.pilot_study import pilot_of
from tideproof.plans.plan_question import make_question

MACHINES = {  # productivity of six workers on three machines (Milliken and Johnson; nlme)
    "A": [52.0, 52.8, 53.1, 51.8, 52.8, 53.1, 60.0, 60.2, 58.4, 51.1, 52.3, 50.3, 50.9, 51.8, 51.4, 46.4, 44.8, 49.2],
    "B": [62.1, 62.6, 64.0, 59.7, 60.0, 59.0, 68.6, 65.8, 69.7, 63.2, 62.8, 62.2, 64.8, 65.0, 65.4, 43.7, 44.2, 43.0],
    "C": [67.5, 67.2, 66.9, 61.5, 61.7, 62.3, 70.8, 70.6, 71.0, 64.1, 66.2, 64.0, 72.1, 72.0, 71.1, 62.0, 61.4, 60.5],
}  # fmt: skip


def machines():
    rows = [(arm, i // 3, score) for arm, scores in MACHINES.items() for i, score in enumerate(scores)]
    return dict(zip(("machine", "worker", "score"), map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize(
    ("environments", "effect", "alpha"), [(2, 0.5, 0.01), (6, 1.0, 0.025), (40, 0.3, 0.05)]
)
def test_power_is_that_of_statsmodels(environments, effect, alpha):
    want = TTestPower().power(effect, environments, alpha, alternative="larger")
    assert paired_test_power(environments, effect, alpha) == pytest.approx(want, abs=1e-9)


def test_the_number_of_environments_has_the_power_in_simulated_tests():
    """20,000 tests of two arms by paired t-tests: the share is within 5 standard errors of the formula's."""
    question = make_question(arms=2, gap=1.0, sigma=1.0, lengths=8, omega=0.8)
    count = needed_environments(question, 0.8)
    random = np.random.default_rng(1)
    arms = 0.8 * random.normal(size=(20_000, count, 2)) + random.normal(size=(20_000, count, 2)) / 2.0
    lead = arms[..., 0] - arms[..., 1] + 1.0
    t = lead.mean(axis=1) / (lead.std(axis=1, ddof=1) / math.sqrt(count))
    want = TTestPower().power(1.0 / math.sqrt(2.0 * 0.64 + 0.5), count, 0.025, alternative="larger")
    from scipy import stats

    assert np.mean(t > stats.t.isf(0.025, count - 1)) == pytest.approx(
        want, abs=5.0 * 0.4 / math.sqrt(20_000)
    )
    assert (
        want
        >= 0.8
        > TTestPower().power(1.0 / math.sqrt(2.0 * 0.64 + 0.5), count - 1, 0.025, alternative="larger")
    )


def test_without_interaction_no_number_of_environments_is_needed():
    assert needed_environments(make_question(arms=3, gap=1.0, lengths=8), 0.8) is None


def test_machines_need_many_workers():
    """lme4: the interaction has the standard deviation 3.73, the noise 0.96."""
    pilot = pilot_of(machines(), "machine", "worker", "score")
    assert (pilot.omega, pilot.sigma) == (pytest.approx(3.7295, abs=0.01), pytest.approx(0.9616, abs=0.001))
    found = tp.plan(
        log=machines(), arm="machine", environment="worker", reward="score", gap=4.0, replications=100
    )
    assert found.needed_environments == 16
    assert found.to_dict()["needed_environments"] == 16
    assert "seems to vary between environments, with a standard deviation of 3.9 times" in found.sentence
    assert "plan for 16 environments of about 9 pulls (144 pulls" in found.sentence
    assert (found.budget, found.power) == (144, "")
