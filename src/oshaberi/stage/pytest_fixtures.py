"""The fixtures of `oshaberi.stage.testing`, for pytest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import discord
import pytest

from oshaberi.stage.stage_state import Settings
from oshaberi.stage.testing import Play, default_client, on_stage
from oshaberi.stage.world.world_state import World


@pytest.fixture
def stage_world() -> World | Mapping[str, object] | None:
    """The world of `perform`: override it with your own description."""
    return None


@pytest.fixture
def stage_settings() -> Settings:
    """The settings of `perform`. Rate limits pass quickly unless you override it."""
    return Settings(time_scale=50.0)


@pytest.fixture
def stage_client() -> Callable[[], discord.Client]:
    """What makes the client of `perform`: override it with your bot."""
    return default_client


@pytest.fixture
def perform(
    stage_world: World | Mapping[str, object] | None,
    stage_settings: Settings,
    stage_client: Callable[[], discord.Client],
) -> Callable[[Play[discord.Client]], None]:
    """Runs a play `async def play(stage, client)` on the stage of this test."""

    def run(play: Play[discord.Client]) -> None:
        on_stage(play, client=stage_client, world=stage_world, settings=stage_settings)

    return run
