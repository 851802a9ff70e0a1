"""Two policies beside each other, thread by thread, against NumPy."""

import numpy as np
import pytest

from tideproof.core.kernel_linker import kernel, link, use_interpreter
from tideproof.kernels.simulate.policy_pairs import compare_selections


@pytest.mark.parametrize("threads", [1, 3, 50])
def test_threads_share_the_replications(threads):
    random = np.random.default_rng(threads)
    gaps = np.array([0.0, 0.5, 0.0, 2.0])
    mine, theirs = random.integers(0, 4, (2, 3, 40)).astype(np.int16)
    both, squares = np.full((3, threads), -1), np.full((3, threads), np.nan)
    for b in range(3):
        for thread in range(threads):
            compare = link(compare_selections, use_interpreter, {"place": kernel(lambda at=(thread, b): at)})
            compare(mine, theirs, gaps, both, squares)
    one, other = gaps[mine], gaps[theirs]
    assert both.sum(axis=1).tolist() == ((one > 0) & (other > 0)).sum(axis=1).tolist()
    np.testing.assert_allclose(squares.sum(axis=1), ((one - other) ** 2).sum(axis=1), rtol=1e-12)
    for thread in range(min(threads, 40)):  # its own replications, and no others
        some = slice(thread, None, threads)
        np.testing.assert_allclose(squares[:, thread], ((one - other)[:, some] ** 2).sum(axis=1))
