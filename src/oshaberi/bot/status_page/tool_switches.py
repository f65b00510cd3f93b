"""The tools of one server, as the status page shows and switches them.

A switch is stored by the function behind `/tools allow` and `/tools deny`: with the same checks,
and other processes learn of it in the same way. What the operator's settings block stays blocked.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import discord

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.command_context import CommandRefusedError
from oshaberi.bot.commands.tool_commands import is_entry, stored_lists, switch_in_server
from oshaberi.bot.config import effective
from oshaberi.bot.config.server_settings import nearest_values
from oshaberi.bot.conversation.transcript import plain_words
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.tools.choice import EVERYTHING, approver_of, broader, is_offered_by
from oshaberi.errors import ConfigError, OshaberiError
from oshaberi.languages import in_language

ENGLISH = "en"
"""The language of the page."""


class PageRefusedError(OshaberiError):
    """The page cannot do this. The message says why, in one line; `status` is for HTTP."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class ToolSwitch:
    """What the page asks for: to offer a tool in a server, or to stop offering it."""

    server_id: int
    tool: str
    """An entry of a list: a name, everything from one place, or everything."""
    offer: bool


class ToolSwitches:
    """Reads and switches the tools of the servers that this process is connected to."""

    def __init__(self, context: BotContext, client: discord.Client) -> None:
        self._context = context
        self._client = client
        self._switching = asyncio.Lock()
        """One switch reads the lists that the one before it has stored."""

    async def read(self, server_id: int) -> dict[str, Any]:
        """Return the tools, whether each is offered, and which entry switches it."""
        guild, settings = self._guild(server_id), self._context.settings()
        try:
            layers = (await self._context.db.servers.settings(server_id)).layers(())
        except StorageError as error:
            raise PageRefusedError(503, str(error)) from error
        turn, blocked = effective(settings, *layers).turn, stored_lists(nearest_values(*layers))
        tools = self._context.services.answer_tools.tools.all_tools()
        rows = []
        for name, one in tools.items():
            is_offered = is_offered_by(turn, name, one)
            everything = EVERYTHING if EVERYTHING in blocked.blocked else None
            wider = everything or broader(blocked.blocked, name, tools)
            rows.append(
                {
                    "name": name,
                    "source": one.source,
                    "permission": one.permission,
                    "asks": approver_of(name, one, turn),
                    "offered": is_offered,
                    "by_you": is_offered_by(settings.turn, name, one),
                    "switch": name if is_offered or wider is None else wider,
                }
            )
        return {"server": str(server_id), "name": plain_words(guild.name), "tools": rows}

    async def switch(self, switch: ToolSwitch) -> str:
        """Store a switch, from the next answer on. Return one sentence about what applies now."""
        self._guild(switch.server_id)
        tools = self._context.services.answer_tools.tools.all_tools()
        if not is_entry(switch.tool, tools):
            raise PageRefusedError(404, "There is no tool of this name.")
        try:
            async with self._switching:
                with in_language(ENGLISH):
                    return await switch_in_server(
                        self._context, switch.server_id, switch.tool, tools, offer=switch.offer
                    )
        except (CommandRefusedError, ConfigError) as error:
            raise PageRefusedError(409, str(error)) from error
        except StorageError as error:
            raise PageRefusedError(503, str(error)) from error

    def _guild(self, server_id: int) -> discord.Guild:
        guild = self._client.get_guild(server_id)
        if guild is None:
            raise PageRefusedError(404, "This process is in no such server.")
        return guild
