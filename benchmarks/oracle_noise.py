"""A policy that knows the true noise of the arms and the true variance of the interaction, as a yardstick."""

from dataclasses import replace

import tideproof as tp
from tideproof.policies.statistics_models import STATISTICS


def informed_policy(policy, tide, noise, ratio):
    """Return `policy` with the known numbers in place of estimates; `noise` and `ratio` are kernels.

    The comparison with the policy itself measures what it costs to estimate these numbers.
    """
    known = {"BY_ARM": False, "FITS": 1, "CALM": 0.0, "noise_before": noise, "ratio_of": ratio}
    model = STATISTICS["interaction:"]
    STATISTICS[tide] = replace(model, prefix=tide, kernels={**model.kernels, **known})
    return tp.policy(replace(tp.policy(policy).policy, name="told", tide=tide), label="told")
