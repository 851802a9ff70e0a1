"""Access to the memory of the policy inside an experiment, which tests compare with independent calculations."""


def view(run):
    """Return the state, the data and the slot of the policy, without pending pulls."""
    return run.internals.policy_state.memory.view


def view_with_pending(run):
    """Return the same with pending pulls; `run.shares(...)` brings it up to date."""
    return run.internals.policy_state.memory_with_pending.view


def floats(run):
    """Return all floating-point numbers in the memory of the policy."""
    return run.internals.policy_state.memory.floats


def select(run, draw):
    """Return the arm that the policy without parameters selects with this draw."""
    memory = view(run)
    return run.policy.program().select((), memory.state, memory.data, draw)
