"""Everything that a custom policy imports: compilable functions, state types, statistics and random numbers.

A policy is three kernels (`ask`, `tell`, and the `select` of a selection rule), a `State` and a `configure`
function, combined in a `Policy`. docs/plugins.md develops one from the first line to its installation;
examples/plugin is one as a package of its own.

**Kernels** are plain functions under `@kernel`. They run interpreted in an `Experiment` and in `tp.replay`,
and compiled in `tp.simulate`. Both give the same bits if kernels use only features that compile: numbers,
arrays, loops, `math`, NamedTuples, other kernels called *by name*, positional parameters. Kernels allocate
nothing: they write to arrays of the state, and `Scratch` has two vectors for intermediate results. They do
not use `np.sum`, `np.mean`, `np.linalg` or `math.lgamma`, which round differently when they are compiled.
Loops over arms run to `data.pulls.size`.

**The state** is a NamedTuple of arrays, each annotated with its kind: `Int1` and `Float1` (one number,
`x[0]`), `IntK` and `FloatK` (one for each arm), `FloatKK` (a matrix); or of other states, such as `Start`.
It starts as zeros. Integers stay below 2**31.

**Order of calls.** Before a pull: `ask(params, state, data, slot, draw)`, which reads and never writes.
When its reward is reported, three things happen in this order: the statistics in `data` are updated,
`tell(params, state, data, slot, arm, n, draw)` runs, and the slot is updated. So in `tell`,
`data.pulls[arm]` includes the pull and `slot.size[0]` does not yet: 0 means that this pull is the first of
an environment. `n` may be more than 1 (a summary of several rewards), and the arm may differ from the one
that `ask` returned. A pending pull goes through the same `tell` on a copy of the state: it is included in
`data.pulls` and in the design of `data.fit`, but has no reward.

**Statistics in `data`** (`Data`), and the word of `reads` that each needs. Without its word a statistic is
not computed: it stays zero or does not exist. Reading it then is a `KernelError` when the policy is first
used or, if it is read under another name, in the contract tests of `tideproof.testing`.

* `pulls`: always. Number of pulls of each arm, pending pulls included.
* `moments.told`, `moments.mean`: "means". Number and mean of the raw rewards of each arm.
* `moments.squares`: "moments", which includes the two above. Sum of squared deviations from the mean.
* `moments.sums`, `moments.weights`: "sums". Rewards weighted by the policy's `weigh` kernel (1 without
  one), which runs before the reward is added to `data`; `begin_anew(data.moments)` resets them.
* `fit`: "fit". The fixed-effects fit (`FixedEffects`), with the shifts removed: `fit.mu`, of which only
  differences are meaningful, and only if `together(fit, i, k)`; `degrees_of_freedom(fit)`, `sigma2(fit)`,
  `connected(fit)`.
* `told`, `reward`, `squares`: "reward". Number, mean and sum of squared deviations of the rewards of this
  `tell`; `told[0]` is 0 for pending pulls. A policy that reads these cannot be run as `reduce:`.
* `periods`: "period" or "control", for selection rules.

**The slot** (`Slot`) holds the statistics of one environment: `counts`, `size`, `each` (1/size), `mean`,
`arm` (an arm observed in it) always; `means` of each arm by "cells". Its other fields are internal.

**Random numbers.** A `draw` is a position in a table of random numbers, not a generator: a lane gives the
same number however often it is read. `uniform(draw, lane)`, `below(draw, lane, n)`, `normal(draw, lane)`.
Each `ask`, `tell` and `select` has its own draw, with lanes from 0 to 2**32 - 1. With K arms the kernels
of this module use:

===============================================  ==========================================
`argmax`, `least_pulled`, `start_arm`            lane 0
`argmax_in_lane`                                 the lane that is passed
`contend`                                        lane i for arm i
`front_runner`, `race_arm`                       lanes below K
`drop_lowest`, `end_phase`                       lanes below K*K
`best_of_draw`                                   K/2 lanes, from the one that is passed
===============================================  ==========================================

So a policy may use lanes from K on, or from K*K on if it calls `drop_lowest`.

**On a GPU** the state of up to twelve arms is kept in registers, which cannot be indexed by a number known
only at run time. Kernels that use `at`, `add_at`, `entry`, `diagonal`, `fetch` and `fetched` instead of
`x[i]` and `P[i, k]` are fast there, too; other kernels are correct, but slower.
"""

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.kernel_array_access import add_at, at, diagonal, entry, fetch, fetched, root_of_ratio
from tideproof.core.kernel_linker import hole, kernel
from tideproof.core.kernel_state_arrays import Float1, FloatK, FloatKK, Int1, IntK, Scratch
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
from tideproof.kernels.fit.fixed_effects import (
    FixedEffects,
    anchor,
    connected,
    degrees_of_freedom,
    sigma2,
    together,
    variance_to,
)
from tideproof.kernels.fit.period_averages import Periods
from tideproof.kernels.fit.policy_data import Data, Moments, Slot, begin_anew
from tideproof.kernels.simulate.threefry import Draw, below, normal, normal_quantile, uniform
from tideproof.moved_names import raise_missing_plugin_name as __getattr__  # noqa: F401 - for renamed names
from tideproof.policies.final_selection_rules import (
    CONTROL,
    IPS,
    MEAN,
    MOST_PLAYED,
    OLS,
    PERIOD,
    SURVIVOR,
    Selection,
)
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

__all__ = [  # noqa: RUF022 - grouped by purpose
    # a policy, and the signatures of its functions
    "Policy",
    "Ask",
    "Tell",
    "Configure",
    "Minimum",
    "Weigh",
    "Active",
    "FromWorld",
    # selection rules
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
    # kernels, state types and checks of options
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
    # arguments of kernels
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
    # choosing an arm
    "LOWEST",
    "argmax",
    "argmax_in_lane",
    "contend",
    "least_pulled",
    "in_turn",
    "all_pulled",
    "all_told",
    # Algorithm 1: initialisation until the arms are comparable
    "Start",
    "start_arm",
    "start_tell",
    "started",
    # the fixed-effects fit
    "connected",
    "together",
    "degrees_of_freedom",
    "sigma2",
    "variance_to",
    "anchor",
    "Posterior",
    "find_contenders",
    "best_of_draw",
    # elimination in phases
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
    # logarithms of tail probabilities
    "log_tail",
    "log_gain",
    # access to arrays in memory or in registers
    "at",
    "add_at",
    "entry",
    "diagonal",
    "fetch",
    "fetched",
    "root_of_ratio",
]
