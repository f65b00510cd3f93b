"""Lets a person start a thread: on a message, in a channel, or as a post in a forum."""

from __future__ import annotations

from oshaberi.stage.payloads import record_payloads
from oshaberi.stage.rest.routes.thread_routes import new_thread
from oshaberi.stage.rules.message_rules import read_draft
from oshaberi.stage.stage_errors import RefusedFieldError, StageError
from oshaberi.stage.stage_state import StageState
from oshaberi.stage.world.discord_records import (
    Channel,
    ChannelType,
    Json,
    MessageFlag,
    StageMessage,
)
from oshaberi.stage.world.name_limits import NAME_MOST
from oshaberi.stage.world.snowflakes import number_in
from oshaberi.stage.world_changes import message_posting

PARENTS = (ChannelType.TEXT, ChannelType.NEWS, ChannelType.FORUM)


def start_thread_action(state: StageState, user_id: int, said: Json) -> Json:
    """Start a thread from a request with `channel` and `name`.

    `content` is its first message; `message` is the message on which it is started.
    """
    parent = state.world.channels.get(number_in(str(said.get("channel"))) or 0)
    if parent is None or parent.type not in PARENTS:
        raise StageError("`channel` must be the id of a channel that can have threads")
    name, content = str(said.get("name") or ""), str(said.get("content") or "")
    message = None
    if said.get("message") is not None:
        message = state.world.find_message(parent.id, number_in(str(said["message"])) or 0)
    thread = start_thread(state, parent, user_id, name, content, message)
    return record_payloads.thread(state.world, thread)


def start_thread(
    state: StageState,
    parent: Channel,
    user_id: int,
    name: str,
    content: str,
    message: StageMessage | None = None,
) -> Channel:
    """Start a thread. `content` is its first message; on an existing message it is optional."""
    name = " ".join(name.split())
    if not 0 < len(name) <= NAME_MOST:
        raise RefusedFieldError("name", f"a name has 1 to {NAME_MOST} characters")
    if message is not None and message.id in state.world.channels:
        raise RefusedFieldError("name", "this message has a thread already")
    if message is None and not content.strip():
        raise RefusedFieldError("content", "a first message is needed")
    is_news = parent.type is ChannelType.NEWS
    kind = ChannelType.NEWS_THREAD if is_news else ChannelType.PUBLIC_THREAD
    number = None if message is None else message.id
    thread = new_thread(state, parent, name, user_id, kind=kind, thread_id=number)
    if message is not None:
        message.flags |= MessageFlag.HAS_THREAD
        message_posting.announce(state, "MESSAGE_UPDATE", message)
    if content.strip():
        # The first message of a post in a forum has the id of its thread.
        first = thread.id if parent.type is ChannelType.FORUM else None
        author = message_posting.PostAuthor(user_id)
        draft = read_draft({"content": content}, [])
        message_posting.post(state, thread, author, draft, message_id=first)
    return thread
