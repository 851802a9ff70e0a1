"""Races of simulated commands: who is fastest, ties, gates, and what is kept when a race ends early."""

import pytest

import tideproof as tp
from races.simulated_machine import Machine, Simulated, run_race
from tideproof.races.calibrated_race import CalibratedRace
from tideproof.races.race import TimingRace
from tideproof.races.race_options import RaceOptions
from tideproof.races.race_result import collect_result


def test_the_faster_command_is_found_on_a_machine_that_is_slow_at_times():
    result = run_race([0.010, 0.011])
    [wall, cpu] = result.comparisons
    assert (result.standing, result.fastest, result.reference, result.end) == (
        "fastest",
        ["c0"],
        "c0",
        "decided",
    )
    assert (wall.command, wall.reference, wall.clock, cpu.clock) == ("c1", "c0", "wall", "cpu")
    assert wall.low <= 0.1 <= wall.high
    assert cpu.low <= 0.1 <= cpu.high
    assert wall.slower
    assert not wall.faster


def test_identical_commands_are_the_same():
    result = run_race([0.01, 0.01], noise=0.003, clock="cpu")
    assert (result.standing, result.fastest) == ("same", ["c0", "c1"])
    assert result.comparisons[0].same


def test_one_of_five_is_named_and_slow_ones_leave_early():
    result = run_race([0.0103, 0.01, 0.012, 0.0105, 0.015])
    assert (result.standing, result.fastest) == ("fastest", ["c1"])
    runs = dict(zip(result.table["command"], result.table["runs"], strict=True))
    assert runs["c4"] < runs["c0"]
    assert runs["c1"] == max(runs.values())


def test_false_alarms_of_identical_commands():
    """Of 100 races at most 5 % may drop a command; more than 15 would happen by chance in one of 20,000."""
    alarms = 0
    for seed in range(100):
        machine = Machine(seed, noise=0.05)
        race = TimingRace(
            [Simulated(name, 0.01, machine) for name in "abc"], RaceOptions(seed=seed, max_rounds=30)
        )
        race.run()
        alarms += race.left != {0, 1, 2}
    assert alarms <= 15


def test_the_order_is_random_and_the_same_for_the_same_seed():
    once, again, other = (run_race([0.01, 0.01], seed, max_rounds=300, min_rounds=300) for seed in (1, 1, 2))
    assert once.runs == again.runs
    assert once.runs["command"] != other.runs["command"]
    first = sum(row["command"] == "c0" for row in once.runs if row["position"] == 0)
    assert 110 < first < 190  # 5 standard deviations of 300 fair coins


@pytest.mark.parametrize(
    ("head", "standing"),
    [(0.0100, "not slower"), (0.0090, "not slower"), (0.0110, "slower"), (0.0102, "undecided")],
)
def test_a_gate(head, standing):
    result = run_race([0.01, head], gate=0.02, max_rounds=200)
    assert result.standing == standing
    assert result.reference == "c0"


def test_a_gate_fails_if_one_of_several_is_slower():
    result = run_race([0.01, 0.009, 0.012], gate=0.02)
    assert (result.standing, result.reference) == ("slower", "c0")
    assert [each.over_limit for each in result.comparisons if each.clock == "wall"] == [False, True]


def test_a_race_ends_undecided():
    rounds = run_race([0.01, 0.01], noise=0.5, max_rounds=10)
    assert (rounds.standing, rounds.end, rounds.rounds) == ("undecided", "max_rounds", 10)
    time = run_race([0.01, 0.01], noise=0.5, max_time=1e-6)
    assert (time.standing, time.end) == ("undecided", "max_time")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), tp.errors.CommandFailed("c1: exit code 1")])
def test_rounds_before_a_failure_are_kept(error):
    machine = Machine(1)
    commands = [Simulated("c0", 0.01, machine), Simulated("c1", 0.01, machine, error, at=3 + 6)]
    race = TimingRace(commands, RaceOptions(seed=1))
    race.run()
    result = collect_result(race)
    assert (result.rounds, len(result.runs), result.standing) == (5, 10, "undecided")
    assert result.end == ("failed" if race.failure else "interrupted")


def test_a_failure_before_the_first_round_is_raised():
    commands = [Simulated("c0", 0.01, Machine(1), tp.errors.CommandFailed("c0: exit code 1"), at=1)] * 1
    with pytest.raises(tp.errors.CommandFailed, match="exit code 1"):
        TimingRace([*commands, Simulated("c1", 0.01, Machine(1))], RaceOptions()).run()


def test_auto_takes_cpu_time_of_one_thread_that_computes():
    assert run_race([0.01, 0.02], clock="auto", noise=0.001).clock == "cpu"
    assert run_race([0.0001, 0.0002], clock="auto", noise=0.001).clock == "wall"


def test_the_calibrated_rule_needs_few_runs():
    machine = Machine(3)
    race = CalibratedRace(
        [Simulated("a", 10.0, machine), Simulated("b", 20.0, machine)],
        RaceOptions(rule="calibrated", clock="cpu"),
    )
    race.run()
    result = collect_result(race)
    assert (result.standing, result.fastest) == ("fastest", ["a"])
    assert len(result.runs) <= 12
    assert result.comparisons[0].low < 1.0 < result.comparisons[0].high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clock": "sundial"}, "time must be one of wall, cpu, auto, not 'sundial'"),
        ({"rule": "dice"}, "rule must be one of betting, calibrated"),
        ({"gate": 2.0}, "gate must be between 0 and 1, such as 0.02 for 2 %, not 2.0"),
        ({"same_within": 0.0}, "same_within must be between 0 and 1"),
        ({"max_time": 0}, "max_time must be above 0 seconds"),
        ({"warmup": -1}, "warmup must be a whole number of at least 0"),
        ({"clock": "auto", "warmup": 0}, "needs a warmup of at least 1"),
        ({"min_rounds": 5, "max_rounds": 4}, "max_rounds must be a whole number of at least 5"),
        ({"confidence": 95}, "confidence"),
        ({"gate": 0.1, "rule": "calibrated"}, "a gate needs rule 'betting'"),
    ],
)
def test_options_that_are_not_allowed(options, message):
    with pytest.raises(tp.errors.InputError, match=message):
        RaceOptions(**options)


def test_commands_that_cannot_race():
    machine = Machine(1)
    with pytest.raises(tp.errors.InputError, match="at least two commands, not 1"):
        TimingRace([Simulated("a", 1.0, machine)], RaceOptions())
    with pytest.raises(tp.errors.InputError, match="two commands have the name 'a'"):
        TimingRace([Simulated("a", 1.0, machine)] * 2, RaceOptions())
