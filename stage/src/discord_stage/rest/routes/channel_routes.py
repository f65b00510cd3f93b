"""Channels: read, change, create, delete, their permissions, and the typing indicator."""

from __future__ import annotations

from discord_stage.payloads import record_payloads
from discord_stage.refusals import FormErrors, bad_form, refusal
from discord_stage.requests.rate_limits import CHANNEL_NAME_LIMIT, TYPING_LIMIT
from discord_stage.rest.routing import RouteCall, RouteTable
from discord_stage.rules import field_types
from discord_stage.world.ids import now_iso
from discord_stage.world.permissions import Permission, in_guild
from discord_stage.world.records import NAME_MOST, Channel, ChannelType, Json, Overwrite
from discord_stage.world_changes import channel_changes

routes = RouteTable()
ARCHIVE_MINUTES = (60, 1440, 4320, 10080)
DETAILS = (
    *("nsfw", "bitrate", "user_limit", "rtc_region", "video_quality_mode"),
    *("default_auto_archive_duration", "default_thread_rate_limit_per_user"),
    *("default_sort_order", "default_forum_layout"),
)
"""Fields that are stored as they were sent."""


@routes.on("GET", "/channels/{channel_id}")
async def one_channel(call: RouteCall) -> object:
    return record_payloads.channel(call.state.world, call.channel())


@routes.on("PATCH", "/channels/{channel_id}")
async def change_channel(call: RouteCall) -> object:
    channel = call.state.world.find_channel(call.id("channel_id"))
    _check_name(call.body)
    if channel.thread is not None:
        call.channel()
        _change_thread(call, channel)
    else:
        call.channel(Permission.MANAGE_CHANNELS)
        _change_guild_channel(call, channel)
    if {"name", "topic"} & call.body.keys():
        call.state.limits.enter_hidden(CHANNEL_NAME_LIMIT, str(channel.id), 0)
    channel.name = str(call.body.get("name") or channel.name)
    channel.slowmode_s = field_types.whole(call.body, "rate_limit_per_user", channel.slowmode_s)
    channel_changes.channel_changed(call.state, channel)
    return record_payloads.channel(call.state.world, channel)


def _change_guild_channel(call: RouteCall, channel: Channel) -> None:
    body = call.body
    channel.topic = body.get("topic", channel.topic)
    channel.position = field_types.whole(body, "position", channel.position)
    if "parent_id" in body:
        channel.parent_id = field_types.whole(body, "parent_id") or None
    if "permission_overwrites" in body:
        channel.overwrites = _overwrites(body)
    channel.details |= _details(body)


def _details(body: Json) -> Json:
    return {key: body[key] for key in DETAILS if body.get(key) is not None}


def _check_name(body: Json) -> None:
    errors = FormErrors()
    if "name" in body:
        errors.bad_length(("name",), str(body["name"] or ""), 1, NAME_MOST)
    errors.raise_if_any()


def _change_thread(call: RouteCall, channel: Channel) -> None:
    """Change a thread. Everybody who may write can unarchive it; other changes need moderators."""
    thread_state, body, world = channel.thread, call.body, call.state.world
    assert thread_state is not None
    granted = world.permissions_of(world.bot.id, channel)
    moderates = bool(granted & Permission.MANAGE_THREADS)
    owns = thread_state.owner_id == world.bot.id and not thread_state.locked
    waking = body.keys() == {"archived"} and body["archived"] is False and not thread_state.locked
    if not (moderates or (owns and "locked" not in body) or waking):
        raise refusal(50013)
    if thread_state.archived and body.get("archived") is not False:
        raise refusal(50083)
    minutes = body.get("auto_archive_duration", thread_state.archive_minutes)
    if not isinstance(minutes, int) or minutes not in ARCHIVE_MINUTES:
        message = f"Value must be one of {ARCHIVE_MINUTES}."
        raise bad_form(("auto_archive_duration",), "BASE_TYPE_CHOICES", message)
    thread_state.archive_minutes = minutes
    thread_state.archived = bool(body.get("archived", thread_state.archived))
    thread_state.locked = bool(body.get("locked", thread_state.locked))
    thread_state.invitable = bool(body.get("invitable", thread_state.invitable))
    thread_state.tags = (
        field_types.ids(body, "applied_tags") if "applied_tags" in body else thread_state.tags
    )
    thread_state.changed_at = now_iso()


@routes.on("DELETE", "/channels/{channel_id}")
async def delete_channel(call: RouteCall) -> object:
    channel = call.state.world.find_channel(call.id("channel_id"))
    needed = Permission.MANAGE_THREADS if channel.thread else Permission.MANAGE_CHANNELS
    call.channel(needed)
    data = record_payloads.channel(call.state.world, channel)
    if channel.type is not ChannelType.DM:
        channel_changes.delete_channel(call.state, channel)
    return data


@routes.on("POST", "/guilds/{guild_id}/channels")
async def create_channel(call: RouteCall) -> object:
    state, world = call.state, call.state.world
    guild = world.find_guild(call.id("guild_id"))
    if not in_guild(guild, world.bot.id) & Permission.MANAGE_CHANNELS:
        raise refusal(50013)
    _check_name({"name": call.body.get("name")})
    kind = call.body.get("type", 0)
    if not isinstance(kind, int) or kind not in (0, 2, 4, 5, 15):
        raise bad_form(("type",), "BASE_TYPE_CHOICES", "Value must be one of (0, 2, 4, 5, 15).")
    channel = Channel(world.snowflakes.new(), ChannelType(kind), str(call.body["name"]), guild.id)
    channel.topic = call.body.get("topic")
    channel.position = len(world.channels)
    channel.parent_id = field_types.whole(call.body, "parent_id") or None
    channel.overwrites = _overwrites(call.body)
    channel.slowmode_s = field_types.whole(call.body, "rate_limit_per_user")
    channel.details = _details(call.body)
    world.channels[channel.id] = channel
    data = record_payloads.channel(world, channel)
    state.emit("CHANNEL_CREATE", data, guild_id=guild.id, channel_id=channel.id)
    return data


@routes.on("PUT", "/channels/{channel_id}/permissions/{target_id}")
async def set_permissions(call: RouteCall) -> object:
    channel = call.channel(Permission.MANAGE_ROLES)
    overwrite = _overwrite(call.id("target_id"), call.body)
    channel.overwrites[overwrite.id] = overwrite
    channel_changes.channel_changed(call.state, channel)
    return None


@routes.on("DELETE", "/channels/{channel_id}/permissions/{target_id}")
async def clear_permissions(call: RouteCall) -> object:
    channel = call.channel(Permission.MANAGE_ROLES)
    channel.overwrites.pop(call.id("target_id"), None)
    channel_changes.channel_changed(call.state, channel)
    return None


def _overwrite(target_id: int, entry: Json) -> Overwrite:
    allow, deny = field_types.whole(entry, "allow"), field_types.whole(entry, "deny")
    return Overwrite(target_id, entry.get("type") == 1, allow, deny)


def _overwrites(body: Json) -> dict[int, Overwrite]:
    entries = field_types.objects(body, "permission_overwrites")
    overwrites = [_overwrite(field_types.whole(entry, "id"), entry) for entry in entries]
    return {overwrite.id: overwrite for overwrite in overwrites}


@routes.on("POST", "/channels/{channel_id}/typing", TYPING_LIMIT)
async def type_in(call: RouteCall) -> object:
    channel = call.state.world.find_channel(call.id("channel_id"))
    threaded = Permission.SEND_MESSAGES_IN_THREADS
    call.channel(threaded if channel.thread else Permission.SEND_MESSAGES)
    channel_changes.start_typing(call.state, channel, call.state.world.bot.id)
    return None
