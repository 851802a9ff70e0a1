"""A process that asks and tells, and says on its standard output what was acknowledged: client_process.py URL STEPS."""

import json
import sys

import tideproof as tp


def main(url, steps):
    run = tp.Experiment.open(url, "prices")
    print(json.dumps(["open"]), flush=True)
    for step in range(int(steps)):
        pull = run.ask(environment=f"day {step // 10}")
        print(json.dumps(["asked", pull.id, pull.arm]), flush=True)
        reward = float(step)
        run.tell(pull, reward)
        print(json.dumps(["told", pull.id, reward]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
