"""Warning that the effects of two environment factors, such as site and year, do not add up."""

from __future__ import annotations

from tideproof.analysis.fit_result import Fit
from tideproof.stats.diagnostics.two_factor_test import two_factor_fit
from tideproof.text import format_p

_ADVICE = {
    "pairs": "Give every pair of levels a shift of its own: name the environment 'a:b' instead of 'a + b'.",
    "products": "Effects grow with the level of the rewards, as if they multiplied: consider a column of the "
    "logarithms of the rewards.",
}


def two_factor_warning(fit: Fit, alarm: float) -> list[str]:
    """Return a warning if the effects of two environment factors do not add up, at the p-value `alarm`."""
    test = two_factor_fit(fit.cells, fit.cells.solution)
    if test.p >= alarm:
        return []
    figures = f"F = {test.F:.3g} on {test.df1:.3g} and {test.df2:.3g} degrees of freedom"
    return [
        f"The effects of the two columns of environments do not add up ({figures}, {format_p(test.p)}). "
        f"{_ADVICE[test.against]}"
    ]
