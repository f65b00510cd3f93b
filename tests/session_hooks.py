"""How all tests are run, those of the stage too: in workers, and in which order."""

from __future__ import annotations

import gc
import importlib
import signal
import threading
from typing import Any

import pytest
from hypothesis import settings

from tests.work_units import order_of_units, unit_of

# How long an example takes says how busy the machine is; what must be fast has a bench. The same
# examples every time: nobody's change fails by chance. `make fuzz` looks for new ones.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("full", deadline=None, derandomize=True, max_examples=130)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, help="processes that run the tests")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Let pytest-xdist run the tests in so many processes."""
    count = config.getoption("workers")
    is_worker = hasattr(config, "workerinput")
    if count > 1 and config.pluginmanager.hasplugin("xdist") and not is_worker:
        config.option.numprocesses = 0 if config.option.collectonly else count
        config.option.dist = "loadscope"
        config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a whole unit, in our order. (`loadgroup` does nothing with pytest 9.2.)"""
    scheduling: Any = importlib.import_module("xdist.scheduler").LoadScopeScheduling(config, log)
    scheduling._split_scope = unit_of
    return scheduling


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.getoption("workers") > 1 and not config.pluginmanager.hasplugin("xdist"):
        return "one process only: pytest-xdist is not installed (make setup)"
    return None


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
