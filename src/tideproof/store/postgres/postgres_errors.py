"""Convert errors of the PostgreSQL driver to errors of tideproof."""

from __future__ import annotations

from tideproof.errors import InputError, MissingExtra, StoreError, TideproofError

try:
    import psycopg
except ImportError:
    raise MissingExtra.for_module("psycopg", "postgres", "an experiment in PostgreSQL") from None

PATIENCE = 60  # seconds to wait for other writers, and seconds that a writer may be idle in a transaction
_GONE = "57P"  # prefix of the error codes with which a stopping server ends connections


def explain_error(name: str, error: Exception) -> TideproofError:
    """Convert an error of the database with this name to an error of tideproof with an explanation."""
    name, code = repr(name), _code(error)
    if isinstance(error, (psycopg.DataError, UnicodeEncodeError)):
        return InputError(f"{name} cannot store this value: {one_line(error)}")
    if code == "55P03":
        return StoreError(f"{name} has been locked by other processes for {PATIENCE} s: nothing was saved")
    if code == "53100":
        return StoreError(f"the disk of {name} is full: nothing was saved")
    if code == "25006":
        return StoreError(f"{name} cannot be written: the server or the user is read-only")
    return StoreError(f"{name} could not be read or written: {one_line(error)}")


def is_stopping(error: Exception) -> bool:
    """Return whether an error says that the server ends the connection."""
    return _code(error).startswith(_GONE)


def is_loss(error: Exception) -> bool:
    """Return whether an error means a lost connection, so that a new connection may succeed."""
    return isinstance(error, psycopg.OperationalError) and (not _code(error) or is_stopping(error))


def one_line(error: object) -> str:
    """Return the text of an error in one line."""
    return "; ".join(line.strip() for line in str(error).splitlines() if line.strip()) or type(error).__name__


def _code(error: Exception) -> str:
    """Return the SQLSTATE code of an error, or an empty string if the server did not raise it."""
    return getattr(error, "sqlstate", None) or ""
