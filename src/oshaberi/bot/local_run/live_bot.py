"""*Put it on Discord*: the page checks a token, writes the settings and starts the bot there.

The bot on the stage stays. Both are in this process, and each has a connection of its own. What
the page sends is never sent back: neither the token nor a key.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from discord_stage.control.api import ControlExtension
from discord_stage.discord_py_redirect import beside_stage
from discord_stage.errors import RefusedFieldError, StageError
from oshaberi.bot.config import LoadedSettings, load
from oshaberi.bot.config.going_live import (
    STAGE_VARIABLE,
    DiscordAccount,
    LiveModel,
    account_of,
    write_settings,
)
from oshaberi.bot.config.secrets_file import with_secrets
from oshaberi.bot.logs import setup
from oshaberi.bot.wiring.bot_wiring import running_bot
from oshaberi.errors import ConfigError, OshaberiError

log = logging.getLogger(__name__)
INSTANCE = "beside-the-stage"
"""The stage's bot has the usual name of this folder."""
QUIET_SQUARES = 4
"""The white border that a QR code needs."""
MOST_SHOWN = 20
"""The most servers with missing permissions that are listed."""
Json = dict[str, Any]


class LiveBot:
    """The bot on Discord, for the page: `/stage/live`. `model` returns the chosen one, or None."""

    def __init__(
        self,
        settings: LoadedSettings,
        environ: Mapping[str, str],
        model: Callable[[], LiveModel | None],
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._model = model
        self._state: Json = {"state": "off", "name": "", "why": ""}
        self._running: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._ending = asyncio.Event()
        self._alone = asyncio.Lock()

    def extension(self) -> ControlExtension:
        return ControlExtension(read=self.read, act=self.act)

    @property
    def _file(self) -> Path:
        return self._settings.file or Path("oshaberi.toml")

    def read(self, _asked: Json) -> Json:
        model = self._model()
        return {
            **self._state,
            "model": None if model is None else f"{model.provider} {model.model}",
            "file": str(self._file.absolute()),
        }

    async def act(self, said: Json) -> Json:
        """Check a token; with `start`, also write the settings and start the bot.

        One at a time: of two clicks, only one starts a bot.
        """
        async with self._alone:
            return await self._act(said)

    async def _act(self, said: Json) -> Json:
        if self._running is not None and not self._running.done():
            raise StageError("the bot is on Discord already")
        token = str(said.get("token") or "")
        account = await self._account(token)
        if not said.get("start"):
            return {**self.read({}), "account": _shown(account)}
        model = self._model()
        if model is None:
            raise RefusedFieldError("model", "connect a model first: the demo model stays here")
        try:
            write_settings(self._file, token, model, str(said.get("persona") or account.name))
            environ = with_secrets(self._file, self._environ)
            settings = load(self._file, environ)
        except ConfigError as error:
            raise StageError(str(error)) from None
        await self._start(settings, environ, account)
        return self.read({})

    async def _account(self, token: str) -> DiscordAccount:
        try:
            return await account_of(token, self._environ)
        except ConfigError as error:
            raise RefusedFieldError("token", str(error)) from None

    async def _start(
        self, settings: LoadedSettings, environ: Mapping[str, str], account: DiscordAccount
    ) -> None:
        """Start the bot. Returns when it is on Discord, or has failed to get there."""
        setup(settings.log_level, settings.log_format, secrets=settings.secrets(environ))
        # Whatever listens on a port of its own belongs to the bot on the stage.
        settings = replace(settings, instance=INSTANCE, health_port=0, discord_api_url=None)
        self._state = {"state": "starting", "name": account.name, "why": ""}
        self._ready.clear()
        with beside_stage(self._environ.get(STAGE_VARIABLE, "")):
            self._running = asyncio.create_task(self._run(settings, environ))
        self._running.add_done_callback(_log_fault)
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait({ready, self._running}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()

    async def _run(self, settings: LoadedSettings, environ: Mapping[str, str]) -> None:
        why = "something unexpected went wrong; the log says more"
        try:
            async with running_bot(settings, environ, on_ready=self._note_ready) as serving:
                ending = asyncio.create_task(self._ending.wait())
                await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
                ending.cancel()
            why = ""
        except (OshaberiError, OSError) as error:
            log.error("the bot on Discord ended: %s", error)
            why = str(error)
        finally:
            self._state |= {"state": "failed" if why else "off", "why": why}

    def _note_ready(self) -> None:
        self._state |= {"state": "running"}
        self._ready.set()

    async def close(self) -> None:
        """End the bot on Discord, if it runs."""
        self._ending.set()
        if self._running is not None:
            await asyncio.wait({self._running})


def _log_fault(running: asyncio.Task[None]) -> None:
    if not running.cancelled() and (error := running.exception()) is not None:
        log.error("the bot on Discord ended unexpectedly", exc_info=error)


def _shown(account: DiscordAccount) -> Json:
    ailing = [one for one in account.servers if one.needed or one.wanted]
    return {
        "name": account.name,
        "servers": len(account.servers),
        "ailing": [asdict(one) for one in ailing[:MOST_SHOWN]],
        "intents_link": account.intents_link,
        "invitation": account.invitation,
        "code": code_of(account.invitation),
    }


def code_of(address: str) -> Json | None:
    """Return the QR code of an address: its width, and the path of its dark squares in SVG.

    The page draws the picture itself, because it accepts no markup. None if the package that makes
    the code is missing.
    """
    try:
        import segno
    except ModuleNotFoundError:
        return None
    rows = [bytes(row) for row in segno.make(address, error="l").matrix_iter(border=QUIET_SQUARES)]
    dark = ((x, y) for y, row in enumerate(rows) for x, one in enumerate(row) if one)
    return {"width": len(rows), "path": "".join(f"M{x} {y}h1v1h-1z" for x, y in dark)}
