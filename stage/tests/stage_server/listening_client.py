"""Short ways to say what every test here says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import discord

from discord_stage import Settings, Stage, World
from discord_stage.testing import on_stage

FAST = Settings(time_scale=100.0, interaction_s=60.0)
"""A busy machine may take its time for an answer; test_interactions.py has one that is too late."""
StageScenario = Callable[[Stage, discord.Client], Awaitable[None]]


class ListeningClient(discord.Client):
    """Remembers what it heard, and starts a new session without discord.py's five seconds."""

    def __init__(self, intents: discord.Intents | None = None, **options: Any) -> None:
        options.setdefault("guild_ready_timeout", 0.02)
        super().__init__(intents=intents or discord.Intents.all(), **options)
        self.heard: list[discord.Message] = []
        self.events: list[str] = []

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """No pause."""

    async def on_message(self, message: discord.Message) -> None:
        self.heard.append(message)

    async def on_socket_event_type(self, name: str) -> None:
        self.events.append(name)

    @property
    def texts(self) -> list[str]:
        return [message.content for message in self.heard]

    def place(self, name: str = "general") -> discord.TextChannel:
        found = discord.utils.get(self.get_all_channels(), name=name)
        assert isinstance(found, discord.TextChannel)
        return found


def run_on_stage(
    scenario: Callable[[Stage, ListeningClient], Awaitable[None]],
    world: World | Mapping[str, object] | None = None,
    *,
    settings: Settings = FAST,
    client: Callable[[], ListeningClient] = ListeningClient,
    speed: float = 1.0,
) -> None:
    on_stage(scenario, client=client, world=world, settings=settings, speed=speed)


def world(*channels: object, **guild: object) -> dict[str, object]:
    """A world with one guild; what is not said is small."""
    entry = {"name": "Guild", "members": ["mika", "ren"], "channels": list(channels)} | guild
    entry["channels"] = entry["channels"] or ["general"]
    return {"guilds": [entry]}
