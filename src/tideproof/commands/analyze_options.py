"""Parsers for options of `tideproof analyze`: percentages and intended shares of arms."""

from __future__ import annotations

from tideproof.errors import InputError

_SPELLED = {"covariates": "--covariate", "expected": "--expect", "environment=None": "--no-environment"}


def spell_option(parameter: str) -> str:
    """Return the option of the command line for a parameter of the analysis.

    >>> spell_option("time_zone"), spell_option("expected")
    ('--time-zone', '--expect')
    """
    return _SPELLED.get(parameter, "--" + parameter.replace("_", "-"))


def read_share(text: str) -> float:
    """Parse a share that is written as a percentage or as a number below 1.

    >>> read_share("99.9%"), read_share("99.9 %"), read_share("0.995")
    (0.9990000000000001, 0.9990000000000001, 0.995)
    """
    number = text.strip()
    percent = number.endswith("%")
    try:
        value = float(number.rstrip("% "))
    except ValueError:
        value = -1.0
    share = value / 100.0 if percent else value
    if not 0.0 < share < 1.0:
        raise InputError(f"--cap must be a percentage such as 99.9% or a number such as 0.999, not {text!r}")
    return share


def read_expected(text: str) -> dict[str, float] | list[float]:
    """Parse the intended shares of the arms, by name or in the order of the arms.

    >>> read_expected("50:30:20"), read_expected("B=1, A=2")
    ([50.0, 30.0, 20.0], {'B': 1.0, 'A': 2.0})
    """
    named = "=" in text
    parts = [part.strip() for part in text.split("," if named else ":")]
    pairs = [part.rsplit("=", 1) if named else [part] for part in parts]
    try:
        shares = [float(pair[-1]) for pair in pairs]
    except ValueError:
        shares = []
    if (
        not shares
        or any(not 0.0 < share < float("inf") for share in shares)
        or any(named != (len(p) == 2) for p in pairs)
    ):
        raise InputError(f"--expect must be shares such as 50:50 or A=50,B=50, not {text!r}")
    if named:
        return {pair[0].strip(): share for pair, share in zip(pairs, shares, strict=True)}
    return shares
