"""Logarithm of the upper tail probability of Student's t, accurate arbitrarily far in the tail.

With y = nu/(nu + x^2) the tail is half the incomplete beta function I_y(nu/2, 1/2). Near the centre its
complement is a power series of positive terms. Farther out the tail is a continued fraction of positive
terms; its convergents enclose the value, so that the computation stops by itself:

    P(T > x) = y^(nu/2) / (2 sqrt(pi) c sqrt(1 - y) (1 + r)),  c = Gamma(nu/2 + 1)/Gamma(nu/2 + 1/2),
    r = n_1/(b_1 + n_2/(b_2 + ...)),  n_m = m (1 + (m - 1)/nu)/x^2,  b_m = 1 + 2m/nu.

As nu grows it tends to Laplace's fraction for the normal tail. c needs no gamma function: in powers of
u = 1/(2 nu + 1)^2, with Euler's numbers as coefficients,

    log c = log((2 nu + 1)/4)/2 + u/4 - 5 u^2/8 + 61 u^3/12 - 1385 u^4/16 + 50521 u^5/20 - ...,

to 1e-13 from nu = 16 on; smaller nu use c(nu) = c(nu + 2) (nu + 1)/(nu + 2).

DLMF, https://dlmf.nist.gov: 8.17.7-8, 15.7.5 after Euler's transformation, 5.11.14.
"""

from __future__ import annotations

import math

from tideproof.core.kernel_linker import kernel

FURTHEST = 1e150  # larger arguments are replaced by this one, whose square is finite

_SERIES = 1e-13  # relative size of the last term of the series
_BRACKET = 1e-11  # relative distance of the last two convergents


@kernel
def log_tail(x, nu):
    """Return the logarithm of the upper tail probability of Student's t at x, which is finite for any x.

    It is log P(T > x) for nu > 0 degrees of freedom. The error is at most 1e-11, or 1e-15 times the result
    if that is larger.
    """
    if x < 0.0:
        return math.log1p(-math.exp(_log_upper(-x, nu)))
    return _log_upper(x, nu)


@kernel
def _log_upper(x, nu):
    """Return the logarithm of the upper tail probability of Student's t at x >= 0.

    It is log P(T > x) for nu degrees of freedom.
    """
    x, nu = min(float(x), FURTHEST), float(nu)
    square = x * x
    total = nu + square
    ratio, n = 1.0, nu  # c(nu)/c(n)
    if nu < 16.0:
        top, low = 1.0, 1.0
        while n < 16.0:
            top *= n + 1.0
            low *= n + 2.0
            n += 2.0
        ratio = top / low
    odd = 2.0 * n + 1.0
    u = 1.0 / (odd * odd)
    rest = ((((2526.05 * u - 86.5625) * u + 61.0 / 12.0) * u - 0.625) * u + 0.25) * u
    scale = math.pi * odd * (ratio * ratio)  # 4 pi c^2 exp(-2 rest)
    power = 0.5 * nu * math.log1p(square / nu) + rest
    if square * (nu + 23.0) > 10.0 * nu:  # at the boundary, both methods take about the same time
        fall = 1.0 + fraction(square, 1.0 / nu)
        return -power - 0.5 * math.log(scale * (square / total) * (fall * fall))
    share = square / total
    term, series, k = 1.0, 1.0, 1.0
    while term > _SERIES * series:
        term *= share * ((nu + k) / (k + 2.0))
        series += term
        k += 2.0
    return math.log(0.5 - x * nu / math.sqrt(total * scale) * math.exp(-power) * series)


@kernel
def fraction(square, inverse):
    """Return the continued fraction from which the upper tail probability of Student's t follows.

    For the tail at x, `square` is x^2 and `inverse` is 1/nu. For 1/nu = 0 the result is 1/(x M(x)) - 1,
    with Mills' ratio M of the normal distribution.
    """
    over = 1.0 / square
    top, top_before = 0.0, 1.0
    low, low_before = 1.0, 0.0
    width = 1.0  # difference of the last two convergents, times both denominators
    m = 1.0
    while True:  # two terms per iteration
        b = 1.0 + 2.0 * m * inverse
        n = m * (1.0 + (m - 1.0) * inverse) * over
        top_before = b * top + n * top_before
        low_before = b * low + n * low_before
        b += 2.0 * inverse
        then = (m + 1.0) * (1.0 + m * inverse) * over
        top = b * top_before + then * top
        low = b * low_before + then * low
        width *= n * then
        m += 2.0
        if width <= _BRACKET * (top * low_before):
            return top / low
