"""The function `replay`, which repeats one run of a simulation and records every step."""

from __future__ import annotations

from dataclasses import dataclass

from tideproof.checks import require_whole_number
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.kernels.simulate.replication_loop import SAMPLES, UNIDENTIFIED
from tideproof.lab.engines.cpu_engine import empty_trace, run_loop
from tideproof.policies.policy_registry import Chosen, as_policy
from tideproof.table import Table, render_notebook_html
from tideproof.worlds import World, as_world


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """Record of every step of one replication (simulated run).

    There are n steps and K arms.

    Attributes
    ----------
    arm : (n,) the arm that was pulled.
    environment : (n,) the index of the environment, from 0.
    shift : (n,) the shift of the environment, which policies do not observe.
    reward : (n,) the reward.
    estimates : (n, K) the estimates after each step. They are fixed-effects estimates, of which only
        differences are meaningful, or raw means for a policy that uses only those.
    selected : the arm that was selected at the end.
    identified : whether shared environments connected the arms among which it was selected.
    """

    arm: Ints
    environment: Ints
    shift: Floats
    reward: Floats
    estimates: Floats
    selected: int
    identified: bool

    def table(self) -> Table:
        """Return a table with one row for each step (pull) of the replication."""
        columns = {
            "step": range(1, len(self.arm) + 1),
            "arm": self.arm,
            "environment": self.environment,
            "shift": self.shift,
            "reward": self.reward,
        }
        arms = self.estimates.shape[1]
        return Table(columns | {f"estimate_{arm}": self.estimates[:, arm] for arm in range(arms)})

    def __repr__(self) -> str:
        note = "" if self.identified else ", unidentified"
        return f"Replay of {len(self.arm)} steps, selected arm {self.selected}{note}\n{self.table()!r}"

    def _repr_html_(self) -> str:
        return render_notebook_html(repr(self).splitlines()[0], self.table())


def replay(world: World, policy: Chosen, seed: int = 0, replication: int = 0, budget: int = 500) -> Replay:
    """Repeat one replication of `tp.simulate` exactly, and record every step.

    The kernels run interpreted, which gives bit-identical numbers and takes milliseconds, while compiling
    would take seconds.

    Parameters
    ----------
    world, policy, seed
        The arguments of `tp.simulate`.
    replication
        Index of the replication, from 0.
    budget
        Number of pulls: one of the budgets of the study.

    Examples
    --------
    >>> import tideproof as tp
    >>> run = tp.replay(tp.mdm(3), "linlucb", seed=1, replication=7, budget=60)
    >>> run.selected, run.arm[:6]
    (2, array([...]))
    """
    spec = as_policy(policy)
    arms = as_world(world).arms
    budget = require_whole_number("budget", budget, 1)
    seed, replication = (
        require_whole_number("seed", seed, 0, 2**64 - 1),
        require_whole_number("replication", replication, 0, 2**64 - 1),
    )
    trace = empty_trace(budget, arms)
    score, _ = run_loop(spec.program().replicate, spec, world, [budget], seed, replication, 1, trace)
    steps = score.counts[0, SAMPLES]
    return Replay(
        arm=trace.arm[:steps],
        environment=trace.environment[:steps],
        shift=trace.shift[:steps],
        reward=trace.reward[:steps],
        estimates=trace.estimates[:steps],
        selected=int(score.selected[0, 0]),
        identified=not score.counts[0, UNIDENTIFIED],
    )
