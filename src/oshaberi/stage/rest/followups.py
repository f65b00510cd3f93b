"""What an interaction's token can do after the first answer. Served under `/webhooks`."""

from __future__ import annotations

from oshaberi.stage import interactions, posting
from oshaberi.stage.forms import read_draft
from oshaberi.stage.model import Json, Message
from oshaberi.stage.rest.routes import Call


def create(call: Call) -> Json:
    item = interactions.find_by_token(call.core, call.path["token"])
    draft = read_draft(call.body, call.uploads)
    return posting.shown(call.core, interactions.follow_up(call.core, item, draft))


def _message(call: Call) -> Message:
    item = interactions.find_by_token(call.core, call.path["token"])
    return interactions.message_of(call.core, item, call.path["message_id"])


def read(call: Call) -> Json:
    return posting.shown(call.core, _message(call))


def edit(call: Call) -> Json:
    message = _message(call)
    draft = read_draft(call.body, call.uploads, existing=message.attachments)
    posting.edit(call.core, message, draft)
    return posting.shown(call.core, message)


def delete(call: Call) -> None:
    posting.remove(call.core, _message(call))
