"""The tools `user_info` and `server_info`: who and where. People have the transcript's names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from oshaberi.bot.tools.decorator import tool
from oshaberi.bot.tools.definition import ToolContext, ToolFailedError
from oshaberi.text.atoms import CUSTOM_EMOJI

if TYPE_CHECKING:
    from oshaberi.bot.conversation.messages import ChannelInfo, Person
    from oshaberi.bot.conversation.transcript import TranscriptNames
    from oshaberi.text.config import TextConfig


def names_for(
    context: ToolContext, channel_info: ChannelInfo, others: Iterable[Person] = ()
) -> TranscriptNames:
    """Return unique names, so that nobody can pose as a persona, the bot or another member."""
    from oshaberi.bot.conversation.transcript import ROLES, TranscriptNames

    reserved = (*_persona_names(context.stream.text), channel_info.bot_name, *ROLES)
    return TranscriptNames((*channel_info.people, *others), filter(str.strip, reserved))


def _persona_names(text: TextConfig) -> list[str]:
    ours = [one for one in text.known if one.kind == "persona"]
    names = [name for one in ours for name in (one.name, *one.aliases)]
    return [*names, *([text.persona.name, *text.persona.aliases] if text.persona else ())]


_MENTION = re.compile(r"<@!?(\d+)>")


@tool
async def user_info(context: ToolContext, user: str | None = None) -> dict[str, object]:
    """Tell the names, the id and the picture of somebody in this conversation.

    Args:
        user: A name, an id or a mention; without it, the person you are answering.
    """
    asking = context.incoming.said.author
    channel_info = await context.turn_channel.channel_info(None, context.turn.history_messages)
    names = names_for(context, channel_info, [asking])
    found = asking if user is None else person_called(user, [asking, *channel_info.people], names)
    return _description(found, names.of(found))


def person_called(wanted: str, people: Iterable[Person], names: TranscriptNames) -> Person:
    """Find a person by id or unique name, else by a name that only one person has."""
    mention = _MENTION.fullmatch(wanted.strip())
    plain = (mention[1] if mention else wanted.strip().removeprefix("@")).casefold()
    known = list({one.id: one for one in people}.values())
    for one in known:
        if plain in (str(one.id), names.of(one).casefold()):
            return one
    called = [one for one in known if plain and plain in _all_names(one)]
    if len(called) == 1:
        return called[0]
    labels = ", ".join(map(names.of, called or known))
    if called:
        raise ToolFailedError(f"several people here are called {wanted[:40]!r}: {labels}")
    raise ToolFailedError(f"nobody here is called {wanted[:40]!r}; there are: {labels}")


def _all_names(person: Person) -> list[str]:
    return [name.casefold() for name in (person.name, *person.handles, person.username)]


def _description(person: Person, name: str) -> dict[str, object]:
    from oshaberi.bot.conversation.transcript import plain_name

    return {
        "id": str(person.id),
        "name": name,
        "other_names": [plain_name(one) for one in person.handles],
        "mention": f"<@{person.id}>",
        "avatar_url": person.avatar_url,
        "is_bot": person.is_bot,
        "manages_server": person.can_manage_server,
    }


@tool
async def server_info(context: ToolContext) -> dict[str, object]:
    """Tell the names of this server and channel, the channel's topic, the people of the
    conversation and the server's own emoji."""
    channel_info = await context.turn_channel.channel_info(None, context.turn.history_messages)
    names = names_for(context, channel_info)
    tags = [CUSTOM_EMOJI.fullmatch(one.strip()) for one in channel_info.emojis]
    return {
        "server": channel_info.server_name or "(a direct message)",
        "server_id": str(context.incoming.server_id),
        "channel": channel_info.channel_name,
        "channel_id": str(context.incoming.channel_id),
        "topic": channel_info.channel_topic,
        "your_name": context.persona_name or channel_info.bot_name,
        "people": [names.of(one) for one in channel_info.people],
        "emoji": [tag[1] for tag in tags if tag],
    }
