"""The tool that counts what tests do not notice, on a module so small that the answer is known."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TOOL = ROOT / "tools" / "mutants"

SOURCE = """
def area(width, height):
    if width < 0:
        raise ValueError(0 + 1)
    return width * height


def unseen(x: int | None, y):
    return max(x, y)


def total(row):
    out = [0.0]
    for i in range(len(row)):
        out[0] += row[i]
    return out[0]


def count(n):
    while n != 0:
        n -= 1
    return n
"""

TESTS = """
from tiny.arithmetic import area, count, total

def test_area():
    assert area(2, 2) == 4
    assert area(-1 + 1, 3) == 0

def test_total():
    assert total([1.0, 2.0]) == 3.0

def test_count():
    assert count(3) == 0
"""

TARGETS = """
[tiny]
files = ["src/tiny/*.py"]
tests = ["tests"]
"""


@pytest.fixture
def tiny(tmp_path):
    for name, text in {
        "src/tiny/__init__.py": "",
        "src/tiny/arithmetic.py": SOURCE,
        "tests/test_tiny.py": TESTS,
        "targets.toml": TARGETS,
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(tiny, *options):
    command = [sys.executable, TOOL, "--root", tiny, "--targets", tiny / "targets.toml"]
    command += ["--equivalent", tiny / "equivalent.toml", "--jobs", "2", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=tiny)


def survivors(shown):
    listed = shown.split("Survived:")[1].split("package ")[0]
    return {line.split("  ", 2)[-1].strip() for line in listed.splitlines() if "arithmetic.py:" in line}


def test_what_can_be_changed_is_listed(tiny):
    shown = run(tiny, "--list", "--count", "0").stdout.splitlines()
    assert shown[-1] == "17 of 17 mutants"
    assert sorted(line.split("  ", 1)[1] for line in shown[:-1]) == sorted(
        [
            "width < 0  ->  width <= 0",
            "width < 0  ->  width >= 0",
            "width < 0  ->  width < 1",
            "width * height  ->  width / height",
            "max(x, y)  ->  min(x, y)",
            "[0.0]  ->  [1.0]",
            "range(len(row))  ->  range(len(row) - 1)",
            "out[0] += row[i]  ->  (nothing)",
            "out[0] += row[i]  ->  out[0] -= row[i]",
            "row[i]  ->  row[i - 1]",
            "out[0]  ->  out[1]",
            "out[0]  ->  out[1]",
            "n != 0  ->  n == 0",
            "n != 0  ->  n != 1",
            "n -= 1  ->  (nothing)",
            "n -= 1  ->  n += 1",
            "n -= 1  ->  n -= 2",
        ]
    )


def test_a_sample_is_the_same_each_time_and_leaves_no_package_out(tiny):
    (tiny / "src/other").mkdir()
    (tiny / "src/other/half.py").write_text("def half(x):\n    return x / 2\n")
    (tiny / "targets.toml").write_text(TARGETS + TARGETS.replace("tiny", "other"))
    shown = [run(tiny, "--list", "--count", "5").stdout for _ in range(2)]
    assert shown[0] == shown[1]
    assert shown[0].count("half.py") == 2
    assert shown[0].splitlines()[-1] == "10 of 19 mutants"  # eight of a package, if it has as many


ENTRY = """
[[mutant]]
file = "src/tiny/arithmetic.py"
line = "{}"
change = "{}"
why = "because"
"""


def test_what_no_test_notices_survives_unless_it_is_explained(tiny):
    explained = ENTRY.format("out[0] += row[i]", "row[i] -> row[i - 1]")  # a sum in another order
    wrong = ENTRY.format("return width * height", "width * height -> width / height") + ENTRY.format("x", "y")
    (tiny / "equivalent.toml").write_text(explained + wrong)
    done = run(tiny, "--count", "0", "--patience", "0.5")  # three of them never end
    assert survivors(done.stdout) == {
        "max(x, y)  ->  min(x, y)",  # no test calls it
        "row[i]  ->  row[i - 1]",
    }, done.stdout + done.stderr
    assert "2 survived (11.8%), 1 of them unexplained (5.9%)" in done.stdout
    assert "but killed: src/tiny/arithmetic.py | return width * height" in done.stdout
    assert "no longer in the code: src/tiny/arithmetic.py | x | y" in done.stdout
    assert done.returncode == 1
    assert (tiny / "src/tiny/arithmetic.py").read_text() == SOURCE

    (tiny / "equivalent.toml").write_text(explained)
    done = run(tiny, "--files", "arithmetic.py", "--only", *ids(tiny, "row[i]  ->  row[i - 1]"))
    assert "because" in done.stdout
    assert done.returncode == 0


def test_a_module_whose_own_examples_are_played_too_is_changed_all_the_same(tiny):
    (tiny / "src/tiny/arithmetic.py").write_text(
        'SIDES = 4\n\n\ndef sides():\n    """Say how many.\n\n    >>> sides() > 0\n    True\n    """\n    return SIDES\n'
    )
    (tiny / "tests/test_tiny.py").write_text(
        "from tiny.arithmetic import sides\n\ndef test_sides():\n    assert sides() == 4\n"
    )
    (tiny / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "--doctest-modules --import-mode=importlib"\n'
    )
    (tiny / "targets.toml").write_text(TARGETS.replace('["tests"]', '["tests", "src/tiny"]'))
    done = run(tiny, "--count", "0")
    assert "1 mutants, 1 killed" in done.stdout, done.stdout + done.stderr


PICTURE = """
GAP = 4.0 / 3

def bar(axes, share, wide=2):
    axes.set(xlim=(-0.5, 1.5), ylim=(0, GAP * 2 if share > 1 else sum([3])))
    text(said[5], 7.0, bar.count(8.0))
    return 100.0 * share
"""


def test_numbers_that_only_place_or_style_a_picture_are_left_out(tiny):
    (tiny / "src/tideproof/draw").mkdir(parents=True)
    (tiny / "src/tideproof/draw/picture.py").write_text(PICTURE)
    (tiny / "src/tiny/arithmetic.py").write_text("GAP = 4.0\n")
    (tiny / "targets.toml").write_text(
        TARGETS + '[draw]\nfiles = ["src/tideproof/draw/*.py"]\ntests = ["tests"]\n'
    )
    shown = run(tiny, "--list", "--count", "0").stdout
    found = sorted(line.split("  ", 1)[1] for line in shown.splitlines() if "picture.py" in line)
    assert found == sorted(
        [
            "4.0 / 3  ->  4.0 * 3",
            "def bar(wide=2)  ->  def bar(wide=3)",
            "GAP * 2  ->  GAP / 2",
            "share > 1  ->  share >= 1",
            "share > 1  ->  share <= 1",
            "share > 1  ->  share > 2",
            "[3]  ->  [4]",
            "text(said[5], 7.0, bar.count(8.0))  ->  (nothing)",
            "axes.set(xlim=(-0.5, 1.5), ylim=(0, GAP * 2 if share > 1 else sum([3])))  ->  (nothing)",
            "said[5]  ->  said[6]",
            "bar.count(8.0)  ->  bar.count(9.0)",
            "100.0 * share  ->  100.0 / share",
            "100.0 * share  ->  101.0 * share",
        ]
    )
    assert "GAP = 4.0  ->  GAP = 5.0" in shown  # in another folder


def test_a_constant_that_is_read_on_import_is_tested_by_what_imports_it(tiny):
    (tiny / "src/tiny/arithmetic.py").write_text("SIDES = (\n    4,\n    5,\n)\n")
    (tiny / "tests/test_tiny.py").write_text(
        "from tiny.arithmetic import SIDES\n\ndef test_sides():\n    assert SIDES[0] == 4\n"
    )
    done = run(tiny, "--count", "0")
    assert survivors(done.stdout) == {"(4, 5)  ->  (4, 6)"}, done.stdout + done.stderr


def ids(tiny, change):
    shown = run(tiny, "--list", "--count", "0").stdout.splitlines()
    return [line.split()[0] for line in shown if line.endswith(change)]


SMALL = """
def larger(x, y):
    return max(x, y)


def double(x):
    return 2 * x
"""
SMALL_TESTS = """
from tiny.arithmetic import double

def test_double():
    assert double(2) == 4
"""
UNTESTED, WEAK = "max(x, y)  ->  min(x, y)", "2 * x  ->  3 * x"


@pytest.fixture
def small(tiny):
    """A module with three mutants, of which the tests of one function kill two."""
    (tiny / "src/tiny/arithmetic.py").write_text(SMALL)
    (tiny / "tests/test_tiny.py").write_text(SMALL_TESTS)
    return tiny


@pytest.mark.long
def test_tests_of_a_line_are_found_after_it_moved_and_measured_again_after_they_changed(small):
    measured = "Running 1 test files once"
    before = run(small, "--count", "0")
    assert (measured in before.stdout, survivors(before.stdout)) == (True, {UNTESTED})
    (small / "src/tiny/arithmetic.py").write_text("LIMIT = None\n" + SMALL)
    after = run(small, "--count", "0")
    assert (measured in after.stdout, survivors(after.stdout)) == (False, {UNTESTED})
    (small / "tests/test_tiny.py").write_text(SMALL_TESTS.replace("double(2) == 4", "double(0) == 0"))
    weaker = run(small, "--count", "0")
    assert (measured in weaker.stdout, survivors(weaker.stdout)) == (True, {UNTESTED, WEAK})


@pytest.mark.long
def test_distant_tests_are_run_only_against_mutants_that_survive_the_near_ones(small):
    for folder, test in (("other", "pass"), ("far", "assert larger(1, 2) == 2")):
        (small / "tests" / folder).mkdir()
        (small / "tests" / folder / f"test_{folder}.py").write_text(
            f"from tiny.arithmetic import larger\n\ndef test_larger():\n    {test}\n"
        )
    (small / "targets.toml").write_text(TARGETS.replace('["tests"]', '["tests", "tests/other", "tests/far"]'))
    near = run(small, "--count", "0", "--near")
    assert survivors(near.stdout) == {UNTESTED}
    assert "test_far" not in near.stdout
    both = run(small, "--count", "0")
    assert "The other tests of 1 mutants" in both.stdout
    assert "None survived" in both.stdout


UNNOTICED = """
def run(work, limit):
    thread = Thread(target=work, daemon=True, name=token_hex(4))
    while time.monotonic() < limit:
        time.sleep(0.1 * random.random())
    thread.join(3.0)
    return time.time() == limit
"""


def test_what_no_user_can_notice_is_left_out(tiny):
    """Pauses, the length of random text, daemon threads, and clocks that hit a limit exactly."""
    (tiny / "src/tiny/arithmetic.py").write_text(UNNOTICED)
    shown = run(tiny, "--list", "--count", "0").stdout.splitlines()
    assert sorted(line.split("  ", 1)[1] for line in shown[:-1]) == [
        "thread.join(3.0)  ->  (nothing)",
        "time.monotonic() < limit  ->  time.monotonic() >= limit",
        "time.time() == limit  ->  time.time() != limit",
    ]
