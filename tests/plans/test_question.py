"""What is asked of a plan: only what matters, and nothing that cannot be answered."""

import math

import pytest

import tideproof as tp
from tideproof.errors import InputError
from tideproof.plans.plan_question import make_question


def test_only_ratios_to_the_noise_matter():
    assert make_question(arms=5, gap=0.3, sigma=1.0, lengths=20) == make_question(
        arms=5, gap=6, sigma=20, lengths=20
    )


def test_the_least_favourable_world_has_one_arm_ahead_of_equals():
    world = make_question(arms=4, gap=3.0, sigma=2.0, lengths=20).world(1)
    assert world.means == (0.0, 0.0, 0.0, 1.5)
    assert world.lengths == (20, 20)


def test_blocks_tell_as_much_as_their_pulls():
    world = make_question(arms=4, gap=0.1, lengths=1000).world(16)
    assert world.means[-1] == pytest.approx(0.4)
    assert world.lengths == (62, 62)
    assert make_question(arms=4, gap=0.1, lengths=3).world(16).lengths == (
        3,
        3,
    )  # environments are merged, not cut
    listed = make_question(arms=2, gap=0.1, lengths=tp.worlds.Lengths([2, 500, 40])).world(10).lengths
    assert listed == tp.worlds.Lengths([2, 50, 10])


def test_rates_are_conversions_pull_by_pull_and_normal_in_blocks():
    question = make_question(arms=3, rate=0.1, lift=0.5, lengths=100)
    assert question.world(1).rewards == "conversions"
    assert question.world(1).means == pytest.approx((0.1, 0.1, 0.15))
    block = question.world(9)
    noise = math.sqrt(0.1 * 0.9)
    assert block.means[-1] == pytest.approx(3.0 * 0.05 / noise)
    assert block.sigma == pytest.approx((1.0, 1.0, math.sqrt(0.15 * 0.85) / noise))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"gap": 0}, "gap must be above 0, not 0"),
        ({"gap": -1}, "gap must be above 0, not -1"),
        ({"gap": math.nan}, "gap must be a finite number"),
        ({"gap": None}, "gap is missing"),
        ({"sigma": 0}, "sigma must be above 0, not 0"),
        ({"sigma": -2}, "sigma must be above 0, not -2"),
        ({"error": 0}, "error must be above 0 and below 0.5, such as 0.05, not 0"),
        ({"error": 0.5}, "error must be above 0 and below 0.5"),
        ({"arms": 1}, "arms must be a whole number of at least 2, not 1"),
        ({"arms": None}, "arms is missing"),
        ({"lengths": 1}, "per_environment must be a whole number of at least 2, not 1"),
        ({"lengths": None}, "per_environment is missing"),
        ({"lengths": tp.worlds.Lengths([1, 1])}, "a single pull"),
        ({"rate": 0.1}, "give only one pair"),
        ({"gap": None, "rate": 0.1}, "lift is missing"),
        ({"gap": None, "lift": 0.1}, "rate is missing"),
        ({"gap": None, "rate": 0.1, "lift": 0}, "lift must be above 0, not 0"),
        ({"gap": None, "rate": 1.0, "lift": 0.1}, "rate must be above 0 and below 1"),
        ({"gap": None, "rate": 0.0, "lift": 0.1}, "rate must be above 0 and below 1"),
        ({"gap": None, "rate": 0.8, "lift": 0.3}, "must be below 1"),
    ],
)
def test_bad_input_is_one_clear_line(changed, said):
    with pytest.raises(InputError) as caught:
        make_question(**{"arms": 5, "gap": 0.3, "lengths": 20} | changed)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"arms": None}, "<arms> is missing"),
        ({"arms": 1}, "<arms> must be a whole number"),
        ({"error": 1}, "<error> must be above 0"),
        ({"gap": None}, "<gap> is missing: .* give <rate> and <lift>"),
        ({"gap": 0}, "<gap> must be above 0"),
        ({"sigma": 0}, "<sigma> must be above 0"),
        ({"rate": 0.1}, "<rate> and <lift> are for conversions, <gap> and <sigma> for means"),
        ({"gap": None, "rate": 0.1}, "<lift> is missing"),
        ({"gap": None, "rate": 2, "lift": 0.1}, "<rate> must be above 0"),
        ({"gap": None, "rate": 0.1, "lift": 0}, "<lift> must be above 0"),
        ({"lengths": None}, "<per_environment> is missing"),
        ({"lengths": 1}, "<per_environment> must be a whole number"),
    ],
)
def test_messages_spell_parameters_as_users_know_them(changed, said):
    with pytest.raises(InputError, match=f"^{said}"):
        make_question(**{"arms": 5, "gap": 0.3, "lengths": 20, "spell": "<{}>".format} | changed)
