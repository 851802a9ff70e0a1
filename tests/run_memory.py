"""Access to the memory of the policy inside an experiment, which users cannot see.

Tests of policies compare this memory with independent calculations. Only this file reads the private attribute.
"""


def view(run):
    """Return the state, the data and the slot of the policy, without pending pulls."""
    return run._policy_state.memory.view  # noqa: SLF001 - the memory has no public name


def view_with_pending(run):
    """Return the same with pending pulls; `run.shares(...)` brings it up to date."""
    return run._policy_state.memory_with_pending.view  # noqa: SLF001 - the memory has no public name


def floats(run):
    """Return all floating-point numbers in the memory of the policy."""
    return run._policy_state.memory.floats  # noqa: SLF001 - the memory has no public name


def select(run, draw):
    """Return the arm that the policy without parameters selects with this draw."""
    memory = view(run)
    return run.policy.program().select((), memory.state, memory.data, draw)
