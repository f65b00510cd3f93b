"""Reactions: the bot's own, other people's, and who reacted."""

from __future__ import annotations

from discord_stage.payloads import record_payloads
from discord_stage.refusals import refusal
from discord_stage.requests.rate_limits import REACTION_LIMIT
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Channel, StageMessage
from discord_stage.world_changes import reaction_changes

routes = RouteTable()
BASE = "/channels/{channel_id}/messages/{message_id}/reactions"


def _message(call: RouteCall, *needed: Permission) -> tuple[Channel, StageMessage]:
    channel = call.channel(Permission.READ_MESSAGE_HISTORY, *needed)
    return channel, call.state.world.find_message(channel.id, call.id("message_id"))


@routes.on("PUT", BASE + "/{emoji}/@me", REACTION_LIMIT)
async def add_own(call: RouteCall) -> object:
    world = call.state.world
    channel, message = _message(call)
    name, number = reaction_changes.parse(call.path["emoji"])
    there = reaction_changes.find(message, name, number) is not None
    granted = world.permissions_of(world.bot.id, channel)
    if not there and not granted & Permission.ADD_REACTIONS:
        raise refusal(50013)
    reaction_changes.add(call.state, message, world.bot.id, name, number)
    return None


@routes.on("DELETE", BASE + "/{emoji}/@me", REACTION_LIMIT)
async def remove_own(call: RouteCall) -> object:
    _, message = _message(call)
    name, number = reaction_changes.parse(call.path["emoji"])
    reaction_changes.remove(call.state, message, call.state.world.bot.id, name, number)
    return None


@routes.on("DELETE", BASE + "/{emoji}/{user_id}", REACTION_LIMIT)
async def remove_other(call: RouteCall) -> object:
    _, message = _message(call, Permission.MANAGE_MESSAGES)
    name, number = reaction_changes.parse(call.path["emoji"])
    reaction_changes.remove(call.state, message, call.id("user_id"), name, number)
    return None


@routes.on("GET", BASE + "/{emoji}")
async def who(call: RouteCall) -> object:
    _, message = _message(call)
    name, number = reaction_changes.parse(call.path["emoji"])
    reaction = reaction_changes.find(message, name, number)
    people = sorted(reaction.users) if reaction else []
    most, after = call.number("limit", 25, 1, 100), call.optional_id("after") or 0
    users = call.state.world.users
    return [record_payloads.user(users[person]) for person in people if person > after][:most]


@routes.on("DELETE", BASE)
async def clear(call: RouteCall) -> object:
    _, message = _message(call, Permission.MANAGE_MESSAGES)
    message.reactions.clear()
    reaction_changes.announce(call.state, "MESSAGE_REACTION_REMOVE_ALL", message, {})
    return None


@routes.on("DELETE", BASE + "/{emoji}")
async def clear_one(call: RouteCall) -> object:
    _, message = _message(call, Permission.MANAGE_MESSAGES)
    name, number = reaction_changes.parse(call.path["emoji"])
    reaction = reaction_changes.find(message, name, number)
    if reaction is not None:
        message.reactions.remove(reaction)
        emoji = {"emoji": {"id": str(number) if number else None, "name": name}}
        reaction_changes.announce(call.state, "MESSAGE_REACTION_REMOVE_EMOJI", message, emoji)
    return None
