"""Make the stored database of the present schema: python tests/store/make_schema.py."""

from pathlib import Path

import tideproof as tp
from tideproof.store.schema import STEPS


def make(path):
    run = tp.Experiment.open(f"sqlite:///{path}", "prices", ["A", "B", "C"], budget=100, clock=lambda: 1.7e9)
    for reward in (0.5, -0.25, 2.0):
        run.tell(run.ask(environment="monday"), reward)
    run.once("first", run.ask, environment="tuesday")
    run.close()


if __name__ == "__main__":
    target = Path(__file__).parent / f"schema_{len(STEPS)}.db"
    assert not target.exists(), f"{target} is there: a schema that was released is not made again"
    make(target)
