"""For all tests."""

from __future__ import annotations

import gc
import importlib
import logging
import math
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import settings

from tests.forked_workers import run_in_workers
from tests.work_units import order_of_units, unit_of

# How long an example takes says how busy the machine is; what must be fast has a bench. The same
# examples every time: nobody's change fails by chance. `make fuzz` looks for new ones.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("full", deadline=None, derandomize=True, max_examples=130)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, help="processes that run the tests")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = session.config.getoption("workers")
    is_plain = session.testsfailed or session.config.option.collectonly
    if count < 2 or is_plain or not hasattr(os, "fork"):
        return None  # as pytest does it
    if any(unit_of(one.nodeid) == "tests/providers" for one in session.items):
        load_once()
    run_in_workers(session, count)
    return True


def load_once() -> None:
    """Load what takes long, and what otherwise most of the workers would load for themselves."""
    for name in ("anthropic", "google.genai", "mcp"):
        with suppress(ImportError):
            importlib.import_module(name)
    stay_loaded()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mix what waits with what computes; what shares a page stays together."""
    places = order_of_units(one.nodeid for one in items)
    items.sort(
        key=lambda one: (
            places[unit_of(one.nodeid)],
            unit_of(one.nodeid),
            one.get_closest_marker("shared_page") is None,
        )
    )


def pytest_configure() -> None:
    """A shell's background job does not hear Ctrl-C, nor would the programs that it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_runtest_teardown() -> None:
    """Stop heartbeats of loops that are closed: of bots that a test killed, not closed.

    Such a thread would raise 41 seconds later, in some other test.
    """
    for thread in threading.enumerate():
        if thread.name.startswith("keep-alive-handler"):
            beating: Any = thread
            if beating.ws.loop.is_closed():
                beating.stop()


def pytest_collection_finish() -> None:
    stay_loaded()


def stay_loaded() -> None:
    """What is there stays to the end: it need not be looked through for garbage again."""
    gc.collect()
    gc.freeze()


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
    monkeypatch.setattr("oshaberi.delivery.queue.BLOCKED_SECONDS", math.inf)


def _nothing_known(_sink: object, _kind: str) -> None:
    pass
