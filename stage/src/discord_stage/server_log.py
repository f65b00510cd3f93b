"""The log of aiohttp's server, without tracebacks for clients that do not speak HTTP."""

from __future__ import annotations

import logging

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import RequestPayloadError


class _NoClientMistakes(logging.Filter):
    """Drops log lines about a bad request line, header or body, which was answered with a 4xx."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            return error.code >= 500
        return not isinstance(error, RequestPayloadError)


SERVER_LOG = logging.getLogger("discord_stage.http")
"""For `web.AppRunner(…, logger=SERVER_LOG)`."""
SERVER_LOG.addFilter(_NoClientMistakes())
