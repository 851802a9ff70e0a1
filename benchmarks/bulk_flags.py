"""Cost of a bulk OFREP request, compared with a bare FastAPI route that commits one row to SQLite.

python benchmarks/bulk_flags.py [EXPERIMENTS] [REQUESTS]

The store has many experiments, and the key is for one flag. Both services get requests in turn, over one
connection each, so that both see the same machine. The bare route stores each body with `synchronous=FULL`.
"""

import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import serve as benchmark

BARE = """
import sqlite3, sys, threading, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

class Context(BaseModel):
    targetingKey: str
    environment: str

class Body(BaseModel):
    context: Context

app, local = FastAPI(), threading.local()

@app.post("/bare")
def bare(body: Body) -> dict[str, str]:
    if not hasattr(local, "database"):
        local.database = sqlite3.connect(sys.argv[1], isolation_level=None)
        local.database.execute("PRAGMA journal_mode = WAL")
        local.database.execute("PRAGMA synchronous = FULL")
        local.database.execute("CREATE TABLE IF NOT EXISTS rows (unit TEXT, environment TEXT)")
    local.database.execute("INSERT INTO rows VALUES (?, ?)", (body.context.targetingKey, body.context.environment))
    return {"value": "A"}

uvicorn.run(app, port=int(sys.argv[2]), log_level="error")
"""


async def median_times(works, turns, count):
    """Return the median seconds of each kind of request, which take turns."""
    took = {name: [] for name in works}
    for turn in range(turns):
        for name, work in works.items():
            for step in range(count):
                begun = time.perf_counter()
                await work(turn * count + step)
                took[name].append(time.perf_counter() - begun)
    return {name: statistics.median(each) for name, each in took.items()}


async def main(url, pid, bare_port, bare_pid, experiments, requests):
    host, port = re.fullmatch(r"http://(.*):(\d+)", url).groups()
    connection = await benchmark.Connection().open(host, int(port))
    for number in range(experiments):
        body = {"name": f"flag {number}", "arms": ["A", "B"], "visitors": True}
        await connection.post("/v1/experiments", body)
    made = await connection.post("/v1/keys", {"name": "k", "role": "evaluator", "experiments": ["flag 0"]})
    benchmark.KEY = re.search(rb'"secret":"([^"]+)"', made)[1].decode()
    while True:
        try:
            bare = await benchmark.Connection().open("127.0.0.1", bare_port)
            break
        except OSError:
            await asyncio.sleep(0.1)

    def body(unit):
        return {"context": {"targetingKey": unit, "environment": "monday"}}

    async def commit(step):
        await bare.post("/bare", body(f"visitor {step}"))

    async def new(step):
        await connection.post("/ofrep/v1/evaluate/flags", body(f"visitor {step}"))

    async def known(step):
        await connection.post("/ofrep/v1/evaluate/flags", body("visitor 0"))

    works = {"bare route with a commit": commit, "new visitor": new, "known visitor": known}
    pids = {"bare route with a commit": bare_pid}
    await median_times(works, 1, 20)
    found = await median_times(works, 5, requests // 5)
    for name, work in works.items():
        before = benchmark.used(pids.get(name, pid))
        for step in range(requests):
            await work(10**6 + step)
        cost = (benchmark.used(pids.get(name, pid)) - before) / requests
        ratio = found[name] / found["bare route with a commit"]
        print(
            f"{name}: {1000 * found[name]:.2f} ms, {ratio:.2f} times; {1000 * cost:.2f} ms of processor time"
        )


if __name__ == "__main__":
    experiments = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tideproof", "serve", f"sqlite:///{folder}/a.db", "--port", "0"]
        settings = {"TIDEPROOF_ADMIN_KEY": benchmark.KEY, "TIDEPROOF_LOG_FORMAT": "off"}
        service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | settings)
        url = re.search(r"http://\S+", service.stdout.readline()).group()
        port = int(url.rpartition(":")[2]) + 1
        bare = subprocess.Popen([sys.executable, "-c", BARE, f"{folder}/bare.db", str(port)])
        try:
            asyncio.run(main(url, service.pid, port, bare.pid, experiments, requests))
        finally:
            for process in (service, bare):
                process.terminate()
                process.wait()
