"""Simulated worlds of a paper at ECAI 2024: two patterns of arm means and five kinds of environments."""

from __future__ import annotations

from collections.abc import Callable

from tideproof.checks import require_finite, require_whole_number
from tideproof.errors import InputError, UnknownName
from tideproof.worlds.shift_processes import NoShift, Shift, Uniform
from tideproof.worlds.world import EnvironmentLengths, World

SCENARIOS: dict[str, Callable[[int], tuple[EnvironmentLengths, Shift]]] = {
    "worst-case": lambda arms: ((2, 2), Uniform(0.0, 20.0)),
    "cannot-sample-all-arms": lambda arms: ((2, arms - 1), Uniform(0.0, 20.0)),
    "sample-1-to-10": lambda arms: ((arms, 10 * arms), Uniform(0.0, 20.0)),
    "general": lambda arms: ((2, 10 * arms), Uniform(0.0, 20.0)),
    "stationary": lambda arms: (None, NoShift()),
}


def mdm(arms: int, scenario: str = "general", delta: float = 0.5, sigma: float = 1.0) -> World:
    """Return a simulated world with evenly spaced means: each arm is `delta` better than the one before.

    The paper calls this configuration MDM, monotone decreasing means.

    Parameters
    ----------
    arms
        Number of arms; the last one is the best.
    scenario
        Lengths of environments, for K arms: `"worst-case"` 2 steps, `"cannot-sample-all-arms"` 2 to K - 1,
        `"sample-1-to-10"` K to 10 K, `"general"` 2 to 10 K; shifts are uniform between 0 and 20.
        `"stationary"` is one permanent environment without a shift.
    delta
        The difference between neighbouring arms.
    sigma
        Standard deviation of the noise.

    Examples
    --------
    >>> mdm(5).means, mdm(5).lengths
    ((0.0, 0.5, 1.0, 1.5, 2.0), (2, 50))
    """
    means = [
        require_finite("delta", delta, 0.0) * arm for arm in range(require_whole_number("arms", arms, 2))
    ]
    return _build_scenario(means, scenario, sigma)


def slippage(arms: int, scenario: str = "general", delta: float = 0.5, sigma: float = 1.0) -> World:
    """Return a simulated world in which all arms are equal except the last, which is `delta` better.

    The parameters are those of `mdm`.

    Examples
    --------
    >>> slippage(5, "worst-case").means
    (0.0, 0.0, 0.0, 0.0, 0.5)
    """
    means = [0.0] * (require_whole_number("arms", arms, 2) - 1) + [require_finite("delta", delta, 0.0)]
    return _build_scenario(means, scenario, sigma)


def _build_scenario(means: list[float], scenario: str, sigma: float) -> World:
    """Return a simulated world with these arm means, and with the environments of a named scenario."""
    if scenario not in SCENARIOS:
        raise UnknownName.with_suggestion("scenario", scenario, SCENARIOS)
    if scenario == "cannot-sample-all-arms" and len(means) < 3:
        raise InputError(f"scenario {scenario!r} needs at least 3 arms, not {len(means)}")
    lengths, shifts = SCENARIOS[scenario](len(means))
    return World(means, sigma, lengths, shifts)
