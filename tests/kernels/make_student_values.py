"""Reference values of the tails, with many digits: `python tests/kernels/make_student_values.py` prints them.

test_student.py holds what this prints, and checks that it does.
"""

from __future__ import annotations

import mpmath

XS = (0.0, 0.25, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0, 12.0, 40.0, 1000.0, 1e8)
FREEDOMS = (1, 2, 3, 4, 5, 8, 15, 16, 17, 40, 100, 333, 1000, 5000)
ZS = (0.0, 0.5, 1.0, 2.0, 4.0, 7.999, 8.0, 8.001, 20.0, 38.0, 100.0, 1e4, 1e8)


def log_tail(x, nu):
    """Return log P(T > x) of Student's t: half the incomplete beta function at nu/(nu + x^2)."""
    x, nu = mpmath.mpf(x), mpmath.mpf(nu)
    return mpmath.log(mpmath.betainc(nu / 2, 0.5, 0, nu / (nu + x * x), regularized=True) / 2)


def log_gain(z):
    """Return log(phi(z) - z Phi(-z)), as phi times one minus z times Mills' ratio."""
    z = mpmath.mpf(z)
    if z < 50:
        return mpmath.log(mpmath.npdf(z) - z * mpmath.erfc(z / mpmath.sqrt(2)) / 2)
    # phi(z)/z^2 (1 - 3/z^2 + 15/z^4 - ...), which from z = 50 on is exact to more digits than are kept
    series = mpmath.fsum((-1) ** k * mpmath.fac2(2 * k + 1) / z ** (2 * k) for k in range(40))
    return -z * z / 2 - mpmath.log(2 * mpmath.pi) / 2 - 2 * mpmath.log(z) + mpmath.log(series)


def table() -> str:
    """Return a row for each number of degrees of freedom: it, and the log tail at every x."""
    with mpmath.workdps(80):
        rows = [[f"{nu:4d}", *(mpmath.nstr(log_tail(x, nu), 16) for x in XS)] for nu in FREEDOMS]
    return "\n" + "\n".join(" ".join(row) for row in rows) + "\n"


def gains() -> dict[float, float]:
    """Return the log gain at every z."""
    with mpmath.workdps(80):
        return {z: float(log_gain(z)) for z in ZS}


if __name__ == "__main__":
    print(f'TABLE = """{table()}"""\n\nGAINS = {{')
    for z, gain in gains().items():
        print(f"    {z!r}: {gain!r},")
    print("}")
