"""A channel's messages: create, read, edit, delete, pin."""

from __future__ import annotations

from collections.abc import Sequence

from discord_stage.gateway import intents
from discord_stage.refusals import bad_form, refusal
from discord_stage.requests.rate_limits import (
    MESSAGE_CREATE_LIMIT,
    MESSAGE_DELETE_LIMIT,
    MESSAGE_EDIT_LIMIT,
)
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.rules import field_types
from discord_stage.rules.messages import MessageDraft, read_draft
from discord_stage.state import StageState
from discord_stage.world.ids import created_at
from discord_stage.world.permissions import Permission
from discord_stage.world.records import (
    Channel,
    ChannelType,
    Json,
    MessageFlag,
    StageMessage,
)
from discord_stage.world_changes import message_posting

routes = RouteTable()
BULK_LEAST, BULK_MOST = 2, 100
BULK_AGE_S = 14 * 86_400


@routes.on("POST", "/channels/{channel_id}/messages", MESSAGE_CREATE_LIMIT)
async def create(call: RouteCall) -> object:
    channel = call.state.world.find_channel(call.id("channel_id"))
    draft = read_draft(call.body, call.uploads)
    _refuse_stickers(call)
    message_posting.may_post(call.state, channel, call.state.world.bot, draft)
    made = message_posting.made_before(call.state, call.state.world.bot.id, draft)
    message = made or _create(call.state, channel, draft)
    shown = message_posting.shown(call.state, message)
    return shown | {"nonce": draft.nonce} if draft.nonce is not None else shown


def _refuse_stickers(call: RouteCall) -> None:
    """Report stickers as a problem of the stage, which has none, and not as the bot's mistake."""
    if call.body.get("sticker_ids"):
        call.state.request_log.problem(f"{call.record.name}: the stage has no stickers")
        raise refusal(50081)


def _create(state: StageState, channel: Channel, draft: MessageDraft) -> StageMessage:
    bot = state.world.bot
    draft.refuse_empty()
    message_posting.check_filters(state.world.guild_of(channel), draft.content or "")
    message_posting.check_slowmode(state, channel, bot)
    return message_posting.post(state, channel, message_posting.PostAuthor(bot.id), draft)


def as_read(state: StageState, messages: Sequence[StageMessage]) -> list[Json]:
    """Return the messages. Without the message content intent REST hides what the gateway hides."""
    granted = "message_content" in state.world.application.privileged
    bot_id = state.world.bot.id
    shown = []
    for message in messages:
        data = message_posting.shown(state, message)
        guild_id = state.world.channels[message.channel_id].guild_id
        asked = data | {"guild_id": str(guild_id)} if guild_id else data
        legible = granted or intents.legible(asked, bot_id)
        shown.append(data if legible else intents.blanked(data))
    return shown


@routes.on("GET", "/channels/{channel_id}/messages")
async def history(call: RouteCall) -> object:
    channel = call.channel()
    world = call.state.world
    most = call.number("limit", 50, 1, 100)
    granted = world.permissions_of(world.bot.id, channel)
    if not granted & Permission.READ_MESSAGE_HISTORY:
        return []
    messages = world.history(channel.id)
    before, after = call.optional_id("before"), call.optional_id("after")
    around = call.optional_id("around")
    if around is not None:
        picked = _around(messages, around, most)
    elif after is not None:
        picked = [m for m in messages if m.id > after][:most]
    else:
        picked = [m for m in messages if before is None or m.id < before][-most:]
    return as_read(call.state, picked[::-1])


def _around(messages: Sequence[StageMessage], middle: int, most: int) -> list[StageMessage]:
    older = [m for m in messages if m.id < middle]
    rest = [m for m in messages if m.id >= middle]
    half = most // 2
    return older[len(older) - min(half, len(older)) :] + rest[: most - half]


@routes.on("GET", "/channels/{channel_id}/messages/pins")
async def pins(call: RouteCall) -> object:
    channel = call.channel()
    pinned = [m for m in call.state.world.history(channel.id) if m.pinned]
    shown = as_read(call.state, pinned[::-1])
    items = [{"message": data, "pinned_at": data["timestamp"]} for data in shown]
    return {"items": items, "has_more": False}


@routes.on("GET", "/channels/{channel_id}/pins")
async def old_pins(call: RouteCall) -> object:
    """Return the pins at the older endpoint."""
    channel = call.channel()
    pinned = [m for m in call.state.world.history(channel.id) if m.pinned]
    return as_read(call.state, pinned[::-1])


@routes.on("GET", "/channels/{channel_id}/messages/{message_id}")
async def one_message(call: RouteCall) -> object:
    channel = call.channel(Permission.READ_MESSAGE_HISTORY)
    message = call.state.world.find_message(channel.id, call.id("message_id"))
    return as_read(call.state, [message])[0]


@routes.on("PATCH", "/channels/{channel_id}/messages/{message_id}", MESSAGE_EDIT_LIMIT)
async def edit(call: RouteCall) -> object:
    channel = call.channel()
    message = call.state.world.find_message(channel.id, call.id("message_id"))
    if message.author_id != call.state.world.bot.id:
        raise refusal(50005)
    draft = read_draft(call.body, call.uploads, edited=message)
    message_posting.edit(call.state, message, draft)
    return message_posting.shown(call.state, message)


@routes.on("DELETE", "/channels/{channel_id}/messages/{message_id}", MESSAGE_DELETE_LIMIT)
async def delete(call: RouteCall) -> object:
    channel = call.channel()
    message = call.state.world.find_message(channel.id, call.id("message_id"))
    if message.author_id != call.state.world.bot.id:
        call.channel(Permission.MANAGE_MESSAGES)
    message_posting.remove(call.state, message)
    return None


@routes.on("POST", "/channels/{channel_id}/messages/bulk-delete")
async def bulk_delete(call: RouteCall) -> object:
    channel = call.channel(Permission.MANAGE_MESSAGES)
    ids = field_types.ids(call.body, "messages")
    if not BULK_LEAST <= len(ids) <= BULK_MOST:
        message = f"Must be between {BULK_LEAST} and {BULK_MOST} in length."
        raise bad_form(("messages",), "BASE_TYPE_BAD_LENGTH", message)
    now = created_at(call.state.world.snowflakes.new())
    if any((now - created_at(number)).total_seconds() > BULK_AGE_S for number in ids):
        raise refusal(50034)
    there = call.state.world.messages.get(channel.id, {})
    gone = [str(there.pop(number).id) for number in ids if number in there]
    data: Json = {"ids": gone, "channel_id": str(channel.id), "guild_id": str(channel.guild_id)}
    call.state.emit("MESSAGE_DELETE_BULK", data, guild_id=channel.guild_id, channel_id=channel.id)
    return None


@routes.on("PUT", "/channels/{channel_id}/pins/{message_id}")
@routes.on("PUT", "/channels/{channel_id}/messages/pins/{message_id}")
async def pin(call: RouteCall) -> object:
    _set_pinned(call, pinned=True)
    return None


@routes.on("DELETE", "/channels/{channel_id}/pins/{message_id}")
@routes.on("DELETE", "/channels/{channel_id}/messages/pins/{message_id}")
async def unpin(call: RouteCall) -> object:
    _set_pinned(call, pinned=False)
    return None


def _set_pinned(call: RouteCall, *, pinned: bool) -> None:
    channel = call.channel(Permission.MANAGE_MESSAGES)
    message = call.state.world.find_message(channel.id, call.id("message_id"))
    message.pinned = pinned
    message_posting.announce(call.state, "MESSAGE_UPDATE", message)


@routes.on("POST", "/channels/{channel_id}/messages/{message_id}/crosspost")
async def crosspost(call: RouteCall) -> object:
    channel = call.channel(Permission.SEND_MESSAGES)
    message = call.state.world.find_message(channel.id, call.id("message_id"))
    if channel.type is not ChannelType.NEWS:
        raise refusal(50024)
    if message.author_id != call.state.world.bot.id:
        call.channel(Permission.MANAGE_MESSAGES)
    if message.flags & MessageFlag.CROSSPOSTED:
        raise refusal(40033)
    message.flags |= MessageFlag.CROSSPOSTED
    message_posting.announce(call.state, "MESSAGE_UPDATE", message)
    return message_posting.shown(call.state, message)
