"""Simulated worlds: arms, rewards, lengths of environments and shifts.

A world is only a description. The kernels draw it, as a pure function of (seed, replication, step). All
descriptions are immutable, validate themselves when they are created, and can be converted to dicts.
`__all__` lists the kinds of all parts, to which a new kind is added automatically, and `ResponseMatrix`.
`World`, `mdm` and `slippage` are also names of `tideproof`.
"""

from typing import TYPE_CHECKING

from tideproof.worlds.paper_scenarios import SCENARIOS as SCENARIOS
from tideproof.worlds.paper_scenarios import mdm as mdm
from tideproof.worlds.paper_scenarios import slippage as slippage
from tideproof.worlds.response_matrix import ResponseMatrix as ResponseMatrix
from tideproof.worlds.response_matrix import world_from_dict as world_from_dict
from tideproof.worlds.world import World as World
from tideproof.worlds.world import as_world as as_world
from tideproof.worlds.world_part import WorldPart

if TYPE_CHECKING:
    from tideproof.worlds.environment_lengths import *  # noqa: F403
    from tideproof.worlds.noise_laws import *  # noqa: F403
    from tideproof.worlds.reward_laws import *  # noqa: F403
    from tideproof.worlds.shift_processes import *  # noqa: F403
    from tideproof.worlds.tide_drifts import *  # noqa: F403
    from tideproof.worlds.wrong_cells import *  # noqa: F403
else:
    globals().update(WorldPart.kinds())
    __all__ = sorted([*WorldPart.kinds(), "ResponseMatrix"])
