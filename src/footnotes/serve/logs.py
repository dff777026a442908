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
    """A record and what was said beside it, as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        said = {"time": moment, "level": record.levelname.lower(), "logger": record.name}
        said["message"] = record.getMessage()
        said.update({name: value for name, value in vars(record).items() if name not in _PLAIN})
        said.setdefault("request_id", REQUEST_ID.get())
        said.setdefault("job", JOB_ID.get())
        if record.exc_info:
            said["trace"] = _places(record)
        return json.dumps({name: value for name, value in said.items() if value != ""}, default=str)


class PlainLines(logging.Formatter):
    """A record for a person at a terminal: the time, what happened, and what was said beside it."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        beside = {name: value for name, value in vars(record).items() if name not in _PLAIN and value not in ("", None)}
        said = " ".join(f"{name}={value}" for name, value in beside.items())
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        line = f"{moment} {level}{record.getMessage()}" + (f"  {said}" if said else "")
        return f"{line}  {_places(record)}" if record.exc_info else line


def _places(record: logging.LogRecord) -> str:
    """Where an error came from, without its message: that may quote a document."""
    assert record.exc_info is not None
    kind, _, trace = record.exc_info
    places = []
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return f"{kind.__name__ if kind else ''} at " + " < ".join(reversed(places[-12:]))


def set_up_logs(named: str = "info", *, plain: bool = False) -> None:
    """Write all logs to standard error, from a level on: debug, info, warning or error; as JSON, or `plain` lines.

    Of libraries their warnings are written, in the same shape; so is what no code caught.
    """
    level = logging.getLevelNamesMapping().get(named.upper())
    if level is None:
        raise ConfigError(f"there is no log level {named!r}; use debug, info, warning or error")
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
    sys.excepthook = lambda kind, error, trace: _uncaught(kind, error, trace)
    threading.excepthook = lambda given: _uncaught(given.exc_type, given.exc_value, given.exc_traceback)


def _uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """What nobody caught ends a thread or the process: the last line says so like any other."""
    if issubclass(kind, KeyboardInterrupt):
        return
    extra = {"reason": kind.__name__}
    logging.getLogger("footnotes").critical(
        "nobody caught an error", exc_info=(kind, error or kind(), trace), extra=extra
    )
