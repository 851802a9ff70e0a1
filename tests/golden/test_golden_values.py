"""Results equal the stored values, to a relative difference of 1e-9; `make_golden.py` writes them anew."""

import pytest

from golden.make_golden import FILES, FOLDER, path_of
from golden.stored_values import assert_as_stored, read
from tideproof.lab.engines import cpu_engine

MOST_STEPS = 200  # of a simulated run

CASES = [(file, name) for file, (names, _) in FILES.items() for name in names]
STORED = {file: read(path_of(file)) for file in FILES}


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """Let simulations run interpreted kernels, which give the same bits as compiled ones."""

    def interpreted_loop(spec):
        def loop(*arguments):
            spec.program().replicate(*arguments[:-1], cpu_engine.empty_trace(MOST_STEPS, 3))

        return loop

    monkeypatch.setattr(cpu_engine, "compiled_loop", interpreted_loop)


@pytest.mark.parametrize(("file", "name"), CASES, ids=[f"{file}: {name}" for file, name in CASES])
def test_results_equal_stored_values(file, name):
    _, make = FILES[file]
    assert_as_stored(make(name), STORED[file][name])


def test_no_other_values_are_stored():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(FILES)
    assert {(file, name) for file, values in STORED.items() for name in values} == set(CASES)
