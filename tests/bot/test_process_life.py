"""In which order the parts of a process begin and end, whatever ends it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from oshaberi.bot.wiring import bot_wiring
from oshaberi.errors import TemporaryError
from tests.e2e.bot_harness import settings_of

UPKEEP = ["reloader", "departures", "orphans", "pruning", "retention", "schedules", "openings"]


class Life:
    """A bot of parts that only note when they begin and end. `serve` is what serving does."""

    def __init__(self, serve: Callable[[Life], None] = lambda _life: None) -> None:
        self.events: list[str] = []
        self._on_serve = serve
        self._closed = asyncio.Event()
        self.turns_end = asyncio.Event()
        self.client = SimpleNamespace(close=self._close)
        self.shard_keeper = SimpleNamespace(leave=self._leave)
        self.channel_turns = SimpleNamespace(shutdown=self._shutdown)
        self.reloader = SimpleNamespace(watch=lambda: self.lasting("reloader"))
        self.shared = SimpleNamespace(departure=lambda: self.lasting("departures"))
        self.orphaned_journals = SimpleNamespace(run=lambda: self.lasting("orphans"))
        self.data_retention = SimpleNamespace(run=lambda: self.lasting("retention"))
        self.due_schedules = SimpleNamespace(run=lambda: self.lasting("schedules"))
        self.openings = SimpleNamespace(run=lambda: self.lasting("openings"))
        self.db = None

    async def lasting(self, name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.events.append(f"{name} ends")

    async def serve(self, token: str) -> None:
        self.events.append(f"serves with {token}")
        try:
            await asyncio.sleep(0)
            self._on_serve(self)
            await self._closed.wait()
        finally:
            self.events.append("serving ends")

    async def _leave(self, patience_s: float = 1.0) -> None:
        self.events.append("hands over" if patience_s else "gives up its shards")

    async def _shutdown(self, grace_s: float) -> None:
        self.events.append(f"answers get {grace_s:g} s")
        await self.turns_end.wait()
        self.events.append("answers are finished")

    async def _close(self) -> None:
        self.events.append("client closes")
        self._closed.set()
        await asyncio.sleep(0)

    @asynccontextmanager
    async def opened(self, *_parts: object) -> AsyncIterator[Life]:
        self.events.append("opens")
        try:
            yield self
        finally:
            self.events.append("closes")


def lived(life: Life, monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[str]:
    class Notifier:
        def __init__(self, _environ: object) -> None: ...

        def stopping(self) -> None:
            life.events.append("says that it stops")

        async def keep_alive(self) -> None:
            await life.lasting("keep-alive")

    monkeypatch.setattr(bot_wiring, "open_bot", life.opened)
    monkeypatch.setattr(bot_wiring, "prune_regularly", lambda _db: life.lasting("pruning"))
    monkeypatch.setattr(bot_wiring, "SystemdNotifier", Notifier)
    settings = settings_of(folder, {}, discord_token="t")
    asyncio.run(
        bot_wiring.run(settings, {}, grace_s=3, on_open=lambda _bot: life.events.append("is open"))
    )
    return life.events


BEGINNING = ["opens", "is open", "serves with t"]
END = [
    *(f"{name} ends" for name in UPKEEP),
    *("gives up its shards", "client closes", "serving ends", "keep-alive ends", "closes"),
]


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_ends_it_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def serve(life: Life) -> None:
        life.turns_end.set()
        interrupt()

    assert lived(Life(serve), monkeypatch, tmp_path) == [
        *BEGINNING,
        *("says that it stops", "hands over", "answers get 3 s", "answers are finished"),
        *END,
    ]


def test_a_second_signal_does_not_wait_for_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def serve(_life: Life) -> None:
        interrupt()
        asyncio.get_running_loop().call_soon(interrupt)

    events = lived(Life(serve), monkeypatch, tmp_path)
    assert "answers are finished" not in events
    assert events[-len(END) :] == END


def test_what_ends_the_serving_is_raised_when_everything_is_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def serve(_life: Life) -> None:
        raise TemporaryError("Discord does not answer")

    life = Life(serve)
    with pytest.raises(TemporaryError, match="Discord does not answer"):
        lived(life, monkeypatch, tmp_path)
    assert life.events == [
        *BEGINNING,
        *("serving ends", "says that it stops"),
        *(one for one in END if one != "serving ends"),
    ]


def test_a_client_that_closes_by_itself_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    events = lived(Life(lambda life: life._closed.set()), monkeypatch, tmp_path)
    assert "hands over" not in events
    assert events[-1] == "closes"
