"""For all tests of oshaberi. `session_hooks` says how tests are run."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator

import pytest

from tests.session_hooks import stay_loaded


@pytest.fixture(autouse=True)
def logs_stay_as_they_were() -> Iterator[None]:
    """A command that runs inside a test sets up logging, to a stream that the test closes."""
    loggers = [logging.getLogger(name) for name in (None, "oshaberi", "discord")]
    before = [(one, one.level, list(one.handlers)) for one in loggers]
    yield
    for logger, level, handlers in before:
        if logger.level != level:  # to set it makes all loggers forget what they have cached
            logger.setLevel(level)
        for handler in [one for one in logger.handlers if one not in handlers]:
            logger.removeHandler(handler)


@pytest.fixture(scope="module")
def little_to_collect() -> None:
    """For measurements, which collect garbage first."""
    stay_loaded()


@pytest.fixture
def lines_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines behind a message that took a second to send are joined. On a busy machine each may.

    So are lines that would meet an empty bucket: here nothing is known of buckets beforehand.
    """
    monkeypatch.setattr("oshaberi.discord_io.sink.DiscordSink.room", _nothing_known)
    monkeypatch.setattr("oshaberi.delivery.deliverer.BLOCKED_SECONDS", math.inf)


def _nothing_known(_sink: object, _kind: str) -> None:
    pass
