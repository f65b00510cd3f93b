"""The fixtures of `discord_stage.testing`, for pytest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import discord
import pytest

from discord_stage.client_runner import Play, default_client, on_stage
from discord_stage.state import Settings
from discord_stage.world.world_state import World


@pytest.fixture
def stage_world() -> World | Mapping[str, object] | None:
    """Return the world for `perform`. Override it with your own description."""
    return None


@pytest.fixture
def stage_settings() -> Settings:
    """Return the settings for `perform`. By default the waits of rate limits are short."""
    return Settings(time_scale=50.0)


@pytest.fixture
def stage_client() -> Callable[[], discord.Client]:
    """Return the function that makes the client for `perform`. Override it with your bot."""
    return default_client


@pytest.fixture
def perform(
    stage_world: World | Mapping[str, object] | None,
    stage_settings: Settings,
    stage_client: Callable[[], discord.Client],
) -> Callable[[Play[discord.Client]], None]:
    """Run `async def play(stage, client)` on a stage of this test."""

    def run(play: Play[discord.Client]) -> None:
        on_stage(play, client=stage_client, world=stage_world, settings=stage_settings)

    return run
