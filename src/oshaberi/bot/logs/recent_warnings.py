"""Keeps the last warnings and errors of the log in memory, with the ids of their turns."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from oshaberi.outage_log import is_counted
from oshaberi.secret_redaction import SecretValues
from oshaberi.turn_tracing import turn_fields

MOST_KEPT = 100
LONGEST = 1000


@dataclass(frozen=True, slots=True)
class LoggedWarning:
    """One line of the log. `ids` are those of the turn: server, channel, user, turn."""

    at: datetime
    level: str
    part: str
    text: str
    ids: Mapping[str, str]


class RecentWarnings(logging.Handler):
    """The newest lines from WARNING on, of our loggers and all others, without secrets."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        super().__init__(logging.WARNING)
        self.addFilter(lambda record: not is_counted(record))
        self._secrets = SecretValues(secrets)
        self._lines: deque[LoggedWarning] = deque(maxlen=MOST_KEPT)

    def newest_first(self) -> tuple[LoggedWarning, ...]:
        return tuple(reversed(self._lines))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self._secrets.redacted(_words(record), LONGEST)
        except Exception:
            self.handleError(record)
            return
        at = datetime.fromtimestamp(record.created, UTC)
        part = record.name.removeprefix("oshaberi.")
        line = LoggedWarning(at, record.levelname.lower(), part, text, dict(turn_fields()))
        self._lines.append(line)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keep what is logged inside the block."""
        root = logging.getLogger()
        root.addHandler(self)
        try:
            yield
        finally:
            root.removeHandler(self)


def _words(record: logging.LogRecord) -> str:
    """Return the message, with the kind of its exception."""
    error = record.exc_info[1] if record.exc_info else None
    message = record.getMessage()
    return message if error is None else f"{message}: {type(error).__name__}: {error}"
