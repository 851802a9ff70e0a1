"""A call passes through the files that `CONTRIBUTING.md` names, and through few others."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tideproof as tp
from tideproof.cli import main

PACKAGE = os.path.join(os.path.dirname(tp.__file__), "")
CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"
BESIDE = {"checks.py", "core/kernel_array_access.py"}  # of a tell: small functions that many files call


def files_of(call):
    """Return the files of the package whose functions a call runs, and what it returns."""
    found = set()

    def profile(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(PACKAGE):
            found.add(code.co_filename.removeprefix(PACKAGE))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def named(beginning):
    """Return the files and folders of one path, and those that it adds for a store."""
    text = CONTRIBUTING.read_text(encoding="utf-8").split(f"* **{beginning}**")[1]
    path, _, stored = re.split(r"\n(?=\*|\n)", text)[0].partition("in a store also")
    return tuple(re.findall(r"`(\w+/[\w/]*(?:\.py|/))`", part) for part in (path, stored))


def missing(names, found):
    return [name for name in names if not any(file.startswith(name) for file in found)]


def warm(run):
    """Return an experiment after 60 rewards."""
    for i in range(60):
        run.tell(run.ask(environment=f"day {i // 10}"), float(i % 7))
    return run


def test_a_reward():
    names, _ = named("A reward")
    run = warm(tp.Experiment(list("ABCDE"), budget=200, seed=1))
    pull = run.ask(environment="day 6")
    found = files_of(lambda: run.tell(pull, 3.0))
    assert missing(names, found) == []
    assert {file for file in found if not file.startswith(tuple(names))} == BESIDE
    assert len(found) <= 13


def test_a_reward_in_a_store(tmp_path):
    names, stored = named("A reward")
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    run = warm(tp.Experiment.open(url, "prices", list("ABCDE"), budget=200, seed=1))
    pull = run.ask(environment="day 6")
    assert len(stored) == 2
    assert missing(names + stored, files_of(lambda: run.tell(pull, 3.0))) == []


def test_a_recommendation():
    run = warm(tp.Experiment(list("ABCDE"), budget=200, seed=1))
    run.recommend()
    run.tell(run.ask(environment="day 6"), 2.0)
    assert 15 < len(files_of(run.recommend)) <= 26


def draw_reward(kind, k, day, random):
    """Return one reward of the arm with index k."""
    if kind == "money":
        return 0.0 if random.random() < 0.6 else float(np.exp(random.normal(2.0 + 0.1 * day + 0.2 * k, 1.0)))
    return (k + day if kind == "three arms" else 5.0 + day + k) + random.normal()


@pytest.mark.parametrize("kind", ["three arms", "two arms, two possible scales", "money"])
def test_a_log_row(kind, tmp_path, monkeypatch, capsys):
    random, arms = np.random.default_rng(5), "ABC" if kind == "three arms" else "AB"
    rows = [
        (arm, day, draw_reward(kind, k, day, random))
        for day in range(8)
        for k, arm in enumerate(arms)
        for _ in range(15)
    ]
    log = tmp_path / "log.csv"
    log.write_text(
        "arm,environment,reward\n" + "".join(f"{arm},{day},{reward:.3f}\n" for arm, day, reward in rows)
    )
    columns = ["--arm", "arm", "--environment", "environment", "--reward", "reward"]
    command = ["tideproof", "analyze", str(log), *columns, "--html", str(tmp_path / "report.html")]
    monkeypatch.setattr(sys, "argv", command)

    def analyze():
        with pytest.raises(SystemExit, match=r"0|3"):
            main()

    names, _ = named("A log row")
    found = files_of(analyze)
    out = " ".join(capsys.readouterr().out.split())
    assert ("C is best" in out) == (kind == "three arms")
    assert ("if arms are compared by ratios" in out) == ("two possible scales" in kind)
    assert len(names) > 10
    assert missing(names, found) == []
    assert len(found) <= 50
