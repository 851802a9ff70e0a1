"""benchmarks/soak.py runs, and says how the memory of a service changed."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent.parent / "benchmarks" / "soak.py"


def test_it_runs():
    how = ["--seconds", "2", "--connections", "2", "--samples", "4"]
    found = subprocess.run([sys.executable, SCRIPT, *how], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    *samples, last = found.stdout.splitlines()
    sizes = [float(re.fullmatch(r" *[\d.]+ s +([\d.]+) MB of memory .* tests", line)[1]) for line in samples]
    assert len(sizes) == 5
    assert all(20.0 < size < 200.0 for size in sizes)  # the service may take 200 MB
    requests, tests = (
        int(number.replace(",", "")) for number in re.findall(r"([\d,]+) (?:requests|tests)", last)
    )
    assert requests > tests >= 2
