"""What aiohttp's server logs, without tracebacks for a client that does not speak HTTP."""

from __future__ import annotations

import logging

from aiohttp.http_exceptions import HttpProcessingError


class NoClientMistakes(logging.Filter):
    """A bad request line or header has been answered with a 4xx; that is all there is to say."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not (isinstance(error, HttpProcessingError) and error.code < 500)


SERVER_LOG = logging.getLogger("oshaberi.http")
"""For `web.AppRunner(…, logger=SERVER_LOG)`."""
SERVER_LOG.addFilter(NoClientMistakes())
