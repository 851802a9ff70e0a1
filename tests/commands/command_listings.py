"""What commands print, as data: `python tests/commands/command_listings.py` writes the stored values anew."""

import contextlib
import io
import json
import sys
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent.parent))

import tideproof as tp
from golden_data import Cases, numbers, rewrite
from tideproof.cli import app
from tideproof.demos import labelled_prices, unlabelled_prices
from tideproof.report.event_text import format_age, format_time

FOLDER = Path(__file__).parent / "golden"
DAYS = "2024-03-0{}".format


def write_logs(folder):
    """Write logs of several kinds to a folder."""
    random = np.random.default_rng(8)
    rows = []
    for day in range(1, 9):
        shift = random.normal(0.0, 4.0)
        for arm, mean in zip("ABC", (0.0, 0.4, 1.6), strict=True):
            for unit in range(4 + (arm == "B") * 2):
                base = random.normal()
                reward = mean + shift + base + 0.4 * random.normal()
                rate = 0.1 + 0.1 * (arm == "C") + 0.02 * day
                rows.append(
                    (arm, DAYS(day), round(reward, 3), int(random.random() < rate),
                     round(random.lognormal() * (1.3 if arm == "C" else 1.0), 3),
                     f"u{unit}", "web" if unit % 2 else "app", round(base, 3),
                     f"{DAYS(day)}T{len(rows) % 24:02d}:30:00")
                )  # fmt: skip
    names = ("arm", "day", "y", "bought", "spent", "user", "device", "before", "at")
    lines = [",".join(map(str, row)) for row in [names, *rows]]
    (folder / "log.csv").write_text("\n".join(lines) + "\n")
    apart = [line for line in lines[1:] if not (line.startswith("C") and line.split(",")[1] != DAYS(8))]
    apart = [line for line in apart if line.startswith("C") or line.split(",")[1] != DAYS(8)]
    (folder / "apart.csv").write_text("\n".join([lines[0], *apart]) + "\n")
    wild = [line.replace(",0.", ",900.", 1) if i == 20 else line for i, line in enumerate(lines)]
    (folder / "wild.csv").write_text("\n".join(wild) + "\n")


def write_store(folder):
    """Write a store with a few experiments, at a fixed time."""
    clock = {"clock": lambda: 1.7e9}
    url = f"sqlite:///{folder}/shop.db"
    prices = tp.Experiment.open(url, "prices", ["low", "mid", "high"], budget=200, seed=1, **clock)
    pulls = []
    for day in range(6):
        pulls = prices.ask(n=12, environment=f"day {day}")
        gain = {"low": 0.0, "mid": 0.5, "high": 3.0}
        prices.tell_many(pulls, [day % 3 + gain[p.arm] + i % 3 / 10 for i, p in enumerate(pulls)])
    prices.correct(pulls[3], 2.5)
    prices.tell_summary(arm="mid", environment="day 5", n=9, mean=1.5, variance=0.4, key="sum")
    prices.cancel(prices.ask(environment="day 6"))
    prices.add_arm("top")
    prices.retire_arm("low")
    prices.note("a sale", by="ann")
    prices.extend(300)
    prices.pause("night")
    rates = tp.Experiment.open(
        url, "rates", ["A", "B"], rewards="conversions", lease=10.0, default=0.0, **clock
    )
    rates.ask(n=4, environment=1)
    empty = tp.Experiment.open(url, "empty", ["A", "B"], **clock)
    for run in (prices, rates, empty):
        run.close()


@cache
def place():
    """Return a folder with the logs and the store; it goes when the process ends."""
    held = TemporaryDirectory()
    folder = Path(held.name)
    write_logs(folder)
    write_store(folder)
    return held, folder


def run(arguments, columns=400):
    """Run a command in the folder of the logs; return its exit code and what it prints."""
    with contextlib.chdir(place()[1]):
        return CliRunner().invoke(
            app, arguments.replace("STORE", "sqlite:///shop.db").split(), env={"COLUMNS": str(columns)}
        )


VOLATILE = ("writer", "hash", "seconds", "version", "head", "url", "file", "path", "source", "library")


def only_numbers(value):
    """Return JSON values with sentences as their numbers, and without what differs from run to run."""
    if isinstance(value, dict):
        return {key: only_numbers(each) for key, each in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [only_numbers(each) for each in value]
    return numbers(value) if isinstance(value, str) and value.count(" ") > 3 else value


def as_json(arguments):
    """Return what a command prints as JSON."""
    done = run(arguments)
    return [done.exit_code, only_numbers(json.loads(done.stdout))]


def as_lines(arguments, columns=400):
    """Return the exit code of a command and the numbers in each line it prints."""
    done = run(arguments, columns)
    return [done.exit_code, *(numbers(line) for line in done.stdout.splitlines())]


def page(arguments):
    """Return the numbers of the page that `analyze` writes, by the element they are in."""
    done = run(f"analyze {arguments} --html page.html")
    text = (place()[1] / "page.html").read_text(encoding="utf-8")
    body = text[text.index("<body") :] if "<body" in text else text
    words = [part.split(">", 1) for part in body.split("<")[1:]]
    return [done.exit_code] + [
        f"{head.split()[0]} {numbers(said)}".strip()
        for head, said in (pair for pair in words if len(pair) == 2)
        if not head.startswith(("/", "svg", "path", "polygon", "polyline", "line", "circle", "g", "rect"))
    ]


def labelled_demo():
    """Return what the demo with days computes and prints at the end."""
    screen = io.StringIO()
    found = labelled_prices.run_demo(Console(file=screen, width=200), pace=0.0)
    last = screen.getvalue()[screen.getvalue().rindex("day 30 of 30") :]
    return {
        "days": found.days,
        "leaders": [found.raw_leader, found.leader],
        "picture": labelled_prices.picture_info(found),
        "lines": [numbers(line) for line in last.splitlines()],
    }


def unlabelled_demo():
    """Return what the demo without days computes and prints."""
    screen = io.StringIO()
    info = unlabelled_prices.run_hidden_demo(Console(file=screen, width=200))
    return {
        "picture": {
            **info._asdict(), "days": info.days[::50], "rewards": info.rewards[::50], "truth": info.truth[::50],
            "sums": [info.days.sum(), info.rewards @ info.days, info.truth @ info.days],
        },
        "lines": [numbers(line) for line in screen.getvalue().splitlines()],
    }  # fmt: skip


ANALYSES = {
    "plain": "log.csv --arm arm --environment day --reward y",
    "conversions": "log.csv --arm arm --environment day --reward bought",
    "money by ratio": "log.csv --arm arm --environment day --reward spent --scale ratio",
    "interaction": "log.csv --arm arm --environment day --reward y --variance interaction",
    "anytime": "log.csv --arm arm --environment day --reward y --anytime",
    "against": "log.csv --arm arm --environment day --reward y --control A",
    "units": "log.csv --arm arm --environment day --reward y --unit user",
    "not connected": "apart.csv --arm arm --environment day --reward y",
    "robust": "wild.csv --arm arm --environment day --reward y --robust cells",
}
CASES: Cases = {
    **{f"analyze, {name}": partial(as_json, f"analyze {words} --json") for name, words in ANALYSES.items()},
    **{f"analyze, {name}, table": partial(as_lines, f"analyze {words}") for name, words in ANALYSES.items()},
    **{f"analyze, {name}, page": partial(page, words) for name, words in ANALYSES.items()},
    "analyze, narrow": partial(as_lines, f"analyze {ANALYSES['plain']}", 60),
    "experiments": lambda: as_json("experiments STORE --json"),
    "show": lambda: as_json("show STORE prices --json"),
    "show, table": lambda: as_lines("show STORE prices"),
    "show, rates": lambda: as_json("show STORE rates --json"),
    "show, empty": lambda: as_json("show STORE empty --json"),
    "fsck": lambda: as_json("fsck STORE --json"),
    "policies": lambda: as_json("policies --json"),
    "simulate": lambda: as_json("simulate --scenario general --arms 5 --budgets 60,100 --replications 40 --policies linlucb,round-robin --json"),
    "simulate, table": lambda: as_lines("simulate --arms 5 --budgets 60,100 --replications 40 --policies linlucb,round-robin"),
    "plan": lambda: as_json("plan --arms 3 --gap 1 --per-environment 20 --error 0.1 --replications 200 --json"),
    "plan, table": lambda: as_lines("plan --arms 3 --gap 1 --per-environment 20 --error 0.1 --replications 200"),
    "times": lambda: [format_time(1.7e9), *(format_age(t) for t in (0, 59, 60, 3599, 3600, 86399, 86400, 9e6))],
    "demo": labelled_demo,
    "demo without days": unlabelled_demo,
}  # fmt: skip

if __name__ == "__main__":
    rewrite(CASES, FOLDER / "commands.json")
