"""Write the stored values: `python tests/golden/make_golden.py`, after results were meant to change.

The values were made with the code of commit 43f93c7, before the packages were restructured, so these tests
show that no number has changed since. Name the case or its file in the arguments to write only some.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from golden import combined_cases, experiment_cases, fit_cases, state_cases, study_cases
from golden.stored_values import read, write

FOLDER = Path(__file__).parent
# file: the names of its cases, and the function that returns what is stored of one.
FILES: dict[str, tuple[list[str], Callable]] = {
    "fits": ([*fit_cases.FITS], fit_cases.stored_fit),
    "combinations": ([*combined_cases.COMBINED, *combined_cases.BATCHES], combined_cases.stored_combination),
    "many_arms": ([*fit_cases.MANY], fit_cases.stored_fit),
    "other_forms": ([*fit_cases.FORMS], fit_cases.stored_form),
    "metrics": ([*fit_cases.SEVERAL], fit_cases.stored_metrics),
    "segments": ([*fit_cases.SEGMENTS], fit_cases.stored_segments),
    "experiments": ([*experiment_cases.RUNS], experiment_cases.stored_run),
    "worlds": ([*study_cases.WORLDS], study_cases.stored_world),
    "replays": (study_cases.replay_names(), study_cases.stored_replay),
    "states": (state_cases.state_names(), state_cases.stored_state),
    "studies": ([*study_cases.STUDIES], study_cases.stored_study),
}


def path_of(file):
    return FOLDER / f"{file}.json"


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for file, (names, make) in FILES.items():
        values = read(path_of(file)) if wanted and path_of(file).exists() else {}
        for name in names:
            if not wanted or file in wanted or name in wanted:
                started = time.process_time()
                values[name] = make(name)
                print(f"{time.process_time() - started:6.2f} s  {file}: {name}")
        write(path_of(file), {name: values[name] for name in names if name in values})
