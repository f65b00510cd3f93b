"""Headers of a model go with each request, and nobody sees them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.testing import staged
from oshaberi.bot.config.redaction import plain
from oshaberi.errors import ConfigError
from tests.bot.client_harness import world
from tests.e2e.bot_harness import FAST, QUICK, BotHarness, links, serving, settings_of
from tests.storage.migrated_database import place_database

SECRET = "gateway-s3cret-of-nobody"


def test_they_are_sent_and_masked(tmp_path: Path) -> None:
    async def main() -> None:
        async with ModelServer(OpenAIWire()) as model, staged(world(), FAST) as stage:
            (link,) = links([model])
            models = [{**link, "headers": {"X-Gateway-Key": SECRET, "X-Title": "Tea bot"}}]
            place_database(tmp_path / "oshaberi.db")
            settings = settings_of(tmp_path, {}, **QUICK, models=models)
            assert SECRET in settings.secrets({})
            assert SECRET not in str(plain(settings.models))
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [model], settings)
                here.ask("hi")
                await here.says("Hello!")
            sent = model.requests[-1].headers
            assert (sent["x-gateway-key"], sent["x-title"]) == (SECRET, "Tea bot")

    asyncio.run(main())


@pytest.mark.parametrize("headers", [{"X Key": "a"}, {"X-Key": "a\r\nX-Other: b"}, {"X-Key": "é"}])
def test_impossible_ones_are_refused(headers: dict[str, str], tmp_path: Path) -> None:
    models = [{"provider": "ollama", "model": "m", "headers": headers}]
    with pytest.raises(ConfigError, match="no header has"):
        settings_of(tmp_path, {}, models=models)
