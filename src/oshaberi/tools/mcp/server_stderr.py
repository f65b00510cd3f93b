"""Logs what a server process writes to its standard error, and keeps the last line."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TextIO

from oshaberi.secret_redaction import MARGIN

log = logging.getLogger(__name__)

_LONGEST_LINE = 500
_KEPT = 4 * (_LONGEST_LINE + MARGIN)
"""Bytes of a line without an end: all that is looked at, whatever comes after."""


class ServerStderr(asyncio.Protocol):
    """What an MCP server writes to stderr. `last_line` often says why it did not start."""

    def __init__(self, name: str, redact: Callable[[str, int], str]) -> None:
        self.last_line = ""
        self._name = name
        self._redact = redact
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:_KEPT]
        for line in lines:
            self._line(line)

    def connection_lost(self, _error: Exception | None) -> None:
        self._line(self._rest)

    def _line(self, line: bytes) -> None:
        text = self._redact(line[:_KEPT].decode("utf-8", "replace"), _LONGEST_LINE).strip()
        if text:
            self.last_line = text
            log.debug("MCP server %s: %s", self._name, text)


@asynccontextmanager
async def listening(chatter: ServerStderr) -> AsyncIterator[TextIO]:
    """Yield a file that a child process can write to."""
    reading, writing = os.pipe()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(reading, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: chatter, pipe)
    try:
        with os.fdopen(writing, "w") as out:
            yield out
    finally:
        transport.close()
