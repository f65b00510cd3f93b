"""Starts stage, demo model and bot, and runs them until a signal ends them."""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from discord_stage import Stage, World
from discord_stage.control.api import ControlExtension
from discord_stage.discord_py_redirect import patch_discord
from discord_stage.page import PageExtension
from discord_stage.world.records import Attachment
from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.config.current_settings import links
from oshaberi.bot.local_run.card_drop import CardDrop
from oshaberi.bot.local_run.demo_model import DemoModel, page_prompts
from oshaberi.bot.local_run.demo_world import (
    ATTENTION_MS,
    OTHER_PERSONAS,
    settings_of,
    settle_in,
    world,
)
from oshaberi.bot.local_run.live_bot import LiveBot
from oshaberi.bot.local_run.model_choice import ModelChoice
from oshaberi.bot.local_run.page_opening import kept_token
from oshaberi.bot.local_run.server_move import ServerMove
from oshaberi.bot.local_run.window_picture import WindowPicture
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.wiring.bot_wiring import Bot, run
from oshaberi.bot.wiring.shutdown_signals import ShutdownSignals
from oshaberi.errors import AddressUnavailableError
from oshaberi.inspector.inspector_api import attach
from oshaberi.inspector.stream_log import StreamLog
from oshaberi.providers.images.fetching import (
    ImageCache,
    ImageFetcher,
    ImageLimits,
    prepared_or_note,
)
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import ImagePart, TextPart
from oshaberi.stream.observers import StreamObserver

# Tells the page in which channels a turn runs, for its Stop button.


class RunningTurns:
    """Publishes `ANSWERING` on the live feed. A new page asks at `/stage/answering`."""

    def __init__(self, publish: Callable[[str, dict[str, Any]], None]) -> None:
        self._publish = publish
        self._channels: set[int] = set()

    def note(self, channel_id: int, active: bool) -> None:
        if active:
            self._channels.add(channel_id)
        else:
            self._channels.discard(channel_id)
        self._publish("ANSWERING", {"channel_id": str(channel_id), "active": active})

    def extension(self) -> ControlExtension:
        return ControlExtension(
            read=lambda _asked: [str(channel) for channel in sorted(self._channels)]
        )


# Gives a model the pictures that were uploaded to the stage.
#
# They are read from the stage itself, so that a model can reach nothing else on loopback.


_PLACE = re.compile(r"/cdn/attachments/\d+/(\d+)/[^/]+")


class StagePictures:
    """Fetches pictures; `fetch` is for an endpoint. Other addresses are fetched as usual."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._elsewhere = ImageFetcher()
        self._cache = ImageCache()

    async def fetch(self, url: str) -> ImagePart | TextPart:
        found = self._uploaded(url)
        if found is None:
            return await self._elsewhere.fetch(url)
        known = self._cache.get(url)
        if known is not None:
            return known
        return await prepared_or_note(url, found.content, ImageLimits(), self._cache)

    def _uploaded(self, url: str) -> Attachment | None:
        if not url.startswith(f"{self._stage.url}/"):
            return None
        place = _PLACE.fullmatch(url.removeprefix(self._stage.url).partition("?")[0])
        return self._stage.world.attachments.get(int(place[1])) if place else None


# Starts stage, demo model and bot, and runs them until a signal ends them.


PAGE = Path(__file__).parent / "page"
"""The scripts with which the stage's page connects a model."""
GUILDS_READY_SECONDS = 0.1
GRACE_SECONDS = 1.0
"""How long running answers may continue at the end: on the stage nobody needs them to finish."""


async def perform(
    settings: LoadedSettings,
    environ: Mapping[str, str],
    *,
    speed: float,
    on_ready: Callable[[str], None],
    observers: Sequence[StreamObserver] = (),
    signals: ShutdownSignals | None = None,
    fresh: bool = False,
) -> None:
    """Run everything. `on_ready` gets the page's address when the bot can answer.

    `signals` are those of the process, if they are caught already. `fresh` forgets what was
    written on the stage before.
    """
    streams, original = StreamLog(), (settings, environ)
    place = world(settings.persona)
    guild_id = next(iter(place.guilds))
    settings, environ = _with_settings_of(place, settings, environ)
    putting_up = open_stage(
        place,
        settings.stage_port,
        kept_token(settings.data_dir),
        keep_in=settings.data_dir / f"stage-{guild_id}.jsonl",
        fresh=fresh,
    )
    async with DemoModel(speed) as demo_model, putting_up as stage:
        choice = ModelChoice(demo_model, links(settings, environ), environ, guild_id)
        live = LiveBot(*original, choice.chosen)
        opened = _extend_page(stage, choice, live, has_own_persona=settings.persona is not None)
        attach(streams, stage)
        await _settle_in(settings, stage)
        warming: list[asyncio.Task[None]] = []

        def ready() -> None:
            on_ready(stage.page_url)
            warming.append(asyncio.create_task(choice.warm()))

        with patch_discord(stage):
            try:
                await run(
                    replace(settings, discord_token=stage.token, discord_api_url=None),
                    environ,
                    observers=(streams, *observers),
                    on_open=opened,
                    on_ready=ready,
                    guild_ready_timeout=GUILDS_READY_SECONDS,
                    grace_s=GRACE_SECONDS,
                    connect=partial(connect, fetch_image=StagePictures(stage).fetch),
                    runs_on="stage",
                    signals=signals,
                )
            finally:
                await live.close()


def _extend_page(
    stage: Stage, choice: ModelChoice, live: LiveBot, *, has_own_persona: bool
) -> Callable[[Bot], None]:
    """Add what the page can do with the bot.

    Return the function that hands the parts an open bot.
    """
    guild_id, channel_id = next(iter(stage.world.guilds)), stage.world.channel("general").id
    answering = RunningTurns(stage.feed.publish)
    cards, window = CardDrop(guild_id, channel_id), WindowPicture(guild_id)
    move = ServerMove(guild_id)
    others = frozenset[str]() if has_own_persona else OTHER_PERSONAS
    stage.extensions |= {
        "answering": answering.extension(),
        **choice.extensions(),
        "live": live.extension(),
        "card": cards.extension(),
        "window": window.extension(),
        "move": move.extension(),
        "prompts": ControlExtension(read=lambda _asked: page_prompts(others)),
    }
    stage.page_extensions["local_run"] = PageExtension(PAGE)

    def opened(bot: Bot) -> None:
        choice.give_to(bot.services)
        for part in (cards, window, move):
            part.give_to(bot)
        bot.channel_turns.watch_busy(answering.note)

    return opened


@asynccontextmanager
async def open_stage(
    place: World,
    port: int,
    control_token: str | None = None,
    *,
    keep_in: Path | None = None,
    fresh: bool = False,
) -> AsyncIterator[Stage]:
    """Open the stage on this port. Raises ConfigError if the port is in use."""
    async with AsyncExitStack() as stack:
        try:
            opening = Stage(
                place, port=port, control_token=control_token, keep_in=keep_in, fresh=fresh
            )
            stage = await stack.enter_async_context(opening)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise AddressUnavailableError(
                f"stage_port: {port} is in use, perhaps by another `oshaberi run`; stop that one, "
                "or give this one a folder and a port of its own: "
                "OSHABERI_DATA_DIR=another-folder oshaberi run --port 0"
            ) from None
        yield stage


def _with_settings_of(
    place: World, settings: LoadedSettings, environ: Mapping[str, str]
) -> tuple[LoadedSettings, Mapping[str, str]]:
    """Set the stage's settings, also as variables, so that a hot reload keeps them."""
    chosen = settings_of(place)
    turn = replace(
        settings.turn,
        auto_channels=(chosen["auto_channels"],),
        thought_log_channel_id=chosen["thought_log_channel_id"],
    )
    variables = {f"OSHABERI_{key.upper()}": str(value) for key, value in chosen.items()}
    # The stage's bot shares no server with a real bot that uses the same folder.
    settings = replace(settings, retention_left_servers_days=0)
    variables["OSHABERI_RETENTION_LEFT_SERVERS_DAYS"] = "0"
    if "attention_ms" not in settings.origins:
        turn = replace(turn, attention_ms=ATTENTION_MS)
        variables["OSHABERI_ATTENTION_MS"] = str(ATTENTION_MS)
    if "allow_local_models" not in settings.origins:
        # All users of the local stage are its operator.
        settings = replace(settings, allow_local_models=True)
        variables["OSHABERI_ALLOW_LOCAL_MODELS"] = "true"
    return replace(settings, turn=turn), {**environ, **variables}


async def _settle_in(settings: LoadedSettings, stage: Stage) -> None:
    vault = SecretVault.from_environment_or_file(settings.secret_key_file)
    async with Database.open(settings.database_url, vault) as db:
        await settle_in(db, stage.url, stage.world, settings.persona)
