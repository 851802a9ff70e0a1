"""The door for plug-ins: all that the file of a policy imports.

A policy is three kernels (`ask`, `tell`, and the `select` of a selection rule), a `State` and a `configure`
function, put together in a `Policy`. docs/plugins.md shows one from the first line to its installation;
examples/plugin is one as a package of its own.

**Kernels** are plain functions under `@kernel`. They run interpreted in an `Experiment` and in `tp.replay`,
compiled in `tp.simulate`, to the same bits, if they keep to what compiles: numbers, arrays, loops, `math`,
NamedTuples, other kernels called *by name*, positional parameters. They allocate nothing (what they write
to is in the state; `Scratch` has two vectors to work on), and they do not use `np.sum`, `np.mean`,
`np.linalg` or `math.lgamma`, which round differently when they are compiled. Loops over arms run to
`data.pulls.size`.

**The state** is a NamedTuple of arrays, each annotated with its kind: `Int1` and `Float1` (one number,
`x[0]`), `IntK` and `FloatK` (one for each arm), `FloatKK` (a matrix); or of other states, such as `Start`.
It begins as zeros. Integers stay below 2**31.

**When what is called.** Before a pull: `ask(params, state, data, slot, draw)`, which reads and never
writes. When its reward is told: the statistics in `data` take it in, then `tell(params, state, data, slot,
arm, n, draw)` runs, then the slot takes it in. So in `tell` `data.pulls[arm]` counts the pull and
`slot.size[0]` does not yet: 0 means that this pull begins an environment. `n` may be more than 1 (a
summary), and the arm one that was not asked for. A pull whose reward is still out passes through the same
`tell` on a copy: it counts in `data.pulls` and has its place in `data.fit`, but no reward.

**What is in `data`** (`Data`), and the word of `reads` that makes it ready; without its word a statistic is
not computed: it stays zero or is not there at all. Reading it is a `KernelError` when the policy is first
used or, if it is read under another name, in the contract of `tideproof.testing`.

* `pulls`: always. Pulls of each arm, those that are out included.
* `moments.told`, `moments.mean`: "means". Number and mean of the raw rewards told, of each arm.
* `moments.squares`: "moments", which brings the two above as well. Squared deviations from the mean.
* `moments.sums`, `moments.weights`: "sums". Rewards weighted by the policy's `weigh` kernel (1 unless it
  has one), which runs before the reward is in `data`; `begin_anew(data.moments)` starts them again.
* `fit`: "fit". The fixed-effects fit (`FixedEffects`), shifts taken out: `fit.mu`, of which only
  differences mean anything, and only if `together(fit, i, k)`; `freedom(fit)`, `sigma2(fit)`,
  `connected(fit)`.
* `told`, `reward`, `squares`: "reward". Number, mean and squared deviations of what this `tell` brings;
  `told[0]` is 0 for pulls that are out. A policy that reads it cannot be run as `reduce:`.
* `periods`: "period" or "control", for selection rules.

In the slot (`Slot`), one environment: `counts`, `size`, `each` (1/size), `mean`, `arm` (one seen here)
always; `means` of each arm by "cells". Its other fields belong to kernels of ours.

**Draws.** A `draw` is a place in a table of random numbers, not a generator: the same lane gives the same
number however often it is read. `uniform(draw, lane)`, `below(draw, lane, n)`, `normal(draw, lane)`. Each
`ask`, `tell` and `select` has a draw of its own, with lanes from 0 to 2**32 - 1. With K arms our
kernels use:

===============================================  ==========================================
`argmax`, `least_pulled`, `start_arm`            lane 0
`argmax_in_lane`                                 the lane it is given
`contend`                                        lane i for arm i
`front_runner`, `race_arm`                       all below K
`drop_lowest`, `end_phase`                       all below K*K
`best_of_draw`                                   K/2 lanes, from the one it is given
===============================================  ==========================================

So lanes from K on are yours, or from K*K on beside `drop_lowest`.

**On a GPU** up to twelve arms live in registers, which cannot be indexed by a number known only at run
time. Kernels that go through `at`, `add_at`, `entry`, `diagonal`, `fetch` and `fetched` instead of `x[i]`
and `P[i, k]` are fast there too; others are right, but slower.
"""

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.array_access import add_at, at, diagonal, entry, fetch, fetched, root_of_ratio
from tideproof.core.array_layout import Float1, FloatK, FloatKK, Int1, IntK, Scratch
from tideproof.core.kernel_linker import hole, kernel
from tideproof.errors import InputError, KernelError
from tideproof.kernels.choose.arm_choice import LOWEST, argmax, argmax_in_lane, contend, least_pulled
from tideproof.kernels.choose.connected_start import Start, start_arm, start_tell, started
from tideproof.kernels.choose.elimination import (
    Race,
    ceiling,
    drop_lowest,
    end_phase,
    fewest_told,
    front_runner,
    in_race,
    race_arm,
    still_in,
)
from tideproof.kernels.choose.normal_tail import log_gain
from tideproof.kernels.choose.posterior_draws import Posterior, best_of_draw, find_contenders
from tideproof.kernels.choose.round_robin_start import all_pulled, all_told, in_turn
from tideproof.kernels.choose.student_tail import log_tail
from tideproof.kernels.fit.environment_slot import Slot
from tideproof.kernels.fit.fixed_effects import (
    FixedEffects,
    anchor,
    connected,
    freedom,
    sigma2,
    together,
    variance_to,
)
from tideproof.kernels.fit.period_averages import Periods
from tideproof.kernels.fit.policy_data import Data
from tideproof.kernels.fit.reward_moments import Moments, begin_anew
from tideproof.kernels.simulate.threefry import Draw, below, normal, normal_quantile, uniform
from tideproof.policies.kernel_signatures import (
    Active,
    Ask,
    Configure,
    FromWorld,
    Identified,
    Minimum,
    Select,
    Tell,
    Weigh,
)
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import (
    CONTROL,
    IPS,
    MEAN,
    MOST_PLAYED,
    OLS,
    PERIOD,
    SURVIVOR,
    Selection,
)

__all__ = [  # noqa: RUF022 - by what they are for
    # a policy, and what its parts receive
    "Policy",
    "Ask",
    "Tell",
    "Configure",
    "Minimum",
    "Weigh",
    "Active",
    "FromWorld",
    # which arm in the end
    "Selection",
    "Select",
    "Identified",
    "MEAN",
    "OLS",
    "IPS",
    "MOST_PLAYED",
    "SURVIVOR",
    "PERIOD",
    "CONTROL",
    # kernels, their state and options
    "kernel",
    "hole",
    "Int1",
    "IntK",
    "Float1",
    "FloatK",
    "FloatKK",
    "Scratch",
    "require_whole_number",
    "require_finite",
    "InputError",
    "KernelError",
    # what kernels receive
    "Data",
    "Moments",
    "FixedEffects",
    "Periods",
    "Slot",
    "Draw",
    # random numbers
    "uniform",
    "below",
    "normal",
    "normal_quantile",
    # choosing
    "LOWEST",
    "argmax",
    "argmax_in_lane",
    "contend",
    "least_pulled",
    "in_turn",
    "all_pulled",
    "all_told",
    # Algorithm 1: until the arms can be compared
    "Start",
    "start_arm",
    "start_tell",
    "started",
    # the fit
    "connected",
    "together",
    "freedom",
    "sigma2",
    "variance_to",
    "anchor",
    "Posterior",
    "find_contenders",
    "best_of_draw",
    # elimination, phase by phase
    "Race",
    "race_arm",
    "still_in",
    "in_race",
    "front_runner",
    "fewest_told",
    "drop_lowest",
    "end_phase",
    "begin_anew",
    "ceiling",
    # tails, in logs
    "log_tail",
    "log_gain",
    # arrays, in memory or in registers
    "at",
    "add_at",
    "entry",
    "diagonal",
    "fetch",
    "fetched",
    "root_of_ratio",
]
