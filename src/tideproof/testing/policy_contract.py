"""What a policy must promise, as checks that raise AssertionError."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tideproof.core.arrays import Memory, Scratch
from tideproof.kernels.random import SELECT, Draw
from tideproof.kernels.replicate import SAMPLES, Trace
from tideproof.lab.engines.cpu import compiled_loop, empty_trace, run_loop
from tideproof.live.experiment import Experiment
from tideproof.live.saving import to_dict
from tideproof.policies.registry import as_policy
from tideproof.policies.spec import PolicySpec
from tideproof.worlds import Uniform, World

Check = Callable[[], None]

ARMS = 4
BUDGET = 160
SEED = 11


def policy_checks(policy: str | PolicySpec) -> list[Check]:
    """Return the checks for a policy; each is a callable named after what it checks."""
    spec = as_policy(policy)
    checks = [
        compiled_equals_interpreted,
        experiment_equals_interpreted,
        ask_only_reads,
        same_seed_same_run,
        integers_are_small,
        accepts_arms_it_did_not_ask_for,
        works_with_pulls_out,
        resumes_after_reload,
    ]
    if spec.policy.shift_aware:
        checks.append(shifts_change_no_choice)
    named = []
    for check in checks:
        bound: Any = partial(check, spec)
        bound.__name__ = f"{check.__name__}[{spec.label}]"
        named.append(bound)
    return named


def world(shifts: float = 20.0) -> World:
    """Return a small world with short and long environments."""
    return World(means=[0.0, 0.4, 0.8, 1.2], sigma=1.0, lengths=(2, 3 * ARMS), shifts=Uniform(0.0, shifts))


def _traced(
    spec: PolicySpec, loop: Any, shifts: float = 20.0, replication: int = 0
) -> tuple[Trace, Memory[Any]]:
    """Play one replication through `loop`; return what happened and the memory it left."""
    trace = empty_trace(BUDGET, ARMS)
    score, memory = run_loop(loop, spec, world(shifts), [BUDGET], SEED, replication, 1, trace)
    steps = score.counts[0, SAMPLES]
    return Trace._make(column[:steps] for column in trace), memory


def compiled_equals_interpreted(spec: PolicySpec) -> None:
    """Compiled and interpreted runs give the same arms and bitwise the same state."""
    for replication in range(3):
        fast, fast_memory = _traced(spec, compiled_loop(spec, trace=True), replication=replication)
        slow, slow_memory = _traced(spec, spec.program().replicate, replication=replication)
        assert fast.arm.tolist() == slow.arm.tolist()
        assert fast.reward.tobytes() == slow.reward.tobytes()
        _assert_same(fast_memory, slow_memory)


def experiment_equals_interpreted(spec: PolicySpec) -> None:
    """An `Experiment` that is told the same rewards gives the same arms and bitwise the same state."""
    trace, memory = _traced(spec, spec.program().replicate)
    run = _experiment(spec)
    for label, arm, reward in zip(trace.environment, trace.arm, trace.reward, strict=True):
        pull = run.ask(environment=int(label))
        assert pull.arm == str(arm)
        run.tell(pull, float(reward))
    assert run.done
    # the slot belongs to whoever drives: the lab's is a part of its memory, an experiment's is not
    state, data = run._memory.view.state, run._memory.view.data
    _assert_equal((state, data), (memory.view.state, memory.view.data))


def ask_only_reads(spec: PolicySpec) -> None:
    """`ask` and `select` change nothing but scratch and, asked twice, answer the same."""
    run = _experiment(spec)
    program = spec.program()
    random = np.random.default_rng(SEED)
    for step in range(60):
        label = step // 5
        view = run._memory.view
        before = _kept(view)
        draw = Draw(np.uint64(SEED), np.uint64(0), SELECT, np.uint64(step))
        assert len({int(program.select(run._params, view.state, view.data, draw)) for _ in range(2)}) == 1
        assert len({run._next_arm(label) for _ in range(2)}) == 1
        assert before == _kept(view)
        if run.done:
            break
        run.tell(run.ask(environment=label), random.standard_normal())


def same_seed_same_run(spec: PolicySpec) -> None:
    """The seed and the rewards determine the run."""
    first, _ = _traced(spec, spec.program().replicate, replication=5)
    again, _ = _traced(spec, spec.program().replicate, replication=5)
    assert first.arm.tolist() == again.arm.tolist()


def integers_are_small(spec: PolicySpec) -> None:
    """Integers of a state are counts, arms and flags: a GPU keeps them in 32 bits."""
    _, memory = _traced(spec, spec.program().replicate)
    assert not memory.ints.size or np.abs(memory.ints).max() < 2**31


def accepts_arms_it_did_not_ask_for(spec: PolicySpec) -> None:
    """Any arm, one by one or in batches, may be told at any time; the next ask is a legal arm."""
    random = np.random.default_rng(SEED)
    run = _experiment(spec)
    for step in range(60):
        n = int(random.integers(1, 4))
        run.tell_summary(
            arm=str(random.integers(ARMS)),
            environment=int(random.integers(6)),
            n=n,
            mean=random.standard_normal(),
            variance=1.0 if n > 1 else None,
        )
        assert -1 <= run._next_arm(step) < ARMS


def works_with_pulls_out(spec: PolicySpec) -> None:
    """Pulls in a row with nothing told spread over the arms; rewards in any order are taken."""
    run = _experiment(spec)
    pulls = run.ask(n=12 * ARMS, environment="first")
    counts = [sum(pull.arm == arm for pull in pulls) for arm in run.arms]
    assert min(counts) >= 2, f"12 pulls for each arm, nothing told: {counts}"
    random = np.random.default_rng(SEED)
    for i in random.permutation(len(pulls)):
        run.tell(pulls[int(i)], random.standard_normal())
    if not run.done:
        assert run.ask(environment="second").arm in run.arms


def resumes_after_reload(spec: PolicySpec) -> None:
    """Saved and loaded at any moment, with pulls out, it goes on as if nothing had happened."""
    random = np.random.default_rng(SEED)
    run = _experiment(spec)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        for step in range(50):
            if run.done:
                break
            pulls = run.ask(n=int(random.integers(1, 4)), environment=step // 3)
            if random.random() < 0.8:
                run.tell(pulls[0], random.standard_normal())
            if step % 7 == 0:
                run.save(path)
                again = Experiment.load(path)
                assert to_dict(again) == to_dict(run)
                if not run.done:
                    assert again._next_arm(step // 3) == run._next_arm(step // 3)
                run = again


def shifts_change_no_choice(spec: PolicySpec) -> None:
    """Other shifts, same choices: the world moves all arms, the policy does not care."""
    for replication in range(3):
        small, _ = _traced(spec, spec.program().replicate, 1.0, replication)
        large, _ = _traced(spec, spec.program().replicate, 500.0, replication)
        assert small.arm.tolist() == large.arm.tolist()


def _experiment(spec: PolicySpec) -> Experiment:
    return Experiment([str(i) for i in range(ARMS)], budget=BUDGET, policy=spec, seed=SEED)


def _kept(part: Any) -> bytes:
    """Return the bytes of a state, without what is scratch."""
    if isinstance(part, Scratch):
        return b""
    return b"".join(map(_kept, part)) if isinstance(part, tuple) else bytes(part.tobytes())


def _assert_same(a: Memory[Any], b: Memory[Any]) -> None:
    assert a.floats.tobytes() == b.floats.tobytes()
    assert a.ints.tobytes() == b.ints.tobytes()


def _assert_equal(a: Any, b: Any) -> None:
    if isinstance(a, tuple):
        for x, y in zip(a, b, strict=True):
            _assert_equal(x, y)
    else:
        assert a.tobytes() == b.tobytes()
