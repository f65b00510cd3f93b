"""Character cards dropped on the page: shows what is in one, then stores it as a persona."""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import Any

from discord_stage.control.api import ControlExtension
from discord_stage.errors import StageError
from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.characters.card_files import read_card
from oshaberi.bot.characters.cards import Card, CardError
from oshaberi.bot.characters.persona_cards import preview
from oshaberi.bot.commands.command_context import CommandRefusedError, CommandUser
from oshaberi.bot.commands.personas.card_commands import import_card
from oshaberi.bot.commands.personas.persona_changes import make_default
from oshaberi.bot.conversation.messages import ChannelPath, Person
from oshaberi.bot.faces.pictures import PictureRefusedError, made_picture
from oshaberi.bot.wiring.bot_wiring import Bot
from oshaberi.languages import said

Json = dict[str, Any]


class CardDrop:
    """Shows and stores cards for the page's user: on the stage everybody may do everything."""

    def __init__(self, server_id: int, channel_id: int) -> None:
        self._server_id = server_id
        self._channel_id = channel_id
        self._context: BotContext | None = None

    def give_to(self, bot: Bot) -> None:
        self._context = bot.client.context

    def extension(self) -> ControlExtension:
        return ControlExtension(act=self._act)

    async def _act(self, asked: Json) -> Json:
        """Return the preview of a card, or store it (`keep`) for a `channel` and say so."""
        if self._context is None:
            raise StageError("the bot is not running yet")
        try:
            card = await _card_in(asked)
            if not asked.get("keep"):
                return await _shown(card)
            channel_id = int(asked.get("channel") or 0)
            return {"text": await self._keep(self._context, card, channel_id)}
        except (CardError, CommandRefusedError) as error:
            raise StageError(said(error.args[0])) from None

    async def _keep(self, context: BotContext, card: Card, channel_id: int) -> str:
        path = ChannelPath(self._server_id, channel_id or self._channel_id)
        asker = CommandUser(Person(0, "", can_manage_server=True), path, is_owner=True)
        told = await import_card(context, asker, card, card.name)
        if channel_id:
            await make_default(context, asker, card.name, path)
        return told.replace("*", "")


async def _card_in(asked: Json) -> Card:
    file = asked.get("file")
    if not isinstance(file, dict):
        raise StageError("`file` must be a file")
    try:
        content = base64.b64decode(str(file.get("content", "")), validate=True)
    except (binascii.Error, ValueError):
        raise StageError("`content` must be base64") from None
    return await asyncio.to_thread(read_card, content, str(file.get("name", "")))


async def _shown(card: Card) -> Json:
    found: Json = {"name": card.name, "preview": await asyncio.to_thread(preview, card)}
    if card.face is not None and card.face.content is not None:
        try:
            picture = await made_picture(card.face.content)
        except PictureRefusedError:
            return found
        encoded = base64.b64encode(picture.content).decode()
        found["picture"] = {"type": picture.content_type, "content": encoded}
    return found
