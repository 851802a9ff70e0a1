"""Commands from their texts: words, shells, parameters, names, preparation."""

import pytest

import tideproof as tp
from tideproof.races.raced_commands import (
    CommandSet,
    expand_commands,
    parse_parameter_list,
    parse_parameter_scan,
    parse_variable,
    prepared_contestants,
    split_command,
)


def texts(*commands, **options):
    return [each.text for each in expand_commands(CommandSet(commands, **options))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("./a --n 3", ["./a", "--n", "3"]),
        ("grep 'a|b' file", ["grep", "a|b", "file"]),
        ('echo "two words" \\$x', ["echo", "two words", "$x"]),
        ("a file#1 x~", ["a", "file#1", "x~"]),
    ],
)
def test_words_of_a_command(text, words):
    assert split_command(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "a | b",
        "a > f",
        "a; b",
        "a && b",
        "echo $x",
        'echo "$x"',
        "echo `date`",
        "ls *.c",
        "ls ~",
        "X=1 a",
        "a # b",
    ],
)
def test_a_command_that_needs_a_shell(text):
    with pytest.raises(tp.errors.InputError, match="needs a shell; --shell sh runs all"):
        split_command(text)
    [command, _] = expand_commands(CommandSet([text, "true"], shell="sh"))
    assert command.arguments == ["/bin/sh", "-c", text]


def test_all_combinations_of_parameters():
    given = {"n": ["1", "2"], "m": ["x", "y"]}
    assert texts("a {n} {m}", "b {m}", "c", parameters=given) == [
        "a 1 x",
        "a 1 y",
        "a 2 x",
        "a 2 y",
        "b x",
        "b y",
        "c",
    ]


def test_names():
    given = CommandSet(["a {n}", "b {n}", "c"], ["old", "new {n}"], parameters={"n": ["1", "2"]})
    assert [each.name for each in expand_commands(given)] == ["old (n=1)", "old (n=2)", "new 1", "new 2", "c"]
    assert [each.name for each in expand_commands(CommandSet(["a", "a", "b"]))] == ["a #1", "a #2", "b"]


def test_scans():
    assert parse_parameter_scan("n=2:3") == ("n", ["2", "3"])
    assert parse_parameter_scan("x=0.5:1:0.25") == ("x", ["0.50", "0.75", "1.00"])
    assert parse_parameter_list("x= a, b") == ("x", ["a", "b"])
    assert parse_variable("A=b=c") == ("A", "b=c")


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_parameter_scan, "n=1", "NAME=FIRST:LAST"),
        (parse_parameter_scan, "n=a:b", "NAME=FIRST:LAST"),
        (parse_parameter_scan, "n=3:1", "must go up"),
        (parse_parameter_scan, "n=1:3:0", "must go up"),
        (parse_parameter_scan, "n=1:1e9", "at most 1000 values"),
        (parse_parameter_scan, "n=1:inf", "must go up"),
        (parse_parameter_list, "n", "NAME=VALUE,VALUE"),
        (parse_parameter_list, "n=1,,2", "NAME=VALUE,VALUE"),
        (parse_variable, "A", "NAME=VALUE, not 'A'"),
        (split_command, "a 'b", "no closing quotation"),
        (split_command, "  ", "must not be empty"),
    ],
)
def test_texts_that_are_not_allowed(parse, text, message):
    with pytest.raises(tp.errors.InputError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (CommandSet(["a"], ["x", "y"]), "2 names for 1 commands"),
        (CommandSet(["a", "b", "c"], prepare=["x", "y"]), "once for each of the 3 commands, not 2 times"),
        (CommandSet(["a"], parameters={"n": ["1"]}), "no command contains {n}"),
        (CommandSet(["a {n}"], parameters={"n": ["1"] * 1001}), "1 to 1000 values"),
        (CommandSet(["a"], shell="fish"), "shell must be one of none, sh"),
    ],
)
def test_sets_that_are_not_allowed(given, message):
    with pytest.raises(tp.errors.InputError, match=message):
        expand_commands(given)


def contestants(given, **options):
    defaults = {"variables": {}, "folder": None, "timeout": 20.0, "accept_failures": False}
    return prepared_contestants(given, expand_commands(given), **{**defaults, **options})


def test_setup_preparation_and_cleanup_run_in_the_folder(tmp_path):
    given = CommandSet(
        ["sh {n}.sh"],
        parameters={"n": ["a", "b"]},
        setup="echo 'echo $VALUE >> log' > {n}.sh",
        prepare=["echo before-{n} >> log"],
        cleanup="echo done >> log",
    )
    with contestants(given, variables={"VALUE": "run"}, folder=str(tmp_path)) as made:
        for each in made:
            each.run()
    assert (tmp_path / "log").read_text().split() == ["before-a", "run", "before-b", "run", "done"]


def test_a_setup_that_fails_is_reported_and_cleaned_up(tmp_path):
    given = CommandSet(["true"], setup="echo broken >&2; exit 4", cleanup="touch cleaned")
    with (
        pytest.raises(tp.errors.CommandFailed, match="--setup: exit code 4; stderr: broken"),
        contestants(given, folder=str(tmp_path)),
    ):
        pass
    assert (tmp_path / "cleaned").exists()


def test_a_folder_that_does_not_exist():
    with (
        pytest.raises(tp.errors.InputError, match="there is no folder 'nowhere'"),
        contestants(CommandSet(["true"]), folder="nowhere"),
    ):
        pass
