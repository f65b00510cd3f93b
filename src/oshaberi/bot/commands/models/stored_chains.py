"""The model chain of a server or channel: reads it, stores it and describes it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.command_answers import plain
from oshaberi.bot.commands.command_context import CommandUser, Where, check_places
from oshaberi.conversation.channel_path import ChannelPath
from oshaberi.discord_io.discord_embeds import shortened
from oshaberi.languages import translated
from oshaberi.providers.model_options import OPTIONS
from oshaberi.storage.stored_records import ModelRecord
from oshaberi.turns.generation.model_chain import WHOLE_SERVER

Chain = tuple[ModelRecord, ...]
OPTION_SHOWN = 60


async def own_chain(context: BotContext, asker: CommandUser, where: Where = None) -> Chain:
    """Return the models set in exactly one place: the server, a channel, or the user's DMs."""
    channel_id = WHOLE_SERVER if where is None else where.channel_id
    return await context.db.models.chain(asker.server_id, asker.person.id, channel_id)


async def chain_of(context: BotContext, asker: CommandUser, where: Where = None) -> Chain:
    """Return the models to try in `where`, in order. None means where the command was used."""
    return (await inherited_chain(context, asker, where or asker.path))[0]


async def inherited_chain(
    context: BotContext, asker: CommandUser, path: ChannelPath
) -> tuple[Chain, int | None]:
    """Return the chain and the id of the place that has it; None if it is the operator's."""
    chains = await context.db.models.chains(asker.server_id, asker.person.id)
    for place_id in (*path.ids, WHOLE_SERVER):
        if place_id in chains:
            return chains[place_id], place_id
    return tuple(link.model for link in context.services.models), None


async def store_chain(
    context: BotContext, asker: CommandUser, chain: Sequence[ModelRecord], where: Where = None
) -> None:
    channel_id = WHOLE_SERVER if where is None else where.channel_id
    if chain:
        check_places(await context.db.models.chains(asker.server_id, asker.person.id), where)
    await context.db.models.set_chain(asker.server_id, chain, asker.person.id, channel_id)


def origin_of_chain(asker: CommandUser, place_id: int | None) -> str:
    if place_id is None:
        return translated("Set by whoever runs the bot")
    if place_id != WHOLE_SERVER:
        return translated("Set for <#{place_id}>", place_id=place_id)
    return (
        translated("Set for this server")
        if asker.server_id
        else translated("Set for your direct messages")
    )


def name_of(model: ModelRecord) -> str:
    return plain(f"{model.provider}/{model.model}")


def listed_chain(chain: Sequence[ModelRecord], for_owner: bool, is_own: bool) -> str:
    """List the chain. Only the bot's owner sees base URLs and prices, which may be private."""
    lines = []
    for number, model in enumerate(chain, 1):
        where = (
            translated(" at <{base_url}>", base_url=model.base_url)
            if model.base_url and for_owner
            else ""
        )
        options = _told_options(model) if for_owner or is_own else ""
        lines.append(f"{number}. {name_of(model)}{where}{options}")
    return "\n".join(lines)


def _told_options(model: ModelRecord) -> str:
    """List the model's options that Oshaberi defines. Others may be private to the operator."""
    told = (f"{name} {told_option(model.params[name])}" for name in OPTIONS if name in model.params)
    listed = ", ".join(told)
    return f" ({listed})" if listed else ""


def told_option(value: object) -> str:
    return plain(shortened(value if isinstance(value, str) else json.dumps(value), OPTION_SHOWN))
