"""Types of the options of the command line: how each is shown in the help, and how its value is parsed.

Options with numbers also accept 1e5 for 100,000.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

import typer

from tideproof.errors import InputError
from tideproof.text import public_url

_DIGITS = 30  # more digits than any valid option has


def whole_option(help: str, panel: str | None = None, default: str | bool = True) -> Any:
    """Return a typer option whose value must be a whole number.

    `panel` is the group of the option in the help page, `default` the text of its default.
    """
    return typer.Option(
        parser=parse_whole, metavar="NUMBER", help=help, rich_help_panel=panel, show_default=default
    )


def number_option(help: str, panel: str | None = None, default: str | bool = True) -> Any:
    """Return a typer option whose value must be a number.

    The parameters are those of `whole_option`.
    """
    return typer.Option(
        parser=parse_number, metavar="NUMBER", help=help, rich_help_panel=panel, show_default=default
    )


def text_option(
    help: str, panel: str | None = None, metavar: str = "TEXT", default: str | bool = True
) -> Any:
    """Return a typer option whose value is text or the path of a file."""
    return typer.Option(metavar=metavar, help=help, rich_help_panel=panel, show_default=default)


def flag_option(name: str, help: str, panel: str | None = None) -> Any:
    """Return a typer option without a value, such as --json."""
    return typer.Option(name, help=help, rich_help_panel=panel)


OUTPUT = "Output"
AsJson = Annotated[bool, flag_option("--json", "Print the results as JSON.", OUTPUT)]
NoProgress = Annotated[bool, flag_option("--no-progress", "Show no progress bar.", OUTPUT)]
Scheduler = Annotated[
    str | None, text_option("Address of a Dask scheduler to run on.", "Simulation", "ADDRESS")
]


def refuse_password(context: typer.Context, parameter: typer.CallbackParam, value: str) -> str:
    """Raise an error if a store's URL contains a password and was given on the command line.

    Every user of the machine can see the arguments of a command, but not its environment.
    """
    source = context.get_parameter_source(str(parameter.name))
    if source is not None and source.name == "COMMANDLINE" and has_password(value):
        raise InputError(
            f"the URL {public_url(value)!r} contains a password, which other users of this machine could see "
            f"in the list of processes: leave it out, and set the environment variable PGPASSWORD, or "
            f"PGPASSFILE to the path of a file with it (tideproof serve also takes the URL from "
            f"TIDEPROOF_STORE or from the file that TIDEPROOF_STORE_FILE names)"
        )
    return value


def has_password(url: str) -> bool:
    """Return whether the URL of a database server contains a password.

    >>> has_password("postgresql://me:secret@host/db"), has_password("postgresql://me@host/db")
    (True, False)
    """
    if not url.startswith(("postgresql://", "postgres://")):
        return False
    try:
        parts = urlsplit(url)
        return parts.password is not None or "password" in parse_qs(parts.query)
    except ValueError:
        return False


def read_budgets(text: str) -> list[int]:
    """Parse whole numbers that are separated by commas."""
    found = []
    for part in text.split(","):
        value = read_whole(part)
        if value is None:
            raise InputError(f"budgets must be whole numbers separated by commas, not {part!r}")
        found.append(value)
    return found


def read_numbers(option: str, text: str) -> list[float]:
    """Parse numbers that are separated by commas, as the value of an option.

    >>> read_numbers("--past-looks", "1, 2,4.5")
    [1.0, 2.0, 4.5]
    """
    try:
        return [float(part) for part in text.split(",") if text.strip()]
    except ValueError:
        raise InputError(
            f"{option} must be numbers separated by commas, such as 1,2,4, not {text!r}"
        ) from None


def read_whole(text: Any) -> int | None:
    """Parse a whole number, or return None if the text is not a whole number.

    >>> read_whole("1e5"), read_whole("1_000"), read_whole(7), read_whole("1.5")
    (100000, 1000, 7, None)
    """
    try:
        value = Decimal(str(text).strip())
    except InvalidOperation:
        return None
    if not value.is_finite() or value.adjusted() > _DIGITS or value != value.to_integral_value():
        return None
    return int(value)


def parse_whole(text: Any) -> int:
    """Parse a whole number from the command line, or raise an error for the user."""
    value = read_whole(text)
    if value is None:
        raise typer.BadParameter(f"it must be a whole number such as 1000 or 1e5, not {text!r}")
    return value


def parse_number(text: Any) -> float:
    """Parse a number from the command line, or raise an error for the user."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"it must be a number, not {text!r}") from None


_SPELLED = {"covariates": "--covariate", "expected": "--expect", "environment=None": "--no-environment"}


def spell_option(parameter: str) -> str:
    """Return the name of the command-line option that sets a parameter of the analysis.

    >>> spell_option("time_zone"), spell_option("expected")
    ('--time-zone', '--expect')
    """
    return _SPELLED.get(parameter, "--" + parameter.replace("_", "-"))


def read_share(text: str) -> float:
    """Parse a share that is written as a percentage or as a number below 1.

    >>> read_share("99.9%"), read_share("99.9 %"), read_share("0.995")
    (0.9990000000000001, 0.9990000000000001, 0.995)
    """
    return parse_percentage("--winsorize", text, "99.9% or a number such as 0.999")


def parse_percentage(option: str, text: str, example: str = "2% or a number such as 0.02") -> float:
    """Parse the share that an option takes, as a percentage or as a number below 1.

    >>> parse_percentage("--gate", "2 %"), parse_percentage("--gate", "0.005")
    (0.02, 0.005)
    """
    number = text.strip()
    percent = number.endswith("%")
    try:
        value = float(number.rstrip("% "))
    except ValueError:
        value = -1.0
    share = value / 100.0 if percent else value
    if not 0.0 < share < 1.0:
        raise InputError(f"{option} must be a percentage such as {example}, not {text!r}")
    return share


def read_expected(text: str) -> dict[str, float] | list[float]:
    """Parse the intended share of pulls of each arm, given by name or in the order of the arms.

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
