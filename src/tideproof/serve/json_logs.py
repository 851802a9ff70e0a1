"""Log messages of the HTTP service, as JSON lines or as text."""

from __future__ import annotations

import datetime
import json
import logging
import sys

LOG = logging.getLogger("tideproof.serve")


class _JsonFormatter(logging.Formatter):
    """Log formatter that writes one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a log record as a line of JSON."""
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class _TextFormatter(logging.Formatter):
    """Log formatter that writes a message and its fields as one line of text.

    "-" stands for a missing value.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a log record as text."""
        given = getattr(record, "fields", {}).items()
        fields = " ".join(f"{name}={'-' if value is None else value}" for name, value in given)
        text = f"{record.levelname.lower()} {record.getMessage()} {fields}".rstrip()
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def configure_logging(kind: str) -> None:
    """Set up the log messages on standard error: JSON lines ("json"), text ("text") or none ("off")."""
    LOG.handlers.clear()
    LOG.propagate = False
    LOG.setLevel(logging.INFO)
    handler: logging.Handler = logging.NullHandler() if kind == "off" else logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if kind == "json" else _TextFormatter())
    LOG.addHandler(handler)
