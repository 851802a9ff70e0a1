"""Version of the package, defined only here."""

__version__ = "0.2.0"
