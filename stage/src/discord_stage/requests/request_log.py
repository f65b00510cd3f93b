"""Logs every request to the stage and its answer, in order."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from discord_stage.world.records import Json


@dataclass(slots=True)
class RequestRecord:
    """One request. `status` is None while it runs, and 0 if it ended without an answer."""

    number: int
    method: str
    path: str
    """The path without `/api/v10`."""
    body: Json
    at: float
    channel_id: int | None = None
    attempt: int = 1
    """How often this same request has come: with the same nonce, or else the same body."""
    status: int | None = None
    ended_at: float | None = None
    code: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


class RequestLog:
    """The requests, and the problems: unknown routes and errors of the stage."""

    def __init__(self, now: Callable[[], float], notify: Callable[[], None]) -> None:
        self._now = now
        self._notify = notify
        self._attempts: Counter[str] = Counter()
        self.records: list[RequestRecord] = []
        self.problems: list[str] = []
        self.running = 0

    def open(
        self, method: str, path: str, body: Json, files: str, channel_id: int | None
    ) -> RequestRecord:
        """Log a request. Files are noted by name and size, without their content."""
        key = _fingerprint(method, path, body, files)
        self._attempts[key] += 1
        number = len(self.records) + 1
        record = RequestRecord(
            number, method, path, body, self._now(), channel_id, self._attempts[key]
        )
        self.records.append(record)
        self.running += 1
        return record

    def close(self, record: RequestRecord, status: int, code: int = 0) -> None:
        record.status = status
        record.ended_at = self._now()
        record.code = code
        self.running -= 1
        self._notify()

    def problem(self, text: str) -> None:
        self.problems.append(text)
        self._notify()

    def calls(self, pattern: str) -> list[RequestRecord]:
        """Return the requests whose `METHOD /path` matches: `POST /channels/*/messages`."""
        return [record for record in self.records if fnmatchcase(record.name, pattern)]


def _fingerprint(method: str, path: str, body: Json, files: str) -> str:
    nonce = body.get("nonce")
    if nonce is not None:
        return f"{method} {path} {nonce}"
    text = json.dumps(body, sort_keys=True, default=str) + files
    return f"{method} {path} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
