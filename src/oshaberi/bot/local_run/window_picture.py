"""What the model would read for a question, part by part: the page's picture of its window."""

from __future__ import annotations

from typing import Any

from discord_stage.control.api import ControlExtension
from discord_stage.errors import RefusedFieldError, StageError
from oshaberi.bot.client.discord_client import OshaberiClient
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.commands.command_context import CommandRefusedError, CommandUser
from oshaberi.bot.commands.personas.persona_changes import personas_of
from oshaberi.bot.commands.personas.preview_command import NAMES, TOOLS, previewed
from oshaberi.bot.conversation.messages import Person
from oshaberi.bot.turns.running.preview import TAGS, RequestPreview
from oshaberi.bot.wiring.bot_wiring import Bot
from oshaberi.languages import said

LONGEST_QUESTION = 2000
LONGEST_SHOWN = 20_000
"""How many characters of one part go to the page."""
Json = dict[str, Any]


class WindowPicture:
    """`/stage/window`: the personas to choose from, and what one of them would read."""

    def __init__(self, server_id: int) -> None:
        self._server_id = server_id
        self._client: OshaberiClient | None = None

    def give_to(self, bot: Bot) -> None:
        self._client = bot.client

    def extension(self) -> ControlExtension:
        return ControlExtension(read=self._read, act=self._act)

    @property
    def _running(self) -> OshaberiClient:
        if self._client is None:
            raise StageError("the bot is not running yet")
        return self._client

    async def _read(self, asked: Json) -> list[str]:
        """Return the personas, first the one that answers in this `channel`."""
        context = self._running.context
        names = [one.name for one in await personas_of(context, self._server_id)]
        place = await self._place(asked)
        if place is not None:
            settings = await context.services.settings(place.path)
            answering = settings.turn.answering_persona
            names.sort(key=lambda name: name != answering)
        return names

    async def _place(self, asked: Json) -> DiscordTurnChannel | None:
        number = str(asked.get("channel") or "")
        if not number.isdecimal() or len(number) >= 20:
            return None
        place = await self._running.find_turn_channel(int(number))
        return None if place is None or place.server_id != self._server_id else place

    async def _act(self, asked: Json) -> Json:
        """Return the parts for `persona`, `question` and `channel`. Nothing is asked or stored."""
        question = str(asked.get("question") or "").strip()
        if not 0 < len(question) <= LONGEST_QUESTION:
            raise RefusedFieldError("question", "write a question, of 2000 characters at most")
        place = await self._place(asked)
        if place is None:
            raise StageError("open a channel of the server first")
        asker = CommandUser(Person(0, "You", can_manage_server=True), place.path, is_owner=True)
        name = str(asked.get("persona") or "")[:100]
        try:
            found = await previewed(self._running.context, asker, place, name, question)
        except CommandRefusedError as error:
            raise StageError(said(error.args[0])) from None
        return shown_window(found)


def shown_window(found: RequestPreview) -> Json:
    """Return the parts in the order in which the model reads them, as JSON."""
    parts = []
    for tag in TAGS:
        items = [one for one, _tokens in found.items if one.tag == tag]
        if items:
            text = "\n\n".join(one.text for one in items)
            parts.append(_part(tag, NAMES[tag], found.tokens(tag), text))
    if found.tool_tokens:
        parts.append(_part("tools", TOOLS, found.tool_tokens, found.tool_text()))
    return {
        "model": found.model,
        "window": found.window,
        "total": found.total,
        "parts": parts,
        "left_out": len(found.fitted.left_out),
        "lost_tools": found.fitted.lost_tools,
    }


def _part(tag: str, name: str, tokens: int, text: str) -> Json:
    shown = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
    return {"tag": tag, "name": name, "tokens": tokens, "text": shown}
