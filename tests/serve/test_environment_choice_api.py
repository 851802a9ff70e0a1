"""Experiments over HTTP whose policy chooses the environments."""

import pytest

import tideproof as tp
from serve.service_clients import ADMIN, Served


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("served")) as found:
        yield found


def test_a_remote_experiment_chooses_the_same_pairs_as_a_local_one(served):
    options = {"environments": [f"item {i}" for i in range(12)], "budget": 24, "seed": 3}
    local = tp.Experiment(["A", "B", "C"], **options)
    remote = tp.connect(served.url, ADMIN, "pairs", ["A", "B", "C"], **options)
    for _ in range(8):
        asked = [[(pull.arm, pull.environment) for pull in run.ask(n=3)] for run in (local, remote)]
        assert asked[0] == asked[1]
        for run in (local, remote):
            pulls = run.pending_pulls()
            run.tell_many(pulls, [float(pull.arm == "B") for pull in pulls])
    assert remote.recommend().arm == local.recommend().arm == "B"
    assert (remote.done, remote.remaining) == (True, 0)
    with pytest.raises(tp.errors.InputError, match="chooses the environment"):
        remote.ask(environment="item 1")
    assert remote.fit is not None
    remote.close()


def test_a_race_over_http_ends_with_a_winner(served):
    remote = tp.connect(
        served.url, ADMIN, "race", ["A", "B"], environments=list(range(40)), confidence=0.9, tolerance=0.01
    )
    while not remote.done:
        pull = remote.ask()
        remote.tell(pull, float(pull.arm == "B" and pull.environment % 5 > 0))
    found = remote.recommend()
    assert (found.arm, found.sure, found.rule) == ("B", True, "proven")
    remote.close()
