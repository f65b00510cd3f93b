"""The first answer to an interaction. The rest goes through `/webhooks` (followup_routes.py)."""

from __future__ import annotations

from discord_stage.interactions import interaction_flow
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.rules import field_types
from discord_stage.rules.messages import MessageDraft, read_draft
from discord_stage.world.records import (
    Interaction,
    InteractionReply,
    Json,
    MessageFlag,
    StageMessage,
)
from discord_stage.world_changes import message_posting

routes = RouteTable()


@routes.on("POST", "/interactions/{interaction_id}/{token}/callback", for_bot=False)
async def answer(call: RouteCall) -> object:
    item = interaction_flow.find(call.state, call.id("interaction_id"), call.path["token"])
    kind = call.body.get("type")
    data = field_types.mapping(call.body, "data")
    saying = kind in (
        InteractionReply.MESSAGE,
        InteractionReply.UPDATE,
    )
    flags = field_types.whole(data, "flags")
    draft = MessageDraft(flags=flags)
    if saying:
        draft = read_draft(data, call.uploads, place=("data",))
    number = kind if isinstance(kind, int) else 0
    message = interaction_flow.answer(call.state, item, number, data, draft)
    if not call.flag("with_response"):
        return None
    return _response(call, item, number, message)


def _response(call: RouteCall, item: Interaction, kind: int, message: StageMessage | None) -> Json:
    about: Json = {"id": str(item.id), "type": int(item.type)}
    resource: Json = {"type": kind}
    if message is not None:
        about |= {
            "response_message_id": str(message.id),
            "response_message_loading": bool(message.flags & MessageFlag.LOADING),
            "response_message_ephemeral": message.ephemeral_to is not None,
        }
        resource["message"] = message_posting.shown(call.state, message)
    return {"interaction": about, "resource": resource}
