"""What `reduce:` hands to its inner policy in place of the fit."""

from types import SimpleNamespace

import numpy as np

from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.fit.adjusted_moments import Reduction, flatten
from tideproof.kernels.fit.fixed_effects import FixedEffects


def test_the_flat_fit_is_that_of_one_environment():
    reduction = allocate(Reduction, 4).view
    fit = allocate(FixedEffects, 4).view
    fit.mu[:] = [1.0, -2.0, 3.0, 0.5]
    fit.rss[0], fit.told[0], fit.joins[0] = 7.0, 12, 3
    pulls = np.array([4, 0, 5, 3])
    flatten(reduction, SimpleNamespace(fit=fit, pulls=pulls))
    flat = reduction.fit
    assert flat.mu.tolist() == [1.0, -2.0, 3.0, 0.5]
    np.testing.assert_array_equal(flat.P, np.diag([1 / 4, 0.0, 1 / 5, 1 / 3]))
    assert flat.first.tolist() == [4.0, 0.0, 5.0, 3.0]
    assert flat.first_size[0] == 12.0
    assert flat.group.tolist() == [1, 1, 1, 1]
    assert (flat.rss[0], flat.told[0], flat.environments[0], flat.joins[0]) == (7.0, 12, 1, 3)
    fit.joins[0] = 2
    flatten(reduction, SimpleNamespace(fit=fit, pulls=pulls))
    assert flat.joins[0] == 0, "no arm is comparable before all are"
