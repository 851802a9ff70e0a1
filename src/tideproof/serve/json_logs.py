"""One line of JSON for everything worth a line."""

from __future__ import annotations

import datetime
import json
import logging
import sys

LOG = logging.getLogger("tideproof.serve")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={value}" for name, value in getattr(record, "fields", {}).items())
        text = f"{record.levelname.lower()} {record.getMessage()} {fields}".rstrip()
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def begin(kind: str) -> None:
    """Write to standard error from now on: "json", "text" or, with "off", nothing."""
    LOG.handlers.clear()
    LOG.propagate = False
    LOG.setLevel(logging.INFO)
    handler: logging.Handler = logging.NullHandler() if kind == "off" else logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if kind == "json" else _Text())
    LOG.addHandler(handler)
