"""For all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A shell's background job does not hear Ctrl-C, nor would the programs that it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
