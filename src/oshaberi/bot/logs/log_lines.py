"""Logs: one line per event with the id of its stream, for people or as JSON, without secrets.

Call `setup` once; then use `logging.getLogger` as usual. Other packages log only
warnings and errors.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

from oshaberi.outage_log import is_counted
from oshaberi.secret_redaction import SecretValues
from oshaberi.terminal_output import TerminalPalette, harmless
from oshaberi.turn_tracing import turn_fields

Format = Literal["text", "json"]

_OURS = logging.getLogger("oshaberi")
_QUIETER = {
    "discord.client": logging.ERROR,  # it warns that voice is not installed, which we chose
    "discord.gateway": logging.ERROR,  # it warns of every reconnect
    "mcp": logging.ERROR,  # it warns of every line that is not JSON
}
"""Loggers of other packages whose warnings nobody needs."""
LONGEST_MESSAGE = 10_000
LONGEST_TRACE = 30_000
"""How long a line may be: strangers must not be able to fill the log."""
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "is_counted",
}
_STYLES = {"WARNING": "warn", "ERROR": "warn", "CRITICAL": "warn", "DEBUG": "dim"}

stream_id: ContextVar[str] = ContextVar("stream_id", default="")


@contextmanager
def of_stream(key: str) -> Iterator[None]:
    """Put this id on all lines logged inside the block, also by tasks that start inside it."""
    token = stream_id.set(key)
    try:
        yield
    finally:
        stream_id.reset(token)


def setup(
    level: str = "info",
    form: Format | str = "text",
    stream: TextIO | None = None,
    secrets: Sequence[str] = (),
) -> None:
    """Log to `stream` (default stderr) from now on, with all `secrets` masked."""
    out = stream or sys.stderr
    handler = _Handler(out)
    handler.addFilter(lambda record: not is_counted(record))
    handler.setFormatter(
        _JsonFormatter(secrets)
        if form == "json"
        else _TextFormatter(secrets, TerminalPalette.of(out))
    )
    root = logging.getLogger()
    for former in [one for one in root.handlers if isinstance(one, _Handler)]:
        root.removeHandler(former)
    root.addHandler(handler)
    set_level(level)
    for name, least in _QUIETER.items():
        logging.getLogger(name).setLevel(least)
    logging.captureWarnings(True)
    if form == "json" and stream is None:
        _log_what_python_prints()


def is_json() -> bool:
    """Return whether the log of this process is JSON: then nothing else may be printed."""
    ours = [one for one in logging.getLogger().handlers if isinstance(one, _Handler)]
    return any(isinstance(one.formatter, _JsonFormatter) for one in ours)


def _log_what_python_prints() -> None:
    """Log the tracebacks that Python would print, from uncaught errors, threads and destructors."""
    log = logging.getLogger("python")
    sys.excepthook = lambda kind, error, trace: log.critical(
        "uncaught: %s", error, exc_info=(kind, error, trace)
    )

    def thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            log.error("a thread failed: %s", args.exc_value, exc_info=args.exc_value)

    def unraisable(args: sys.UnraisableHookArgs) -> None:
        words = args.err_msg or "ignored"
        log.error("%s: %r", words, args.object, exc_info=args.exc_value)

    threading.excepthook = thread
    sys.unraisablehook = unraisable


def set_level(level: str) -> None:
    """Set the level of our own loggers. Others stay at WARNING, or at what `_QUIETER` says."""
    _OURS.setLevel(level.upper())


class _Handler(logging.StreamHandler[TextIO]):
    """Our log handler. A second `setup` finds it by its class and replaces it."""


class _Formatter(logging.Formatter):
    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__()
        self._secrets = SecretValues(secrets)

    def safe(self, text: str) -> str:
        return self._secrets.redacted(text, LONGEST_MESSAGE)

    def trace(self, record: logging.LogRecord) -> str:
        if not record.exc_info:
            return ""
        return self._secrets.redacted(self.formatException(record.exc_info), LONGEST_TRACE)


class _TextFormatter(_Formatter):
    """Formats lines for people. Continuation lines are indented."""

    def __init__(self, secrets: Sequence[str], palette: TerminalPalette) -> None:
        super().__init__(secrets)
        self._palette = palette

    def format(self, record: logging.LogRecord) -> str:
        paint = self._palette.paint
        at = datetime.fromtimestamp(record.created).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        parts = [
            paint(at, "dim"),
            paint(f"{record.levelname:<7}", _STYLES.get(record.levelname, "bold")),
            paint(record.name.removeprefix("oshaberi."), "dim"),
            *([paint(f"[{ids}]", "code")] if (ids := _ids()) else []),
            harmless(self.safe(_message(record))),
        ]
        lines = [" ".join(parts), harmless(self.trace(record))]
        return "\n".join(filter(None, lines)).replace("\n", "\n    ")


class _JsonFormatter(_Formatter):
    """Formats lines for programs: one JSON object each, with the record's extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "at": at.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "stream": stream_id.get() or None,
            **turn_fields(),
            "message": self.safe(record.getMessage()),
            **{key: self._field(value) for key, value in _extras(record).items()},
            "error": self.trace(record) or None,
        }
        present = {key: value for key, value in line.items() if value is not None}
        return json.dumps(present, ensure_ascii=False)

    def _field(self, value: object) -> Any:
        """Return a number as a number, and anything else as text without secrets."""
        is_number = isinstance(value, int | float) and math.isfinite(value)
        return value if value is None or is_number else self.safe(str(value))


def _ids() -> str:
    """Return the ids of stream and turn: `ab12 server 1 channel 2 user 3`."""
    fields = dict(turn_fields())
    turn = fields.pop("turn", "")
    return " ".join(
        [*filter(None, [stream_id.get() or turn]), *(f"{key} {fields[key]}" for key in fields)]
    )


def _extras(record: logging.LogRecord) -> Mapping[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _USUAL}


def _message(record: logging.LogRecord) -> str:
    extras = [f"{key}={value}" for key, value in _extras(record).items() if value is not None]
    return " ".join([record.getMessage(), *extras])
