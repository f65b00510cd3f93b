"""Reactions: the bot's own, other people's, and who reacted."""

from __future__ import annotations

from oshaberi.stage import payloads, reacting
from oshaberi.stage.model import Channel, Message
from oshaberi.stage.permissions import Permission
from oshaberi.stage.ratelimits import REACTION
from oshaberi.stage.refusals import refusal
from oshaberi.stage.rest.routes import Call, Routes

routes = Routes()
BASE = "/channels/{channel_id}/messages/{message_id}/reactions"


def _message(call: Call, *needed: Permission) -> tuple[Channel, Message]:
    channel = call.channel(Permission.READ_MESSAGE_HISTORY, *needed)
    return channel, call.core.world.find_message(channel.id, call.id("message_id"))


@routes.on("PUT", BASE + "/{emoji}/@me", REACTION)
async def add_own(call: Call) -> object:
    world = call.core.world
    channel, message = _message(call)
    name, number = reacting.parse(call.path["emoji"])
    there = reacting.find(message, name, number) is not None
    granted = world.permissions_of(world.bot.id, channel)
    if not there and not granted & Permission.ADD_REACTIONS:
        raise refusal(50013)
    reacting.add(call.core, message, world.bot.id, name, number)
    return None


@routes.on("DELETE", BASE + "/{emoji}/@me", REACTION)
async def remove_own(call: Call) -> object:
    _, message = _message(call)
    name, number = reacting.parse(call.path["emoji"])
    reacting.remove(call.core, message, call.core.world.bot.id, name, number)
    return None


@routes.on("DELETE", BASE + "/{emoji}/{user_id}", REACTION)
async def remove_other(call: Call) -> object:
    _, message = _message(call, Permission.MANAGE_MESSAGES)
    name, number = reacting.parse(call.path["emoji"])
    reacting.remove(call.core, message, call.id("user_id"), name, number)
    return None


@routes.on("GET", BASE + "/{emoji}")
async def who(call: Call) -> object:
    _, message = _message(call)
    name, number = reacting.parse(call.path["emoji"])
    reaction = reacting.find(message, name, number)
    people = sorted(reaction.users) if reaction else []
    most, after = call.number("limit", 25, 1, 100), call.optional_id("after") or 0
    users = call.core.world.users
    return [payloads.user(users[person]) for person in people if person > after][:most]


@routes.on("DELETE", BASE)
async def clear(call: Call) -> object:
    _, message = _message(call, Permission.MANAGE_MESSAGES)
    message.reactions.clear()
    reacting.announce(call.core, "MESSAGE_REACTION_REMOVE_ALL", message, {})
    return None


@routes.on("DELETE", BASE + "/{emoji}")
async def clear_one(call: Call) -> object:
    _, message = _message(call, Permission.MANAGE_MESSAGES)
    name, number = reacting.parse(call.path["emoji"])
    reaction = reacting.find(message, name, number)
    if reaction is not None:
        message.reactions.remove(reaction)
        emoji = {"emoji": {"id": str(number) if number else None, "name": name}}
        reacting.announce(call.core, "MESSAGE_REACTION_REMOVE_EMOJI", message, emoji)
    return None
