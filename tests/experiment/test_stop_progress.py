"""Progress of a run towards its stop: below 1 until it stops, then 1."""

import random

import pytest

import tideproof as tp
from experiments import saved_state
from tideproof.experiment.stopping.stop_progress import read_stop_progress
from tideproof.experiment.stopping.stop_rule import rule_of


@pytest.mark.parametrize(
    ("options", "rewards"),
    [({}, "normal"), ({"rule": "proven"}, "normal"), ({"budget": 4000}, "conversions")],
)
def test_progress_grows_to_one_when_a_run_stops(options, rewards):
    run, noise = tp.Experiment(["A", "B"], confidence=0.9, rewards=rewards, **options), random.Random(1)

    def near():
        return read_stop_progress(rule_of(run.events()[0]), saved_state(run)).share(run.internals.read().fit)

    assert near() is None  # also if the fit of conversions needs a reward
    seen = []
    while not run.done:
        pulls = run.ask(n=10, environment=f"hour {len(seen) // 5}")
        better = [float(pull.arm == "B") for pull in pulls]
        if rewards == "normal":
            run.tell_many(pulls, [x + noise.gauss(0.0, 1.0) for x in better])
        else:
            run.tell_many(pulls, [float(noise.random() < 0.3 + 0.4 * x) for x in better])
        if not run.done:
            seen.append(near())
    assert near() == 1.0
    known = [x for x in seen if x is not None]
    assert known
    assert all(0.0 < x <= 0.99 for x in known)
    assert max(known[-3:]) > known[0]
