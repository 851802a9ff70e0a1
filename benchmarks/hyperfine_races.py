"""Error rates of `tideproof bench` and of hyperfine, which take turns on the same commands under the same load.

    python benchmarks/hyperfine_races.py --workloads loop,python,sort,gzip,server --races 400 --out races.csv
    python benchmarks/hyperfine_races.py --workloads loop --effects 0,0.01 --clock cpu --races 200 --load --out found.csv
    python benchmarks/hyperfine_races.py --summary races.csv
    python benchmarks/hyperfine_races.py --overhead 1000

`--effects 0,0` races identical commands, `--effects 0,0.05` a command with one that has 5 % more to do; more numbers
are more commands. `--load` switches `stress-ng` on and off at random, or as many busy loops as there are cores where it is not installed. A
C compiler is needed for the workloads `loop` and `server`. hyperfine makes as many runs of each command as
`--hyperfine-runs` says; its answer is Welch's test of the times it exports, as its own script for that does. Where it is
not installed, the same runs are made in its order, first all of one command and then all of the next (column `program`).
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tideproof.races.process_runner import ProcessRunner, RunMeasurement
from tideproof.races.race import TimingRace
from tideproof.races.race_options import RaceOptions
from tideproof.races.race_result import collect_result
from tideproof.races.raced_commands import CommandContestant, RacedCommand, split_command

LOOP = """
#include <stdlib.h>
int main(int count, char **words) {
    volatile unsigned x = 1;
    for (long i = atol(words[1]); i > 0; i--) x = x * 1664525u + 1013904223u;
    return 0;
}
"""
CLIENT = """
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int count, char **words) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(s, (struct sockaddr *)&to, sizeof to)) return 1;
    char line[256];
    int size = snprintf(line, sizeof line, "GET /%s HTTP/1.0\\r\\n\\r\\n", words[2]);
    if (write(s, line, size) != size) return 1;
    while (read(s, line, sizeof line) > 0) {}
    return 0;
}
"""
SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        sum(range(int(self.path[1:])))
        self.send_response(200); self.end_headers(); self.wfile.write(b"done")
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
FIELDS = [
    "workload",
    "effects",
    "clock",
    "load",
    "rounds",
    "runs",
    "seconds",
    "end",
    "standing",
    "fastest",
    "slower",
    "faster",
    "same",
    "estimate",
    "low",
    "high",
    "program",
    "hyperfine_p",
    "hyperfine_first",
    "hyperfine_seconds",
]


class Workloads:
    """Commands that take about ten milliseconds, with a given share of additional work."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in (("loop", LOOP), ("client", CLIENT)):
            (folder / f"{name}.c").write_text(text)
            subprocess.run(["cc", "-O1", "-o", folder / name, folder / f"{name}.c"], check=True)
        self.server = subprocess.Popen(
            [sys.executable, "-S", "-c", SERVER], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.server.stdout.readline())

    def command(self, name: str, effect: float) -> str:
        more = 1.0 + effect
        if name == "loop":
            return f"{self.folder}/loop {round(6_000_000 * more)}"
        if name == "python":
            return f"{sys.executable} -S -E -c 'for i in range({round(120_000 * more)}): pass'"
        if name == "server":
            return f"{self.folder}/client {self.port} {round(350_000 * more)}"
        lines = round({"sort": 8_000, "gzip": 9_000}[name] * more)
        path = self.folder / f"{lines}.txt"
        if not path.exists():
            numbers = np.random.default_rng(1).integers(0, 10**12, lines)
            path.write_text("\n".join(map(str, numbers)))
        return f"sort {path}" if name == "sort" else f"gzip -c {path}"


@contextmanager
def load(on: bool):
    """Switch `stress-ng` on and off at random, in turns of one to four seconds."""
    if not on:
        yield
        return
    cores = len(os.sched_getaffinity(0))
    busy = "stress-ng -q --cpu $CORES --timeout ${SECONDS_ON}s"
    if shutil.which("stress-ng") is None:
        busy = "for i in $(seq $CORES); do timeout $SECONDS_ON sh -c 'while :; do :; done' & done; wait"
    script = f"CORES={cores}; while :; do SECONDS_ON=$((1 + $RANDOM % 4)); {busy}; sleep $((1 + $RANDOM % 4)); done"
    process = subprocess.Popen(["bash", "-c", script], start_new_session=True)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def race(commands: list[str], options: RaceOptions):
    """Race commands and return the race with its result."""
    with ProcessRunner(timeout=60.0) as runner:
        contestants = [
            CommandContestant(RacedCommand(f"c{i}", text, split_command(text), {}), runner)
            for i, text in enumerate(commands)
        ]
        running = TimingRace(contestants, options)
        running.run()
    return running, collect_result(running)


def welch(first: list[float], second: list[float]) -> float:
    """Return the two-sided p-value of Welch's test."""
    from scipy.special import stdtr

    a, b = np.array(first), np.array(second)
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    t = (a.mean() - b.mean()) / math.sqrt(va + vb)
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    return 2.0 * float(stdtr(freedom, -abs(t)))


def hyperfine(commands: list[str], runs: int) -> dict:
    """Let hyperfine measure the commands, and return what it and Welch's test say about the first two."""
    program = os.environ.get("HYPERFINE") or shutil.which("hyperfine")
    if not runs:
        return {}
    if program is None:
        return blocks(commands, runs)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        begin = time.monotonic()
        subprocess.run(
            [program, "-N", "--warmup", "3", "--runs", str(runs), "--export-json", file.name, *commands],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        seconds = time.monotonic() - begin
        first, second, *_ = json.loads(Path(file.name).read_text())["results"]
    return answer("hyperfine", first["times"], second["times"], seconds)


def blocks(commands: list[str], runs: int) -> dict:
    """Measure the first two commands in hyperfine's order, and return what its means and Welch's test say."""
    begin = time.monotonic()
    times = []
    with ProcessRunner(timeout=60.0) as runner:
        for text in commands[:2]:
            words = split_command(text)
            times.append([runner.run(words, text).wall for _ in range(3 + runs)][3:])
    return answer("blocks", *times, time.monotonic() - begin)


def answer(program: str, first: list[float], second: list[float], seconds: float) -> dict:
    """Return the columns of the CSV file about hyperfine."""
    return {
        "program": program,
        "hyperfine_p": welch(first, second),
        "hyperfine_first": int(np.mean(first) < np.mean(second)),
        "hyperfine_seconds": round(seconds, 3),
    }


def measure(given: argparse.Namespace) -> None:
    """Run the races and append a line for each to the CSV file."""
    effects = [float(each) for each in given.effects.split(",")]
    end = time.monotonic() + given.seconds
    new = not Path(given.out).exists()
    with tempfile.TemporaryDirectory() as folder, open(given.out, "a", newline="") as file, load(given.load):
        out = csv.DictWriter(file, FIELDS)
        if new:
            out.writeheader()
        work = Workloads(Path(folder))
        names = given.workloads.split(",")
        try:
            for number in range(given.races):
                if time.monotonic() > end:
                    break
                name = names[number % len(names)]
                commands = [work.command(name, effect) for effect in effects]
                options = RaceOptions(
                    clock=given.clock,
                    warmup=given.warmup,
                    max_rounds=given.max_rounds,
                    max_time=given.max_time,
                    same_within=given.same_within,
                )
                turns = [
                    lambda c=commands: hyperfine(c, given.hyperfine_runs),
                    lambda c=commands, o=options: race(c, o),
                ]
                random.shuffle(turns)
                found = [turn() for turn in turns]
                other = next(each for each in found if isinstance(each, dict))
                running, result = next(each for each in found if not isinstance(each, dict))
                deciding = [each for each in result.comparisons if each.clock == result.clock]
                # the comparison of the last command with the first, from the view of the first
                logs = running.evidence.differences(0)
                pair = next(
                    (each for each in deciding if {each.command, each.reference} == {"c0", "c1"}), None
                )
                turned = pair is not None and pair.command == "c0"
                row = {
                    "workload": name, "effects": given.effects, "clock": f"{given.clock}:{result.clock}", "load": int(given.load),
                    "rounds": result.rounds, "runs": len(result.runs), "seconds": round(result.seconds, 3), "end": result.end,
                    "standing": result.standing, "fastest": "+".join(result.fastest), "estimate": float(np.median(logs)),
                }  # fmt: skip
                if pair is not None:
                    low, high = (
                        math.log1p(max(pair.low, -1 + 1e-12)),
                        math.log1p(pair.high) if pair.high < 1e300 else math.inf,
                    )
                    row |= {
                        "slower": int(pair.faster if turned else pair.slower),
                        "faster": int(pair.slower if turned else pair.faster),
                        "same": int(pair.same),
                        "low": -high if turned else low,
                        "high": -low if turned else high,
                    }
                out.writerow(row | other)
                file.flush()
        finally:
            work.server.kill()
            work.server.wait()


def measure_overhead(runs: int) -> None:
    """Print how much longer a run takes than `posix_spawn` and `wait4` alone, and a run of a whole race."""
    words = ["true"]
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, descriptor) for descriptor in (0, 1, 2)]
    taken: dict[str, list[float]] = {"alone": [], "runner": [], "race of 2": [], "race of 5": []}

    class Alone:
        """A contestant that is measured without the runner, to find what the race itself adds."""

        def __init__(self, name: str) -> None:
            self.name = name

        def run(self, first: bool = False) -> RunMeasurement:
            begin = time.perf_counter()
            process = os.posix_spawnp("true", words, os.environ, file_actions=actions)
            os.wait4(process, 0)
            taken["alone"].append(time.perf_counter() - begin)
            return RunMeasurement(taken["alone"][-1], 0.001, 0.0)

    races = [
        TimingRace([Alone(f"c{i}") for i in range(count)], RaceOptions(min_rounds=10**9)) for count in (2, 5)
    ]
    with ProcessRunner(timeout=60.0) as runner:
        for _ in range(runs):
            begin = time.perf_counter()
            runner.run(words, "true")
            taken["runner"].append(time.perf_counter() - begin)
            for running in races:
                before = len(taken["alone"])
                begin = time.perf_counter()
                running._run_round()
                running.decide()
                beside = time.perf_counter() - begin - sum(taken["alone"][before:])
                taken[f"race of {len(running.names)}"].append(beside / len(running.names))
    alone = np.median(taken["alone"])
    print(
        f"posix_spawn and wait4: {1e3 * alone:.3f} ms (median), {1e3 * np.quantile(taken['alone'], 0.1):.3f} ms (10 %)"
    )
    print(f"the runner adds {1e3 * (np.median(taken['runner']) - alone):.3f} ms (medians), "
          f"{1e3 * (np.quantile(taken['runner'], 0.1) - np.quantile(taken['alone'], 0.1)):.3f} ms (10 % quantiles)")  # fmt: skip
    for name in ("race of 2", "race of 5"):
        print(f"a {name} adds {1e3 * np.median(taken[name]):.3f} ms to each run (median), "
              f"{1e3 * np.quantile(taken[name], 0.1):.3f} ms (10 %)")  # fmt: skip


def upper_limit(count: int, of: int) -> float:
    """Return the exact upper 95 % limit of a share (Clopper and Pearson, one-sided)."""
    from scipy.special import betaincinv

    return 1.0 if count == of else float(betaincinv(count + 1, of - count, 0.95))


def summarize(paths: list[str]) -> None:
    """Print the error rates and the numbers of rounds of result files."""
    rows = [row for path in paths for row in csv.DictReader(Path(path).read_text().splitlines())]
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault((row["effects"], row["clock"], row["load"], row["workload"]), []).append(row)
        groups.setdefault((row["effects"], row["clock"].split(":")[0] + ":", row["load"], "all"), []).append(
            row
        )
    for (effects, clock, loaded, workload), own in sorted(groups.items()):
        n = len(own)
        truth = 0.0 if effects == "0,0" else float(np.median([float(row["estimate"]) for row in own]))
        rounds = np.array([int(row["rounds"]) if row["end"] == "decided" else math.inf for row in own])
        quantiles = np.quantile(rounds, (0.5, 0.6, 0.99), method="higher")
        slower, faster = (sum(row[name] == "1" for row in own) for name in ("slower", "faster"))
        same = sum(row["same"] == "1" for row in own)
        outside = sum(
            row["low"] != "" and not float(row["low"]) <= truth <= float(row["high"]) for row in own
        )
        print(
            f"effects {effects}, {clock} load {loaded}, {workload}: {n} races, true ratio {100 * math.expm1(truth):+.2f} %"
        )
        if effects == "0,0":
            wrong = slower + faster
            print(
                f"  false alarms {wrong} = {100 * wrong / n:.1f} % (upper limit {100 * upper_limit(wrong, n):.1f} %), same {same}"
            )
        else:
            print(f"  standing fastest c0: {sum(row['standing'] == 'fastest' and row['fastest'] == 'c0' for row in own)}, "
                  f"pair found {slower}, wrong direction {faster}, same {same}")  # fmt: skip
            named = [row["fastest"] for row in own if row["standing"] == "fastest"]
            print(f"  named as fastest: { ({name: named.count(name) for name in sorted(set(named))}) }")
        runs = np.median([int(row["runs"]) for row in own if row["end"] == "decided"] or [math.nan])
        print(f"  interval misses {outside} = {100 * outside / n:.1f} %; rounds median {quantiles[0]:g}, 60 % {quantiles[1]:g}, "
              f"99 % {quantiles[2]:g}; median runs {runs:g}; median {np.median([float(row['seconds']) for row in own]):.2f} s")  # fmt: skip
        theirs = [row for row in own if row["hyperfine_p"]]
        if theirs:
            alarms = sum(float(row["hyperfine_p"]) < 0.05 for row in theirs)
            wrong_mean = sum(row["hyperfine_first"] == "0" for row in theirs)
            print(f"  {'/'.join(sorted({row['program'] for row in theirs}))}: p < 0.05 in {alarms} of {len(theirs)} = {100 * alarms / len(theirs):.1f} %; "
                  f"second command has the lower mean in {100 * wrong_mean / len(theirs):.1f} %")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workloads", default="loop")
    parser.add_argument("--effects", default="0,0")
    parser.add_argument("--clock", default="wall")
    parser.add_argument("--races", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--max-rounds", type=int, default=300)
    parser.add_argument("--max-time", type=float, default=60.0)
    parser.add_argument("--same-within", type=float, default=0.01)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no race after this time")
    parser.add_argument("--hyperfine-runs", type=int, default=0)
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--out", default="races.csv")
    parser.add_argument("--summary", nargs="+")
    parser.add_argument("--overhead", type=int, default=0, help="measure the overhead of so many runs")
    given = parser.parse_args()
    if given.summary:
        summarize(given.summary)
    elif given.overhead:
        measure_overhead(given.overhead)
    else:
        measure(given)


if __name__ == "__main__":
    main()
