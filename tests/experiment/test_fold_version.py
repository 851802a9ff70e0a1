"""The numbers that a snapshot holds change only together with `FOLD_VERSION`.

After a deliberate change: increase `FOLD_VERSION`, then `python tests/experiment/test_fold_version.py` writes the file.
"""

import base64
import json
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import tideproof as tp
from tideproof.experiment.snapshots import snapshot

FILE = Path(__file__).with_name("fold_version.json")
POLICIES = ["contrast", "linlucb", "ucb1-normal", "both:contrast", "by-arm:contrast", "robust:contrast"]


def finished_run(policy):
    """Return an experiment with told, corrected, cancelled, summarised and pending pulls."""
    run = tp.Experiment(["A", "B", "C"], budget=900, policy=policy, seed=3)
    random = np.random.default_rng(5)
    for step in range(110):
        pulls = run.ask(n=2, environment=step // 9)
        run.tell(pulls[0], round(float(random.normal(step % 9, 1.0)), 3))
        if step % 4:
            run.tell(pulls[1], round(float(random.normal(step % 7, 1.0)), 3))
        elif step % 8:
            run.cancel(pulls[1])
        if step == 60 and not policy.startswith("both"):
            run.tell_summary(arm="B", environment="sums", n=3, mean=1.0, variance=0.5)
    return run


def summary(value):
    """Return the layout of a snapshot, with each array replaced by its type, shape and two sums."""
    if isinstance(value, list):
        return [summary(each) for each in value]
    if not isinstance(value, dict):
        return value
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(value["data"])), value["type"]).astype(float)
    moderate = np.where(np.abs(numbers) < 1e50, numbers, 7.0)
    return [value["type"], value["shape"], float(moderate.sum()), float(np.abs(moderate).sum())]


def current(policy):
    with tempfile.TemporaryDirectory() as folder:
        finished_run(policy).save(Path(folder) / "run.json")
        return summary(json.loads((Path(folder) / "run.json").read_text())["snapshot"]["numbers"])


def differences(left, right, where="snapshot"):
    """Return where two summaries differ by more than rounding."""
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        parts = enumerate(zip(left, right, strict=True))
        return [found for i, (a, b) in parts for found in differences(a, b, f"{where}[{i}]")]
    same = left == pytest.approx(right, rel=1e-6, abs=1e-9) if isinstance(left, float) else left == right
    return [] if same else [f"{where}: {left} is not {right}"]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_numbers_of_a_snapshot_change_only_with_its_version(policy):
    recorded = json.loads(FILE.read_text())
    assert recorded["version"] == snapshot.FOLD_VERSION, f"run python {Path(__file__).name}"
    assert differences(current(policy), recorded[policy]) == [], "increase FOLD_VERSION"


def test_a_changed_number_is_noticed():
    recorded = json.loads(FILE.read_text())["contrast"]
    changed = json.loads(json.dumps(recorded).replace("3]", "4]", 1))
    assert differences(changed, recorded)


if __name__ == "__main__":
    contents = {"version": snapshot.FOLD_VERSION} | {policy: current(policy) for policy in POLICIES}
    FILE.write_text(json.dumps(contents) + "\n")
