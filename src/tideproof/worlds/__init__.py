"""What a world is: arms, rewards, how long environments last and how they shift.

A world only describes; the kernels draw it, as a pure function of (seed, replication, step). All
descriptions are frozen, check themselves when they are made and can be written as plain dicts.
`__all__` is what `tideproof` itself offers of them: every kind of a part is in it once it is defined.
"""

from typing import TYPE_CHECKING

from tideproof.worlds.part import Part
from tideproof.worlds.scenarios import SCENARIOS as SCENARIOS
from tideproof.worlds.scenarios import mdm as mdm
from tideproof.worlds.scenarios import slippage as slippage
from tideproof.worlds.world import World as World
from tideproof.worlds.world import as_world as as_world

if TYPE_CHECKING:
    from tideproof.worlds.drifts import *  # noqa: F403
    from tideproof.worlds.lengths import *  # noqa: F403
    from tideproof.worlds.noise import *  # noqa: F403
    from tideproof.worlds.outliers import *  # noqa: F403
    from tideproof.worlds.rewards import *  # noqa: F403
    from tideproof.worlds.shifts import *  # noqa: F403
else:
    globals().update(Part.kinds())
    __all__ = sorted([*Part.kinds(), "World", "mdm", "slippage"])
