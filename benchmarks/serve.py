"""Throughput and latency of the service, including the client: python benchmarks/serve.py [SECONDS] [CONNECTIONS].

The script starts a service on a SQLite file in a temporary folder. It prints, for each kind of request, the
rate over several connections, the latency, and the processor time, which is the same on a busy machine.
"""

import asyncio
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

KEY = "benchmark-key-of-thirty-letters"


class Connection:
    """A persistent HTTP connection with the minimum of the protocol."""

    async def open(self, host, port):
        self.reader, self.writer = await asyncio.open_connection(host, port)
        return self

    async def post(self, path, body):
        data = json.dumps(body).encode()
        return await self._send(
            f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n".encode()
            + data
        )

    async def get(self, path):
        return await self._send(
            f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode()
        )

    async def _send(self, request):
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 20"), head
        length = re.search(rb"content-length: (\d+)", head)
        return await self.reader.readexactly(int(length[1])) if length else b""


def used(pid):
    """Return the seconds of processor time that a process has used."""
    with open(f"/proc/{pid}/stat") as found:
        fields = found.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(title, pid, connections, seconds, work, rate=math.inf):
    """Let all connections send requests as fast as they can, or at a total rate, and print rate and latency.

    At a given rate, latency counts from the time at which the request was due, so that waiting is included.
    """
    took, start, before = [], time.perf_counter(), used(pid)
    end = start + seconds

    async def busy(number, connection):
        step = 0
        while time.perf_counter() < end:
            due = start + (number + step * len(connections)) / rate
            if due > time.perf_counter():
                await asyncio.sleep(due - time.perf_counter())
            begun = due if rate < math.inf else time.perf_counter()
            await work(connection, number, step)
            took.append(time.perf_counter() - begun)
            step += 1

    begun = time.perf_counter()
    await asyncio.gather(*(busy(number, each) for number, each in enumerate(connections)))
    took.sort()
    rate = len(took) / (time.perf_counter() - begun)
    half, most = (1000.0 * took[int(share * (len(took) - 1))] for share in (0.5, 0.99))
    cost = 1000.0 * (used(pid) - before) / len(took)
    print(
        f"{title}: {rate:,.0f} a second, half within {half:.1f} ms, 99 % within {most:.1f} ms; "
        f"{cost:.2f} ms of processor time of the service each"
    )


async def ask_and_tell(connection, number, step):
    found = json.loads(
        await connection.post("/v1/experiments/pulls/ask", {"environment": f"day {step // 50}"})
    )
    reward = {"pull": found["pulls"][0]["id"], "reward": step % 7 / 7}
    await connection.post("/v1/experiments/pulls/tell", {"rewards": [reward]})


async def known(connection, number, step):
    body = {"unit": f"visitor {step % 50}", "environment": "monday"}
    await connection.post("/v1/experiments/units/evaluations", body)


async def new(connection, number, step):
    body = {"unit": f"visitor {number}-{step}", "environment": "monday"}
    await connection.post("/v1/experiments/units/evaluations", body)


async def flag(connection, number, step):
    body = {"context": {"targetingKey": f"visitor {step % 50}", "environment": "monday"}}
    await connection.post("/ofrep/v1/evaluate/flags/flags", body)


async def main(url, pid, seconds, count):
    host, port = re.fullmatch(r"http://(.*):(\d+)", url).groups()
    connections = [await Connection().open(host, int(port)) for _ in range(count)]
    for name in ("pulls", "units"):
        await connections[0].post("/v1/experiments", {"name": name, "arms": ["A", "B", "C"]})
    flags = {"name": "flags", "arms": ["A", "B", "C"], "lease": 3600, "reserve": 3600}
    await connections[0].post("/v1/experiments", flags)
    await measure("ask and tell", pid, connections, seconds, ask_and_tell)
    await measure("evaluations of units that are new", pid, connections, seconds, new)
    await measure("evaluations of units that are known", pid, connections, seconds, known)
    title = "OFREP evaluations of units that are known"
    await measure(title, pid, connections, seconds, flag)
    await measure(f"{title}, 1,000 a second wanted", pid, connections, seconds, flag, 1000.0)


if __name__ == "__main__":
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tideproof", "serve", f"sqlite:///{folder}/a.db", "--port", "0"]
        settings = {
            "TIDEPROOF_ADMIN_KEY": KEY,
            "TIDEPROOF_LOG_FORMAT": "off",
            "TIDEPROOF_ADDRESS_REQUESTS_PER_SECOND": "1e6",
        }
        service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | settings)
        begun = time.perf_counter()
        url = re.search(r"http://\S+", service.stdout.readline()).group()
        print(f"started in {time.perf_counter() - begun:.1f} s")
        asyncio.run(main(url, service.pid, seconds, count))
        with open(f"/proc/{service.pid}/status") as status:
            memory = int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024
        print(f"memory: {memory:,.0f} MB")
        service.terminate()
        service.wait()
