"""The example of an experiment on an event loop: every visitor is recorded while the loop keeps running."""

import asyncio
import runpy
import threading
from pathlib import Path

import tideproof as tp
from experiments import drive, experiment

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "asyncio_shop.py"


def test_the_example_finds_the_best_arm_while_the_loop_runs():
    found, late = asyncio.run(runpy.run_path(str(EXAMPLE))["shop"]())
    assert found.arm == "C"  # better by 0.7 standard deviations of 450 rewards: P(error) < 1e-6
    assert 400 < found.recorded < 500
    assert late  # the loop went on; how late it came back says more of the machine than of us


def test_the_loop_runs_while_a_recommendation_is_computed(monkeypatch):
    run = drive(experiment(), 100)
    going, made = threading.Event(), threading.Event()

    def slow(*evidence):
        going.set()
        assert made.wait(30), "the loop was not let in"
        return tp.Recommendation(None, None, None, None, None, 0, (), False)

    async def meanwhile():
        task = asyncio.create_task(asyncio.to_thread(run.recommend))
        while not going.is_set():
            await asyncio.sleep(0.001)
        for _ in range(5):  # the recommendation is being made, and does not hold the lock
            run.tell(run.ask(environment="now"), 1.0)
        made.set()
        return await task

    monkeypatch.setattr("tideproof.experiment.read_model.add_evidence", slow)
    asyncio.run(meanwhile())
    assert run.history()["environment"].count("now") == 5
