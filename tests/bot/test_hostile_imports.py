"""Two hundred hostile cards come through `/persona import`: no crash, nothing fetched, one line."""

from __future__ import annotations

from typing import Any

import pytest

from discord_stage.interactions.targets import PostedFile
from oshaberi.bot.commands.answers import UNEXPECTED
from oshaberi.public_fetching import PublicWeb
from tests.bot.client_harness import ADMIN, ClientHarness
from tests.bot.test_cards import ask
from tests.bot.test_faces import play
from tests.characters.hostile_cards import hostile_cards


@pytest.mark.slow
def test_two_hundred_hostile_cards_are_imported_or_refused(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fetched: list[Any] = []

    async def get(_web: PublicWeb, url: str, *_more: object, **_named: object) -> None:
        fetched.append(url)
        raise OSError("nothing may be fetched")

    monkeypatch.setattr(PublicWeb, "get", get)

    async def scenario(harness: ClientHarness) -> None:
        refused = stored = 0
        for number, content in enumerate(hostile_cards()):
            options = {"file": PostedFile(f"{number}.png", content), "name": f"c{number}"}
            message = await ask(harness, options)
            assert message.content != UNEXPECTED, number
            if not message.components:
                refused += 1
                assert "\n" not in message.content, number
                continue
            before = message.content
            harness.stage.people.press(message, "Bring it in", user=ADMIN)
            await harness.stage.wait_for(lambda said=before: message.content != said)  # type: ignore[misc]  # noqa: B023
            assert message.content != UNEXPECTED, number
            found = await harness.db.personas.get(harness.server_id, f"c{number}")
            assert (found is not None) == ("is here" in message.content), number
            if found is not None:
                stored += 1
                await harness.db.personas.delete(harness.server_id, found.name)
            for book in await harness.db.lorebooks.of(harness.server_id):
                assert found is not None, "nothing half imported"
                await harness.db.lorebooks.delete(harness.server_id, book.name)
        assert refused > 100
        assert stored > 5
        assert harness.client.context.character_work.held_bytes == 0

    play(scenario)
    assert fetched == []
    assert [one.getMessage() for one in caplog.records if one.levelname == "ERROR"] == []
