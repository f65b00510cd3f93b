"""sd_notify: a real socket, as systemd would open it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from discord_stage.testing import staged
from oshaberi.bot.observability.systemd_notify import SystemdNotifier
from oshaberi.bot.wiring.bot_wiring import run
from oshaberi.virtual_time import run_virtual
from tests.bot.client_harness import world
from tests.e2e.bot_harness import FAST, settings_of


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(address.replace("@", "\0", 1))
        heard.setblocking(False)
        yield heard


def told(heard: socket.socket) -> list[str]:
    """The first line of each datagram so far."""
    found = []
    try:
        while True:
            found.append(heard.recv(4096).decode().splitlines()[0])
    except BlockingIOError:
        return found


def watched(address: str, seconds: int, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": f"{seconds * 1_000_000}", **more}


def test_ready_and_stopping(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with listening(address) as heard:
        notifier = SystemdNotifier({"NOTIFY_SOCKET": address})
        notifier.ready()
        notifier.stopping()
        assert told(heard) == ["READY=1", "STOPPING=1"]


def test_an_abstract_address() -> None:
    address = f"@oshaberi-test-{os.getpid()}"
    with listening(address) as heard:
        SystemdNotifier({"NOTIFY_SOCKET": address}).ready()
        assert told(heard) == ["READY=1"]


async def for_seconds(notifier: SystemdNotifier, seconds: float) -> None:
    living = asyncio.create_task(notifier.keep_alive())
    await asyncio.sleep(seconds)
    living.cancel()


def test_signs_of_life_come_twice_as_often_as_they_must(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with listening(address) as heard:
        environ = watched(address, 30, WATCHDOG_PID=str(os.getpid()))
        run_virtual(for_seconds(SystemdNotifier(environ), 61))
        assert told(heard) == ["WATCHDOG=1"] * 5


@pytest.mark.parametrize(
    "more", [{"WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "soon"}]
)
def test_nobody_waits_for_signs_of_life(tmp_path: Path, more: dict[str, str]) -> None:
    address = str(tmp_path / "notify")
    with listening(address) as heard:
        run_virtual(for_seconds(SystemdNotifier(watched(address, 30) | more), 61))
        assert told(heard) == []


@pytest.mark.parametrize("address", ["", "vsock:2:1234", "relative/path"])
def test_without_systemd_nothing_happens(address: str, caplog: pytest.LogCaptureFixture) -> None:
    notifier = SystemdNotifier({"NOTIFY_SOCKET": address} if address else {})
    notifier.ready()
    run_virtual(for_seconds(notifier, 61))
    assert caplog.records == []


def test_a_systemd_that_is_gone_is_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    SystemdNotifier({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).ready()
    (line,) = caplog.records
    assert (line.levelno, "READY=1" in line.getMessage()) == (logging.WARNING, True)


def test_the_bot_says_when_it_is_ready_alive_and_ending(tmp_path: Path) -> None:
    async def main(heard: socket.socket) -> None:
        async with staged(world(), FAST) as stage:
            settings = settings_of(tmp_path, {}, discord_token=stage.token)
            ready = asyncio.Event()
            environ = watched(str(tmp_path / "notify"), 3600)
            running = asyncio.create_task(
                run(settings, environ, on_ready=ready.set, guild_ready_timeout=0.1)
            )
            await ready.wait()
            assert told(heard) == ["WATCHDOG=1", "READY=1"]
            os.kill(os.getpid(), signal.SIGTERM)
            await running
            assert told(heard) == ["STOPPING=1"]

    with listening(str(tmp_path / "notify")) as heard:
        asyncio.run(main(heard))
