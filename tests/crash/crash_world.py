"""A world with two personas, and what the bot's process must know to run in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from discord_stage import Stage
from discord_stage.bot_runner import TOKEN_VARIABLE, URL_VARIABLE
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.records import PersonaRecord, SpriteRecord
from tests.crash.numbered_lines_model import ALTER, PERSONA, SPRITE

CHANNEL = "general"
USER, OTHER, MODERATOR = "mika", "ren", "aya"


def world(*channels: str, servers: int = 1) -> dict[str, object]:
    """Return a world whose channels are dealt out to so many servers."""
    named = channels or (CHANNEL,)
    guilds = [
        {
            "name": "Stage" if number == 0 else f"Stage {number + 1}",
            "owner": "kei",
            "roles": [{"name": "mods", "permissions": ["manage_messages"]}],
            "members": ["kei", USER, OTHER, {"name": MODERATOR, "roles": ["mods"]}],
            "channels": list(named[number::servers]),
        }
        for number in range(servers)
    ]
    return {"bot": {"name": PERSONA}, "guilds": guilds}


def environment(
    folder: Path, stage: Stage, model_url: str, database_url: str, **settings: str
) -> Mapping[str, str]:
    model = {"provider": "openai", "model": "lines", "base_url": model_url, "api_keys": ["none"]}
    told = {
        "discord_token": stage.token,
        "data_dir": str(folder),
        "database_url": database_url,
        "models": json.dumps([model]),
        "humanizer_degree": "1",
        "reply_mode": "first",
        "burst_wait_ms": "0",
        **settings,
    }
    named = {f"OSHABERI_{key.upper()}": value for key, value in told.items()}
    return {URL_VARIABLE: stage.url, TOKEN_VARIABLE: stage.token, **named}


async def settle_in(stage: Stage, database_url: str, folder: Path) -> None:
    """The bot's own persona wears another face for some lines; the alter speaks by webhook only."""
    sprite = SpriteRecord(SPRITE, f"{stage.url}/cdn/{SPRITE}.png")
    vault = SecretVault.from_environment_or_file(folder / "secret.key")
    async with Database.open(database_url, vault) as db:
        for server_id in stage.world.guilds:
            mochi = PersonaRecord(server_id, PERSONA, sprites=(sprite,), is_default=True)
            await db.personas.save(mochi)
            await db.personas.save(PersonaRecord(server_id, ALTER, triggers=(ALTER.lower(),)))
