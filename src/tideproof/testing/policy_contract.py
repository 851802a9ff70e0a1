"""The tests that every policy must pass, as functions that raise an AssertionError with an explanation."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Memory, Scratch
from tideproof.errors import KernelError
from tideproof.experiment.experiment import Experiment
from tideproof.kernels.simulate.replication_loop import SAMPLES, Trace
from tideproof.kernels.simulate.threefry import SELECT, Draw
from tideproof.lab.engines.cpu_engine import compiled_loop, empty_trace, run_loop
from tideproof.policies.policy_registry import Chosen, as_policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.testing.watched_program import watched_loop
from tideproof.worlds import Uniform, World

Check = Callable[[], None]

ARMS = 4
BUDGET = 160
SEED = 11


def policy_checks(policy: Chosen) -> list[Check]:
    """Return the tests of a policy as functions without parameters, named after what they check."""
    spec = as_policy(policy)
    checks = [
        reads_what_it_declares,
        compiled_equals_interpreted,
        experiment_equals_interpreted,
        ask_only_reads,
        same_seed_same_run,
        integers_are_small,
        accepts_arms_it_did_not_ask_for,
        works_with_pending_pulls,
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
    """Return a small simulated world with four arms, in which a policy is tested."""
    return World(means=[0.0, 0.4, 0.8, 1.2], sigma=1.0, lengths=(2, 3 * ARMS), shifts=Uniform(0.0, shifts))


def _trace_run(
    spec: PolicySpec, loop: Any, shifts: float = 20.0, replication: int = 0
) -> tuple[Trace, Memory[Any]]:
    """Simulate one experiment by a policy; return a record of every pull and the policy's final memory."""
    trace = empty_trace(BUDGET, ARMS)
    score, memory = run_loop(loop, spec, world(shifts), [BUDGET], SEED, replication, 1, trace)
    steps = score.counts[0, SAMPLES]
    return Trace._make(column[:steps] for column in trace), memory


def reads_what_it_declares(spec: PolicySpec) -> None:
    """Check that a policy's functions read only the statistics that the policy declares in `reads`."""
    trace = empty_trace(BUDGET, ARMS)
    try:
        run_loop(watched_loop(spec), spec, world(), [BUDGET], SEED, 0, 1, trace)
    except KernelError as error:
        raise AssertionError(str(error)) from error


def compiled_equals_interpreted(spec: PolicySpec) -> None:
    """Check that compiled and interpreted runs of a policy give the same arms and bit-identical states."""
    for replication in range(3):
        # The interpreted run comes first: it reports an invalid arm, with which a compiled run writes
        # anywhere.
        slow, slow_memory = _trace_run(spec, spec.program().replicate, replication=replication)
        fast, fast_memory = _trace_run(spec, compiled_loop(spec, trace=True), replication=replication)
        where = f"replication {replication}, compiled and interpreted"
        assert_same_arms(fast, slow, where)
        assert_same_bits(where, "rewards", fast.reward, slow.reward)
        assert_same_state(where, "", fast_memory.view, slow_memory.view)


def experiment_equals_interpreted(spec: PolicySpec) -> None:
    """Check that an `Experiment` and a simulation with the same rewards pull the same arms.

    They must also end in the same state.
    """
    trace, memory = _trace_run(spec, spec.program().replicate)
    run = _experiment(spec)
    for step, (label, arm, reward) in enumerate(
        zip(trace.environment, trace.arm, trace.reward, strict=True), 1
    ):
        pull = run.ask(environment=int(label))
        assert pull.arm == str(arm), f"step {step}: the simulation pulls arm {arm}, an Experiment {pull.arm}"
        run.tell(pull, float(reward))
    assert run.done, f"the simulation ended after {len(trace.arm)} steps, an Experiment would continue"
    # The slot is not compared: a simulation keeps it in its memory, an experiment does not.
    for part in ("state", "data"):
        mine, theirs = getattr(run.internals.policy_state.memory.view, part), getattr(memory.view, part)
        assert_same_state("Experiment and simulation", part, mine, theirs)


def ask_only_reads(spec: PolicySpec) -> None:
    """Check that a policy's `ask` and `select` change no state and return the same arm when called twice.

    They may write to `Scratch`, which holds temporary results.
    """
    run = _experiment(spec)
    program = spec.program()
    random = np.random.default_rng(SEED)
    for step in range(60):
        label = step // 5
        run.internals.next_arm(label)  # updates the state that includes pending pulls, which `ask` reads
        view = run.internals.policy_state.memory_with_pending.view
        before = _snapshot(view)
        draw = Draw(np.uint64(SEED), np.uint64(0), SELECT, np.uint64(step))
        selections = [
            int(program.select(run.internals.policy_state.rewards.params, view.state, view.data, draw))
            for _ in range(2)
        ]
        asks = [run.internals.next_arm(label) for _ in range(2)]
        for what, answers in {"select": selections, "ask": asks}.items():
            assert answers[0] == answers[1], (
                f"step {step}: called twice, {what} returns arm {answers[0]}, then arm {answers[1]}"
            )
        changed = [name for name, value in _snapshot(view).items() if value != before[name]]
        assert not changed, f"step {step}: ask or select wrote {', '.join(changed)}; only tell may write"
        if run.done:
            break
        run.tell(run.ask(environment=label), random.standard_normal())


def same_seed_same_run(spec: PolicySpec) -> None:
    """Check that two runs of a policy with the same seed and the same rewards are identical."""
    first, _ = _trace_run(spec, spec.program().replicate, replication=5)
    again, _ = _trace_run(spec, spec.program().replicate, replication=5)
    assert_same_arms(first, again, "the same seed twice")


def integers_are_small(spec: PolicySpec) -> None:
    """Check that the integers in a policy's state stay below 2**31, because a GPU stores them in 32 bits."""
    _, memory = _trace_run(spec, spec.program().replicate)
    for name, values in _arrays("", memory.view):
        if values.dtype == np.int64 and values.size:
            largest = int(np.abs(values).max())
            assert largest < 2**31, f"after {BUDGET} steps {name} holds {largest}, which is not below 2**31"


def accepts_arms_it_did_not_ask_for(spec: PolicySpec) -> None:
    """Check that a policy accepts rewards of any arm at any time, one by one or in batches."""
    random = np.random.default_rng(SEED)
    run = _experiment(spec)
    for step in range(60):
        n = int(random.integers(1, 4))
        arm = str(random.integers(ARMS))
        run.tell_summary(
            arm=arm,
            environment=int(random.integers(6)),
            n=n,
            mean=random.standard_normal(),
            variance=1.0 if n > 1 else None,
        )
        try:
            run.internals.next_arm(step)
        except KernelError as error:
            raise AssertionError(
                f"step {step}, after {n} rewards of arm {arm}, which ask did not choose: {error}"
            ) from error


def works_with_pending_pulls(spec: PolicySpec) -> None:
    """Check that pulls without a reward are spread over the arms, and that rewards may come in any order."""
    run = _experiment(spec)
    pulls = run.ask(n=12 * ARMS, environment="first")
    counts = [sum(pull.arm == arm for pull in pulls) for arm in run.arms]
    assert min(counts) >= 2, (
        f"{12 * ARMS} pulls without rewards must include at least 2 of each arm: {counts}"
    )
    random = np.random.default_rng(SEED)
    for i in random.permutation(len(pulls)):
        run.tell(pulls[int(i)], random.standard_normal())
    if not run.done:
        arm = run.ask(environment="second").arm
        assert arm in run.arms, f"after {len(pulls)} late rewards ask returns {arm}, not one of {run.arms}"


def resumes_after_reload(spec: PolicySpec) -> None:
    """Check that a policy continues unchanged after saving and loading an experiment with pending pulls."""
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
                again = Experiment.load(path, policy=spec)
                same = (
                    run.events() == again.events()
                    and run.internals.policy_state.buffers() == again.internals.policy_state.buffers()
                )
                assert same, f"step {step}: saving and loading changed the state"
                if not run.done:
                    expected, found = run.internals.next_arm(step // 3), again.internals.next_arm(step // 3)
                    assert found == expected, (
                        f"step {step}: the next arm is {expected}, but {found} after saving and loading"
                    )
                run = again


def shifts_change_no_choice(spec: PolicySpec) -> None:
    """Check that the choices of a shift-aware policy do not depend on the size of the shifts."""
    for replication in range(3):
        small, _ = _trace_run(spec, spec.program().replicate, 1.0, replication)
        large, _ = _trace_run(spec, spec.program().replicate, 500.0, replication)
        assert_same_arms(small, large, f"replication {replication}, shifts up to 1 and up to 500")


def _experiment(spec: PolicySpec) -> Experiment:
    """Return a new experiment that runs a policy with the arms, budget and seed that all tests use."""
    return Experiment([str(i) for i in range(ARMS)], budget=BUDGET, policy=spec, seed=SEED)


def _arrays(name: str, part: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arrays that make up a policy's state, each with its name.

    Arrays of temporary results are left out.
    """
    if isinstance(part, Scratch):
        return
    if isinstance(part, tuple):
        for field, value in zip(part._fields, part, strict=True):  # type: ignore[attr-defined]
            yield from _arrays(f"{name}.{field}".lstrip("."), value)
    else:
        yield name, part


def _snapshot(part: Any) -> dict[str, bytes]:
    """Return the bytes of every array in a policy's state, by the name of the array."""
    return {name: array.tobytes() for name, array in _arrays("", part)}


def assert_same_arms(one: Trace, other: Trace, where: str) -> None:
    """Raise an AssertionError for the first step at which two recorded runs pulled different arms."""
    for step, (a, b) in enumerate(zip(one.arm, other.arm, strict=False), 1):
        assert a == b, f"{where}: at step {step} one run pulls arm {a}, the other arm {b}"
    assert len(one.arm) == len(other.arm), (
        f"{where}: one run has {len(one.arm)} steps, the other {len(other.arm)}"
    )


def assert_same_state(where: str, name: str, one: Any, other: Any) -> None:
    """Raise an AssertionError unless two states of a policy are bit-identical."""
    for (field, mine), (_, theirs) in zip(_arrays(name, one), _arrays(name, other), strict=True):
        assert_same_bits(where, field, mine, theirs)


def assert_same_bits(where: str, name: str, one: Any, other: Any) -> None:
    """Raise an AssertionError that names the first element in which two arrays differ."""
    if one.tobytes() != other.tobytes():
        index = int(np.flatnonzero(one.ravel().view(np.int64) != other.ravel().view(np.int64))[0])
        a, b = one.flat[index], other.flat[index]
        raise AssertionError(f"{where}: at the end {name}[{index}] is {a!r} in one run, {b!r} in the other")
