"""The settings that hold in a server, while its database is there and while it is not."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.config.current_settings import CurrentSettings
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.storage import Database, SecretVault, StorageError
from oshaberi.bot.turns.services.model_access import OperatorChoices
from oshaberi.delivery.attachments import DeliveryPlugIns
from oshaberi.delivery.config import LIVE_WITHOUT_GROWTH, StreamConfig
from oshaberi.text.config import TextConfig
from tests.storage.counting import counted

SERVER, NEW = 7, 8
HERE, ELSEWHERE = ChannelPath(SERVER, 70), ChannelPath(NEW, 80)


def current_settings_of(db: Database, settings: LoadedSettings | None = None) -> CurrentSettings:
    own = settings or LoadedSettings()
    return CurrentSettings(own, {}, db, OperatorChoices(), DeliveryPlugIns())


def test_one_read_serves_all_channels_of_a_server_until_one_of_them_changes() -> None:
    thread = ChannelPath(SERVER, 72, 71, 70)

    async def main() -> None:
        async with Database.open("sqlite://", SecretVault([SecretVault.new_key()])) as db:
            live = current_settings_of(db)
            await db.servers.set_config(SERVER, "notify", "last", 70)
            assert (await live.of(thread)).stream.notify == "last"
            with counted() as count:
                assert (await live.of(ChannelPath(SERVER, 99))).stream.notify == "all"
                assert (await live.of(ChannelPath(SERVER, 71, None, 70))).stream.notify == "last"
                shared = await live.of(ChannelPath(SERVER, 98))
                assert await live.of(ChannelPath(SERVER, 99)) is shared
            assert count.statements == []
            await db.servers.set_config(SERVER, "notify", "first", 71)
            assert (await live.of(thread)).stream.notify == "first"
            await db.servers.forget_channels(SERVER, (71,))
            assert (await live.of(thread)).stream.notify == "last"

    asyncio.run(main())


def test_while_the_database_is_away_a_server_keeps_its_settings(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_given: Any) -> Any:
        raise StorageError("the database is away")

    async def main() -> None:
        async with Database.open("sqlite://", SecretVault([SecretVault.new_key()])) as db:
            current_settings = current_settings_of(db)
            await db.servers.set_config(SERVER, "blocked_users", [5])
            assert (await current_settings.of(HERE)).turn.blocked_users == (5,)
            with monkeypatch.context() as patch:
                patch.setattr(db.servers, "settings", away)
                assert (await current_settings.of(HERE)).turn.blocked_users == (5,)
                db.changes.forget_all()
                assert (await current_settings.of(HERE)).turn.blocked_users == (5,)
                with pytest.raises(StorageError):
                    await current_settings.of(ELSEWHERE)
            await db.servers.reset_config(SERVER, None)
            assert (await current_settings.of(HERE)).turn.blocked_users == ()

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    assert [one.getMessage() for one in caplog.records] == [
        f"the settings of {SERVER} stay as they were: the database is away"
    ]


def test_settings_that_do_not_go_together_are_told_at_the_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with Database.open("sqlite://", SecretVault([SecretVault.new_key()])) as db:
            for notify in ("first", "last"):
                stream = StreamConfig(delivery="live", notify=notify)
                settings = LoadedSettings(stream=stream)
                current_settings_of(db, settings)

    with caplog.at_level(logging.WARNING, "oshaberi.bot.config.current_settings"):
        asyncio.run(main())
    assert caplog.messages == [LIVE_WITHOUT_GROWTH]


def reload(*streams: StreamConfig) -> None:
    """Take up settings, one after another, as after a change of the file."""

    async def main() -> None:
        async with Database.open("sqlite://", SecretVault([SecretVault.new_key()])) as db:
            current_settings = current_settings_of(db)
            for stream in streams:
                current_settings._take_up(LoadedSettings(stream=stream))

    asyncio.run(main())


def test_settings_that_do_not_go_together_are_told_when_they_are_reloaded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, last = (StreamConfig(delivery="live", notify=one) for one in ("first", "last"))
    with caplog.at_level(logging.WARNING, "oshaberi.bot.config.current_settings"):
        reload(first, last, last)
    assert caplog.messages == [LIVE_WITHOUT_GROWTH]


def test_a_display_mode_that_is_not_installed_is_told_when_it_is_reloaded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    limits = (TextConfig(hold_limit=400), TextConfig(hold_limit=300))
    with caplog.at_level(logging.ERROR):
        reload(*(StreamConfig(text=one, display_mode="cards") for one in limits))
    assert caplog.messages == [
        "display_mode: 'cards' is not installed; installed: persona. "
        "Messages are shown as with 'persona'"
    ]
