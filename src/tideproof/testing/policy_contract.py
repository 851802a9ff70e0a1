"""What a policy must promise, as checks that raise AssertionError: what was expected, what came, and when."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tideproof.core.array_layout import Memory, Scratch
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
    """Return the checks for a policy, named, given or with options; each is named after what it checks."""
    spec = as_policy(policy)
    checks = [
        reads_what_it_declares,
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


def reads_what_it_declares(spec: PolicySpec) -> None:
    """Its kernels read nothing of `data` and the slot that `reads` does not declare."""
    trace = empty_trace(BUDGET, ARMS)
    try:
        run_loop(watched_loop(spec), spec, world(), [BUDGET], SEED, 0, 1, trace)
    except KernelError as error:
        raise AssertionError(str(error)) from error


def compiled_equals_interpreted(spec: PolicySpec) -> None:
    """Compiled and interpreted runs give the same arms and bitwise the same state."""
    for replication in range(3):
        # the interpreted one first: a compiled one would write wherever an arm that is none leads
        slow, slow_memory = _traced(spec, spec.program().replicate, replication=replication)
        fast, fast_memory = _traced(spec, compiled_loop(spec, trace=True), replication=replication)
        where = f"replication {replication}, compiled and interpreted"
        _same_arms(fast, slow, where)
        _same_bits(where, "rewards", fast.reward, slow.reward)
        _same_state(where, "", fast_memory.view, slow_memory.view)


def experiment_equals_interpreted(spec: PolicySpec) -> None:
    """An `Experiment` that is told the same rewards gives the same arms and bitwise the same state."""
    trace, memory = _traced(spec, spec.program().replicate)
    run = _experiment(spec)
    for step, (label, arm, reward) in enumerate(
        zip(trace.environment, trace.arm, trace.reward, strict=True), 1
    ):
        pull = run.ask(environment=int(label))
        assert pull.arm == str(arm), f"step {step}: the lab plays arm {arm}, an Experiment {pull.arm}"
        run.tell(pull, float(reward))
    assert run.done, f"the lab ended after {len(trace.arm)} steps, an Experiment would go on"
    # the slot belongs to whoever drives: the lab's is a part of its memory, an experiment's is not
    for part in ("state", "data"):
        mine, theirs = getattr(run._numbers.memory.view, part), getattr(memory.view, part)
        _same_state("Experiment and lab", part, mine, theirs)


def ask_only_reads(spec: PolicySpec) -> None:
    """`ask` and `select` change nothing but scratch and, asked twice, answer the same."""
    run = _experiment(spec)
    program = spec.program()
    random = np.random.default_rng(SEED)
    for step in range(60):
        label = step // 5
        run._next_arm(label)  # looks ahead: what `ask` reads is up to date
        view = run._numbers.ahead.view
        before = _copied(view)
        draw = Draw(np.uint64(SEED), np.uint64(0), SELECT, np.uint64(step))
        selections = [int(program.select(run._numbers.params, view.state, view.data, draw)) for _ in range(2)]
        asks = [run._next_arm(label) for _ in range(2)]
        for what, answers in {"select": selections, "ask": asks}.items():
            assert answers[0] == answers[1], f"step {step}: {what} answers {answers[0]}, then {answers[1]}"
        changed = [name for name, value in _copied(view).items() if value != before[name]]
        assert not changed, f"step {step}: ask or select wrote {', '.join(changed)}, which only tell may"
        if run.done:
            break
        run.tell(run.ask(environment=label), random.standard_normal())


def same_seed_same_run(spec: PolicySpec) -> None:
    """The seed and the rewards determine the run."""
    first, _ = _traced(spec, spec.program().replicate, replication=5)
    again, _ = _traced(spec, spec.program().replicate, replication=5)
    _same_arms(first, again, "the same seed twice")


def integers_are_small(spec: PolicySpec) -> None:
    """Integers of a state are counts, arms and flags: a GPU keeps them in 32 bits."""
    _, memory = _traced(spec, spec.program().replicate)
    for name, values in _arrays("", memory.view):
        if values.dtype == np.int64 and values.size:
            largest = int(np.abs(values).max())
            assert largest < 2**31, f"after {BUDGET} steps {name} holds {largest}, which is not below 2**31"


def accepts_arms_it_did_not_ask_for(spec: PolicySpec) -> None:
    """Any arm, one by one or in batches, may be told at any time; the next ask is a legal arm."""
    random = np.random.default_rng(SEED)
    run = _experiment(spec)
    for step in range(60):
        n = int(random.integers(1, 4))
        told = str(random.integers(ARMS))
        run.tell_summary(
            arm=told,
            environment=int(random.integers(6)),
            n=n,
            mean=random.standard_normal(),
            variance=1.0 if n > 1 else None,
        )
        try:
            run._next_arm(step)
        except KernelError as error:
            raise AssertionError(
                f"step {step}, after {n} rewards of arm {told} that nobody asked for: {error}"
            ) from error


def works_with_pulls_out(spec: PolicySpec) -> None:
    """Pulls in a row with nothing told spread over the arms; rewards in any order are taken."""
    run = _experiment(spec)
    pulls = run.ask(n=12 * ARMS, environment="first")
    counts = [sum(pull.arm == arm for pull in pulls) for arm in run.arms]
    assert min(counts) >= 2, f"{12 * ARMS} pulls, nothing told, at least 2 of each arm expected: {counts}"
    random = np.random.default_rng(SEED)
    for i in random.permutation(len(pulls)):
        run.tell(pulls[int(i)], random.standard_normal())
    if not run.done:
        arm = run.ask(environment="second").arm
        assert arm in run.arms, f"after {len(pulls)} late rewards ask returns {arm}, not one of {run.arms}"


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
                again = Experiment.load(path, policy=spec)
                same = run.events() == again.events() and run._numbers.buffers() == again._numbers.buffers()
                assert same, f"step {step}: saved and loaded, its state changed"
                if not run.done:
                    would, does = run._next_arm(step // 3), again._next_arm(step // 3)
                    assert does == would, f"step {step}: it would play arm {would}; saved and loaded, {does}"
                run = again


def shifts_change_no_choice(spec: PolicySpec) -> None:
    """Other shifts, same choices: the world moves all arms, the policy does not care."""
    for replication in range(3):
        small, _ = _traced(spec, spec.program().replicate, 1.0, replication)
        large, _ = _traced(spec, spec.program().replicate, 500.0, replication)
        _same_arms(small, large, f"replication {replication}, shifts up to 1 and up to 500")


def _experiment(spec: PolicySpec) -> Experiment:
    return Experiment([str(i) for i in range(ARMS)], budget=BUDGET, policy=spec, seed=SEED)


def _arrays(name: str, part: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and array of all that a state keeps; scratch it does not."""
    if isinstance(part, Scratch):
        return
    if isinstance(part, tuple):
        for field, value in zip(part._fields, part, strict=True):  # type: ignore[attr-defined]
            yield from _arrays(f"{name}.{field}".lstrip("."), value)
    else:
        yield name, part


def _copied(part: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in _arrays("", part)}


def _same_arms(one: Trace, other: Trace, where: str) -> None:
    for step, (a, b) in enumerate(zip(one.arm, other.arm, strict=False), 1):
        assert a == b, f"{where}: at step {step} arm {a} is played here, arm {b} there"
    assert len(one.arm) == len(other.arm), f"{where}: {len(one.arm)} steps here, {len(other.arm)} there"


def _same_state(where: str, name: str, one: Any, other: Any) -> None:
    for (field, mine), (_, theirs) in zip(_arrays(name, one), _arrays(name, other), strict=True):
        _same_bits(where, field, mine, theirs)


def _same_bits(where: str, name: str, one: Any, other: Any) -> None:
    if one.tobytes() != other.tobytes():
        place = int(np.flatnonzero(one.ravel().view(np.int64) != other.ravel().view(np.int64))[0])
        a, b = one.flat[place], other.flat[place]
        raise AssertionError(f"{where}: {name}[{place}] is {a!r} here and {b!r} there at the end")
