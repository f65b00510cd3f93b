"""`pytest --workers N`: collects the tests once, then forks processes that share them.

With pytest-xdist each process imports and collects everything anew, which takes it six seconds of
processor time: a tenth of what all tests take. Where the system cannot fork, one process runs all.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import struct
import traceback
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.work_units import unit_of

NOTICED_S = 0.005
"""A setup or teardown that took less is not told: three reports for each test take their time."""
KEPT_BY_THE_FIRST = ("lfplugin", "nfplugin", "stepwiseplugin")
"""Plugins that write down what failed, for the next run."""
_LENGTH = struct.Struct("=I")


class Worker:
    """A forked process, and the pipe in which it tells what became of its tests."""

    def __init__(self, number: int, process_id: int, reports: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")  # pytest's terminal knows xdist's
        self.process_id = process_id
        self.reports = reports
        self.running: int | None = None
        """The number of the test that it has begun."""
        self._received = bytearray()

    def messages(self) -> Iterator[Any]:
        """What it has told since. None at its end, also at one that it did not tell."""
        received = os.read(self.reports, 1 << 16)
        if not received:
            yield None
        self._received += received
        while len(self._received) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._received)[0]
            if len(self._received) < end:
                return
            message = bytes(self._received[_LENGTH.size : end])
            del self._received[:end]
            yield pickle.loads(message)


def run_in_workers(session: pytest.Session, count: int) -> None:
    """Run the collected tests in this many processes. Their reports are this process's."""
    numbered = groupby(enumerate(session.items), lambda one: unit_of(one[1].nodeid))
    units = [[number for number, _ in unit] for _, unit in numbered]
    temporary = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    todo = _numbers_to_draw(len(units))
    numbers = range(min(count, len(units)))
    workers = [_forked(session, units, todo, temporary, number) for number in numbers]
    os.close(todo)
    try:
        _collect_reports(session, workers)
    finally:
        for worker in workers:
            _end(worker)


def _numbers_to_draw(count: int) -> int:
    """A pipe with all numbers. Whoever reads one has it alone."""
    drawn, filled = os.pipe()
    os.write(filled, b"".join(map(_LENGTH.pack, range(count))))
    os.close(filled)
    return drawn


def _forked(
    session: pytest.Session,
    units: Sequence[Sequence[int]],
    todo: int,
    temporary: Path,
    number: int,
) -> Worker:
    reports, told = os.pipe()
    process_id = os.fork()
    if process_id:
        os.close(told)
        return Worker(number, process_id, reports)
    try:
        os.close(reports)
        _prepare_worker(session.config, temporary / f"gw{number}")
        _work(session, units, todo, told)
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # nobody wants to know more
    except BaseException as error:
        if not _is_interrupted(error):
            traceback.print_exc()
    finally:
        os._exit(0)  # whatever the process that forked would do at its exit, it does itself


def _is_interrupted(error: BaseException | None) -> bool:
    """Return whether it was raised by a teardown, because the tests were interrupted."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _prepare_worker(config: pytest.Config, temporary: Path) -> None:
    """What the process that forked writes, shows or keeps is its own."""
    temporary.mkdir()
    config._tmp_path_factory._basetemp = temporary  # type: ignore[attr-defined]
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    config.get_terminal_writer()._file = Path(os.devnull).open("w")  # noqa: SIM115
    for name in KEPT_BY_THE_FIRST:
        if config.pluginmanager.has_plugin(name):
            config.pluginmanager.unregister(name=name)


class _Reports:
    """A plugin that hears what became of a test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._news: list[Any] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed or report.duration >= NOTICED_S:
            hook = self._config.hook
            told = hook.pytest_report_to_serializable(config=self._config, report=report)
            self._news.append(told)

    def taken(self) -> list[Any]:
        news, self._news = self._news, []
        return news


def _work(session: pytest.Session, units: Sequence[Sequence[int]], todo: int, told: int) -> None:
    hook, reports = session.config.hook, _Reports(session.config)
    session.config.pluginmanager.register(reports)
    try:
        while drawn := os.read(todo, _LENGTH.size):
            unit = units[_LENGTH.unpack(drawn)[0]]
            for number, following in zip(unit, [*unit[1:], None], strict=True):
                _tell(told, number)
                nextitem = None if following is None else session.items[following]
                hook.pytest_runtest_protocol(item=session.items[number], nextitem=nextitem)
                _tell(told, reports.taken())
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # servers end with the tests, also now
        hook.pytest_sessionfinish(session=session, exitstatus=0)
    _tell(told, None)


def _tell(told: int, message: int | list[Any] | None) -> None:
    """The number of a test that begins, its reports, or that this was all."""
    content = pickle.dumps(message)
    left = memoryview(_LENGTH.pack(len(content)) + content)
    while left:
        left = left[os.write(told, left) :]


def _collect_reports(session: pytest.Session, workers: Sequence[Worker]) -> None:
    left = dict.fromkeys(range(len(session.items)))
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.reports, selectors.EVENT_READ, worker)
        while selector.get_map():
            for key, _ in selector.select():
                for message in key.data.messages():
                    if message is None:
                        selector.unregister(key.fd)
                    else:
                        _take(session, key.data, message, left)
    crashed = {one.running for one in workers}
    for number in left:
        _report_missing(session, session.items[number], is_crash=number in crashed)


def _take(
    session: pytest.Session, worker: Worker, message: int | list[Any], left: dict[int, None]
) -> None:
    if isinstance(message, int):
        worker.running = message
        return
    assert worker.running is not None
    item = session.items[worker.running]
    del left[worker.running]
    worker.running = None
    for told in message:
        _report(session, told, worker)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


def _report(session: pytest.Session, told: Any, worker: Worker) -> None:
    hook = session.config.hook
    report = hook.pytest_report_from_serializable(config=session.config, data=told)
    report.node = worker  # so that the terminal shows no file names, which would alternate
    hook.pytest_runtest_logreport(report=report)
    del report.node


def _report_missing(session: pytest.Session, item: pytest.Item, *, is_crash: bool) -> None:
    why = "its process ended" if is_crash else "not run: the process of its file ended before"
    report = pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")
    session.config.hook.pytest_runtest_logreport(report=report)


def _end(worker: Worker) -> None:
    """One that has told everything ends by itself; another is interrupted."""
    os.close(worker.reports)
    os.kill(worker.process_id, signal.SIGINT)
    os.waitpid(worker.process_id, 0)
