"""Structured logs: one JSON object a line, with the id of the request. Never document text or keys."""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType

from footnotes.errors import ConfigError
from footnotes.tracing import JOB_ID, REQUEST_ID

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class JsonLines(logging.Formatter):
    """Formats a record and its extra fields as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {"time": moment, "level": record.levelname.lower(), "logger": record.name}
        fields["message"] = record.getMessage()
        fields.update({name: value for name, value in vars(record).items() if name not in _PLAIN})
        fields.setdefault("request_id", REQUEST_ID.get())
        fields.setdefault("job", JOB_ID.get())
        if record.exc_info:
            fields["trace"] = _trace_lines(record)
        return json.dumps({name: value for name, value in fields.items() if value != ""}, default=str)


class PlainLines(logging.Formatter):
    """Formats a record for a terminal: time, message, extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        beside = {name: value for name, value in vars(record).items() if name not in _PLAIN and value not in ("", None)}
        extra = " ".join(f"{name}={value}" for name, value in beside.items())
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        line = f"{moment} {level}{record.getMessage()}" + (f"  {extra}" if extra else "")
        return f"{line}  {_trace_lines(record)}" if record.exc_info else line


def _trace_lines(record: logging.LogRecord) -> str:
    """Return the frames of an error without its message, which may quote a document."""
    assert record.exc_info is not None
    kind, _, trace = record.exc_info
    places = []
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return f"{kind.__name__ if kind else ''} at " + " < ".join(reversed(places[-12:]))


def set_up_logs(level_name: str = "info", *, plain: bool = False) -> None:
    """Write all logs to standard error, from a level on: debug, info, warning or error; as JSON, or `plain` lines.

    Other packages log warnings only. Uncaught errors are logged in the same shape.
    """
    level = logging.getLevelNamesMapping().get(level_name.upper())
    if level is None:
        raise ConfigError(f"there is no log level {level_name!r}; use debug, info, warning or error")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainLines() if plain else JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))
    for name in ("footnotes", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    logging.captureWarnings(True)
    sys.excepthook = lambda kind, error, trace: _log_uncaught(kind, error, trace)
    threading.excepthook = lambda hook: _log_uncaught(hook.exc_type, hook.exc_value, hook.exc_traceback)


def _log_uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """Log an uncaught error, which ends a thread or the process, in the same shape as other lines."""
    if issubclass(kind, KeyboardInterrupt):
        return
    extra = {"reason": kind.__name__}
    logging.getLogger("footnotes").critical(
        "an error was not caught", exc_info=(kind, error or kind(), trace), extra=extra
    )
