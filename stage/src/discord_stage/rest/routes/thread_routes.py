"""Threads: start one from a message, alone or as a forum post; list their members."""

from __future__ import annotations

from discord_stage.payloads import record_payloads
from discord_stage.refusals import FormErrors, bad_form, refusal
from discord_stage.rest.routing import RouteCall, RouteTable, require
from discord_stage.rules import field_types
from discord_stage.rules.messages import read_draft
from discord_stage.state import StageState
from discord_stage.world.ids import now_iso
from discord_stage.world.permissions import Permission
from discord_stage.world.records import (
    NAME_MOST,
    THREADS,
    Channel,
    ChannelType,
    Json,
    MessageFlag,
    MessageType,
    StageMessage,
    ThreadState,
)
from discord_stage.world_changes import message_posting

routes = RouteTable()
MEMBERS = "/channels/{channel_id}/thread-members"
ACTIVE_THREADS_MOST = 1000
"""Of one guild."""


def new_thread(
    state: StageState,
    parent: Channel,
    name: str,
    owner_id: int,
    *,
    kind: ChannelType = ChannelType.PUBLIC_THREAD,
    thread_id: int | None = None,
    body: Json | None = None,
) -> Channel:
    errors = FormErrors()
    errors.bad_length(("name",), name, 1, NAME_MOST)
    errors.raise_if_any()
    _refuse_too_many(state, parent)
    now = now_iso()
    thread_state = ThreadState(owner_id, now, now, members={owner_id: now})
    said = body or {}
    thread_state.archive_minutes = field_types.whole(said, "auto_archive_duration", 1440)
    thread_state.tags = field_types.ids(said, "applied_tags")
    number = thread_id or state.world.snowflakes.new()
    thread = Channel(number, kind, name, parent.guild_id, parent_id=parent.id, thread=thread_state)
    thread.slowmode_s = field_types.whole(said, "rate_limit_per_user")
    state.world.channels[thread.id] = thread
    data = record_payloads.thread(state.world, thread) | {"newly_created": True}
    state.emit("THREAD_CREATE", data, guild_id=thread.guild_id, channel_id=thread.id)
    return thread


def _refuse_too_many(state: StageState, parent: Channel) -> None:
    threads = [
        one.thread for one in state.world.channels.values() if one.guild_id == parent.guild_id
    ]
    if sum(one is not None and not one.archived for one in threads) >= ACTIVE_THREADS_MOST:
        raise refusal(160006)


@routes.on("POST", "/channels/{channel_id}/messages/{message_id}/threads")
async def from_message(call: RouteCall) -> object:
    world = call.state.world
    parent = call.channel(Permission.CREATE_PUBLIC_THREADS)
    message = world.find_message(parent.id, call.id("message_id"))
    if message.id in world.channels:
        raise refusal(160004)
    if parent.type not in (ChannelType.TEXT, ChannelType.NEWS):
        raise refusal(50024)
    kind = ChannelType.PUBLIC_THREAD
    kind = ChannelType.NEWS_THREAD if parent.type is ChannelType.NEWS else kind
    name = str(call.body.get("name") or "")
    thread = new_thread(
        call.state, parent, name, world.bot.id, kind=kind, thread_id=message.id, body=call.body
    )
    note_begun_on(call.state, thread, message, world.bot.id)
    return record_payloads.thread(world, thread)


def note_begun_on(state: StageState, thread: Channel, message: StageMessage, user_id: int) -> None:
    """Mark the message that a thread was started from, and refer to it in the thread."""
    message.flags |= MessageFlag.HAS_THREAD
    message_posting.announce(state, "MESSAGE_UPDATE", message)
    _point(state, thread, MessageType.THREAD_STARTER, user_id, message.channel_id, message.id)


def note_begun_alone(state: StageState, thread: Channel, user_id: int) -> None:
    """Announce in the parent channel that a thread was started without a message."""
    parent = state.world.channels[thread.parent_id or 0]
    _point(state, parent, MessageType.THREAD_CREATED, user_id, thread.id, None, thread.name)


def _point(
    state: StageState,
    place: Channel,
    kind: MessageType,
    user_id: int,
    channel_id: int,
    message_id: int | None,
    text: str = "",
) -> None:
    draft = read_draft({"content": text}, [])
    author = message_posting.PostAuthor(user_id)
    reference: Json = {"type": 0, "channel_id": str(channel_id), "guild_id": str(place.guild_id)}
    if message_id is not None:
        reference["message_id"] = str(message_id)
    message_posting.post(state, place, author, draft, kind=kind, points_to=reference)


@routes.on("POST", "/channels/{channel_id}/threads")
async def begin(call: RouteCall) -> object:
    parent = call.state.world.find_channel(call.id("channel_id"))
    if parent.type is ChannelType.FORUM:
        if "message" not in call.body:
            raise bad_form(("message",), "BASE_TYPE_REQUIRED", "This field is required")
        return _forum_post(call, parent)
    kind = _kind(call.body)
    private = kind is ChannelType.PRIVATE_THREAD
    if parent.type not in (ChannelType.TEXT, ChannelType.NEWS):
        raise refusal(50024)
    make_private = Permission.CREATE_PRIVATE_THREADS
    require(call.state, parent, make_private if private else Permission.CREATE_PUBLIC_THREADS)
    name = str(call.body.get("name") or "")
    bot_id = call.state.world.bot.id
    thread = new_thread(call.state, parent, name, bot_id, kind=kind, body=call.body)
    if not private:
        note_begun_alone(call.state, thread, bot_id)
    return record_payloads.thread(call.state.world, thread)


def _kind(body: Json) -> ChannelType:
    number = field_types.whole(body, "type", ChannelType.PRIVATE_THREAD)
    if number not in THREADS:
        raise bad_form(("type",), "BASE_TYPE_CHOICES", "Value must be one of (10, 11, 12).")
    return ChannelType(number)


def _forum_post(call: RouteCall, parent: Channel) -> Json:
    """Create a forum post. It has the same id as its first message."""
    world = call.state.world
    require(call.state, parent, Permission.SEND_MESSAGES)
    body = field_types.mapping(call.body, "message")
    draft = read_draft(body, call.uploads, place=("message",))
    draft.reference = None
    draft.refuse_empty()
    message_posting.check_filters(world.guild_of(parent), draft.content or "")
    name = str(call.body.get("name") or "")
    thread = new_thread(call.state, parent, name, world.bot.id, body=call.body)
    message = message_posting.post(
        call.state, thread, message_posting.PostAuthor(world.bot.id), draft, message_id=thread.id
    )
    return record_payloads.thread(world, thread) | {
        "message": message_posting.shown(call.state, message)
    }


@routes.on("PUT", MEMBERS + "/@me")
async def join(call: RouteCall) -> object:
    _join(call, call.state.world.bot.id)
    return None


@routes.on("PUT", MEMBERS + "/{user_id}")
async def add_member(call: RouteCall) -> object:
    _join(call, call.state.world.find_user(call.id("user_id")).id)
    return None


def _thread(call: RouteCall) -> tuple[Channel, ThreadState]:
    channel = call.channel()
    if channel.thread is None:
        raise refusal(50024)
    return channel, channel.thread


def _join(call: RouteCall, user_id: int) -> None:
    channel, thread_state = _thread(call)
    if thread_state.archived:
        raise refusal(50083)
    thread_state.members.setdefault(user_id, now_iso())
    if user_id == call.state.world.bot.id:
        data = record_payloads.thread_member(channel, user_id) | {"guild_id": str(channel.guild_id)}
        call.state.emit(
            "THREAD_MEMBER_UPDATE", data, guild_id=channel.guild_id, channel_id=channel.id
        )


@routes.on("DELETE", MEMBERS + "/@me")
async def leave(call: RouteCall) -> object:
    _, thread_state = _thread(call)
    thread_state.members.pop(call.state.world.bot.id, None)
    return None


@routes.on("DELETE", MEMBERS + "/{user_id}")
async def remove_member(call: RouteCall) -> object:
    _, thread_state = _thread(call)
    call.channel(Permission.MANAGE_THREADS)
    thread_state.members.pop(call.id("user_id"), None)
    return None


@routes.on("GET", MEMBERS)
async def members(call: RouteCall) -> object:
    channel, thread_state = _thread(call)
    return [record_payloads.thread_member(channel, user_id) for user_id in thread_state.members]


@routes.on("GET", MEMBERS + "/{user_id}")
async def one_member(call: RouteCall) -> object:
    channel, thread_state = _thread(call)
    user_id = call.id("user_id")
    if user_id not in thread_state.members:
        raise refusal(10007)
    return record_payloads.thread_member(channel, user_id)


@routes.on("GET", "/channels/{channel_id}/threads/archived/public")
async def archived_public(call: RouteCall) -> object:
    return _archived(call, private=False)


@routes.on("GET", "/channels/{channel_id}/threads/archived/private")
@routes.on("GET", "/channels/{channel_id}/users/@me/threads/archived/private")
async def archived_private(call: RouteCall) -> object:
    return _archived(call, private=True)


def _archived(call: RouteCall, *, private: bool) -> Json:
    world = call.state.world
    parent = call.channel(Permission.READ_MESSAGE_HISTORY)
    threads = [t for t in world.threads_of(parent.id) if t.thread and t.thread.archived]
    wanted = [t for t in threads if (t.type is ChannelType.PRIVATE_THREAD) is private]
    wanted.sort(key=lambda thread: thread.thread.changed_at if thread.thread else "", reverse=True)
    mine = [t for t in wanted if t.thread and world.bot.id in t.thread.members]
    return {
        "threads": [record_payloads.thread(world, thread) for thread in wanted],
        "members": [record_payloads.thread_member(thread, world.bot.id) for thread in mine],
        "has_more": False,
    }
