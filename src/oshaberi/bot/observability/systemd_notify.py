"""Tells systemd when the bot is ready, alive and ending (sd_notify). Elsewhere it does nothing.

The protocol is one datagram of `NAME=value` lines to the socket in NOTIFY_SOCKET.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Mapping

log = logging.getLogger(__name__)

ADDRESS = "NOTIFY_SOCKET"
WATCHDOG_US = "WATCHDOG_USEC"
WATCHDOG_PID = "WATCHDOG_PID"


class SystemdNotifier:
    """Notifies systemd. `environ` names the socket and how often systemd wants a keep-alive."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._address = _address(environ.get(ADDRESS, ""))
        self._every_s = _interval_s(environ) if self._address else None

    def ready(self) -> None:
        self._tell("READY=1", "STATUS=connected to Discord")

    def stopping(self) -> None:
        self._tell("STOPPING=1", "STATUS=ending; running answers are finished first")

    async def keep_alive(self) -> None:
        """Send keep-alives until cancelled: they show that the event loop runs."""
        while self._every_s is not None:
            self._tell("WATCHDOG=1")
            await asyncio.sleep(self._every_s)

    def _tell(self, *lines: str) -> None:
        """Send lines to systemd. A failure is only logged."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sending:
                sending.setblocking(False)
                sending.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            log.warning("systemd could not be told %s: %s", lines[0], error.strerror)


def _address(given: str) -> str:
    """Return the socket's path, or its name in the abstract namespace (written with `@`)."""
    if given.startswith("@"):
        return "\0" + given[1:]
    return given if given.startswith("/") else ""


def _interval_s(environ: Mapping[str, str]) -> float | None:
    """Return half of systemd's watchdog time in seconds; None without a watchdog."""
    period, pid = environ.get(WATCHDOG_US, ""), environ.get(WATCHDOG_PID, "")
    if not period.isdecimal() or int(period) == 0 or pid not in ("", str(os.getpid())):
        return None
    return int(period) / 2_000_000
