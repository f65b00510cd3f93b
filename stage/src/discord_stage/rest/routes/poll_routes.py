"""Polls: who chose an answer, and ending a poll early."""

from __future__ import annotations

from discord_stage.payloads import record_payloads
from discord_stage.refusals import refusal
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.world_changes import message_posting
from discord_stage.world_changes.reaction_changes import poll_of

routes = RouteTable()
BASE = "/channels/{channel_id}/polls/{message_id}"


@routes.on("GET", BASE + "/answers/{answer_id}")
async def voters(call: RouteCall) -> object:
    channel = call.channel()
    message = call.state.world.find_message(channel.id, call.id("message_id"))
    most, after = call.number("limit", 25, 1, 100), call.optional_id("after") or 0
    people = sorted(poll_of(message).votes.get(call.id("answer_id"), []))
    users = call.state.world.users
    chosen = [person for person in people if person > after][:most]
    return {"users": [record_payloads.user(users[person]) for person in chosen]}


@routes.on("POST", BASE + "/expire")
async def end(call: RouteCall) -> object:
    channel = call.channel()
    message = call.state.world.find_message(channel.id, call.id("message_id"))
    if message.author_id != call.state.world.bot.id:
        raise refusal(50005)
    poll_of(message).ended = True
    message_posting.announce(call.state, "MESSAGE_UPDATE", message)
    return message_posting.shown(call.state, message)
