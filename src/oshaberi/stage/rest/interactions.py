"""The first answer to an interaction. The rest goes through `/webhooks` (followups.py)."""

from __future__ import annotations

from oshaberi.stage import fields, interactions, posting
from oshaberi.stage.forms import Draft, read_draft
from oshaberi.stage.model import Json, Message, MessageFlag
from oshaberi.stage.rest.routes import Call, Routes

routes = Routes()


@routes.on("POST", "/interactions/{interaction_id}/{token}/callback", for_bot=False)
async def answer(call: Call) -> object:
    item = interactions.find(call.core, call.id("interaction_id"), call.path["token"])
    kind = call.body.get("type")
    data = fields.mapping(call.body, "data")
    saying = kind in (interactions.Reply.MESSAGE, interactions.Reply.UPDATE)
    flags = fields.whole(data, "flags")
    draft = read_draft(data, call.uploads) if saying else Draft(flags=flags)
    number = kind if isinstance(kind, int) else 0
    message = interactions.answer(call.core, item, number, data, draft)
    if not call.flag("with_response"):
        return None
    return _response(call, item, number, message)


def _response(
    call: Call, item: interactions.Interaction, kind: int, message: Message | None
) -> Json:
    about: Json = {"id": str(item.id), "type": int(item.type)}
    resource: Json = {"type": kind}
    if message is not None:
        about |= {
            "response_message_id": str(message.id),
            "response_message_loading": bool(message.flags & MessageFlag.LOADING),
            "response_message_ephemeral": message.ephemeral_to is not None,
        }
        resource["message"] = posting.shown(call.core, message)
    return {"interaction": about, "resource": resource}
