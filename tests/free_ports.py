"""Ports for servers that must be told theirs.

They lie below those that the system gives to connections and to servers on port 0, so nobody else
gets one between the question and its use.
"""

from __future__ import annotations

import os
import socket
from itertools import count

_FIRST, _LAST = 10_000, 32_000
_APART = 37
"""Processes that run at once begin at different places."""
_places = count(os.getpid() * _APART)


def free_port() -> int:
    """A port that nobody listens on, and another one at each call."""
    while True:
        port = _FIRST + next(_places) % (_LAST - _FIRST)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
