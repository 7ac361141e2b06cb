"""Log lines as JSON objects, one a line. What is logged and when is up to the callers."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

LOGGER_NAMES = ("weftlens", "uvicorn")
FIELDS = "weftlens_fields"


class JsonFormatter(logging.Formatter):
    """One JSON object a record: time, level, logger, message, the fields of the call, and the
    traceback when there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of text."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(getattr(record, FIELDS, {}))
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def log_as_json(level: str, stream: TextIO | None = None) -> logging.Handler:
    """Sends the lines of this server and of uvicorn to a stream, as JSON; the handler says where.

    Args:
        level: least level that is written.
        stream: where to; standard error when None.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in LOGGER_NAMES:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
    return handler
