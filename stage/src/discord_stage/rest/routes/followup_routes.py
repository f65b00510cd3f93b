"""The requests with an interaction's token after the first answer. Served under `/webhooks`."""

from __future__ import annotations

from discord_stage.interactions import interaction_flow
from discord_stage.rest.routing import RouteCall
from discord_stage.rules.messages import read_draft
from discord_stage.world.records import Json, StageMessage
from discord_stage.world_changes import message_posting


def create(call: RouteCall) -> Json:
    item = interaction_flow.find_by_token(call.state, call.path["token"])
    draft = read_draft(call.body, call.uploads)
    return message_posting.shown(call.state, interaction_flow.follow_up(call.state, item, draft))


def _message(call: RouteCall) -> StageMessage:
    item = interaction_flow.find_by_token(call.state, call.path["token"])
    return interaction_flow.message_of(call.state, item, call.path.get("message_id", "@original"))


def read(call: RouteCall) -> Json:
    return message_posting.shown(call.state, _message(call))


def edit(call: RouteCall) -> Json:
    message = _message(call)
    draft = read_draft(call.body, call.uploads, edited=message)
    message_posting.edit(call.state, message, draft)
    return message_posting.shown(call.state, message)


def delete(call: RouteCall) -> None:
    message_posting.remove(call.state, _message(call))
