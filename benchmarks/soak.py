"""Memory of the service over a long time: python benchmarks/soak.py --seconds 3600 [--connections 8] [--samples 60]

The script starts a service on a SQLite file with at most 20 open experiments. Each connection runs one
small test after another: it creates the test, asks and tells, evaluates, exposes and reports outcomes,
requests the recommendation, the page and the events, and stops it. Memory should be bounded, whatever is on
disk. The script prints samples of both, and at the end the change of memory from the second to the last
quarter of the time. The first quarter is left out, because caches fill.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from serve import KEY, Connection

OPENED = 20
ROUNDS = 40  # visitors and pulls of one test


def memory(pid):
    """Return the memory of a process in MB."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


async def small_test(connection, name, end):
    """Run a test from its beginning to its end, or until the time is over; return the number of requests."""
    sent = 0

    async def post(path, body):
        nonlocal sent
        sent += 1
        found = await connection.post(path, body)
        return json.loads(found) if found else None

    await post("/v1/experiments", {"name": name, "arms": ["A", "B", "C"], "lease": 60, "reserve": 60})
    here = f"/v1/experiments/{name}"
    for i in range(ROUNDS):
        if time.perf_counter() > end:
            break
        day = f"day {i // 20}"
        pull = (await post(f"{here}/ask", {"environment": day}))["pulls"][0]
        await post(f"{here}/tell", {"rewards": [{"pull": pull["id"], "reward": i % 7 / 7}]})
        context = {"targetingKey": f"visitor {i}", "environment": day}
        await post(f"/ofrep/v1/evaluate/flags/{name}", {"context": context})
        await post(f"{here}/exposures", {"exposures": [{"unit": f"visitor {i}"}]})
        await post(
            f"{here}/outcomes", {"outcomes": [{"unit": f"visitor {i}", "reward": 1.0, "key": "order"}]}
        )
        if i % 20 == 19:
            for path in (
                f"{here}/recommendation",
                f"{here}/events?limit=20",
                f"/experiments/{name}",
                "/metrics",
            ):
                sent += 1
                await connection.get(path)
    await post(f"{here}/stop", {})
    return sent


async def main(url, pid, folder, seconds, count, samples):
    host, port = re.fullmatch(r"http://(.*):(\d+)", url).groups()
    begun = time.perf_counter()
    end, sent, tests, found = begun + seconds, 0, 0, []

    async def player(number):
        nonlocal sent, tests
        connection = await Connection().open(host, int(port))
        while time.perf_counter() < end:
            tests += 1
            more = await small_test(connection, f"test-{number}-{tests}", end)
            sent += more  # not in one line, because other tasks add in between

    async def sampler():
        for i in range(samples + 1):
            await asyncio.sleep(max(0.0, begun + i * seconds / samples - time.perf_counter()))
            disk = sum(path.stat().st_size for path in Path(folder).iterdir()) / 2**20
            found.append(memory(pid))
            past = time.perf_counter() - begun
            print(
                f"{past:7.1f} s  {found[-1]:7.1f} MB of memory  {disk:8.1f} MB on the disk  {tests:6,} tests",
                flush=True,
            )

    await asyncio.gather(sampler(), *(player(number) for number in range(count)))
    quarter = max(1, len(found) // 4)
    before, after = (statistics.fmean(part) for part in (found[quarter : 2 * quarter], found[-quarter:]))
    print(
        f"{sent:,} requests, {tests:,} tests in {seconds:g} s; memory from {before:.1f} MB in the second quarter to "
        f"{after:.1f} MB in the last: {after - before:+.1f} MB ({100 * (after / before - 1):+.1f} %)"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--samples", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tideproof", "serve", f"sqlite:///{folder}/a.db", "--port", "0"]
        settings = {
            "TIDEPROOF_ADMIN_KEY": KEY,
            "TIDEPROOF_LOG_FORMAT": "off",
            "TIDEPROOF_OPEN_EXPERIMENTS": str(OPENED),
        }
        service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | settings)
        try:
            url = re.search(r"http://\S+", service.stdout.readline()).group()
            how = (options.seconds, options.connections, options.samples)
            asyncio.run(main(url, service.pid, folder, *how))
        finally:
            service.terminate()
            service.wait()
