"""Changes of a channel: delete, change, revoke a webhook, deny a permission, typing."""

from __future__ import annotations

import time

from discord_stage.errors import StageError
from discord_stage.payloads import record_payloads
from discord_stage.state import StageState
from discord_stage.world.permissions import NAMES
from discord_stage.world.records import Channel, Json, Overwrite, Webhook


def delete_webhook(state: StageState, webhook: Webhook) -> None:
    state.world.webhooks.pop(webhook.id, None)
    webhooks_changed(state, webhook)


def webhooks_changed(state: StageState, webhook: Webhook) -> None:
    data: Json = {"guild_id": str(webhook.guild_id), "channel_id": str(webhook.channel_id)}
    state.emit("WEBHOOKS_UPDATE", data, guild_id=webhook.guild_id, channel_id=webhook.channel_id)


def delete_channel(state: StageState, channel: Channel) -> None:
    """Delete a channel with its threads, webhooks and files. Its messages stay, for tests."""
    world = state.world
    for place in (channel, *world.threads_of(channel.id)):
        _drop_files(state, place)
    for thread in world.threads_of(channel.id):
        del world.channels[thread.id]
    for webhook in [w for w in world.webhooks.values() if w.channel_id == channel.id]:
        del world.webhooks[webhook.id]
    name = "THREAD_DELETE" if channel.thread else "CHANNEL_DELETE"
    data = record_payloads.channel(world, channel)
    state.emit(name, data, guild_id=channel.guild_id, channel_id=channel.id)
    del world.channels[channel.id]


def _drop_files(state: StageState, place: Channel) -> None:
    for message in state.world.messages.get(place.id, {}).values():
        for file in message.attachments:
            state.world.attachments.pop(file.id, None)


def deny(state: StageState, channel: Channel, permission: str) -> None:
    """Take a permission from the bot in a channel; for a thread, in its parent."""
    if permission not in NAMES:
        raise StageError(f"no such permission {permission!r}")
    place = state.world.channels[channel.parent_id or 0] if channel.thread else channel
    bot_id = state.world.bot.id
    overwrite = place.overwrites.setdefault(bot_id, Overwrite(bot_id, True))
    overwrite.deny |= NAMES[permission]
    overwrite.allow &= ~NAMES[permission]
    channel_changed(state, place)


def channel_changed(state: StageState, channel: Channel) -> None:
    name = "THREAD_UPDATE" if channel.thread else "CHANNEL_UPDATE"
    data = record_payloads.channel(state.world, channel)
    state.emit(name, data, guild_id=channel.guild_id, channel_id=channel.id)


def start_typing(state: StageState, channel: Channel, user_id: int) -> None:
    data: Json = {
        "channel_id": str(channel.id),
        "user_id": str(user_id),
        "timestamp": int(time.time()),
    }
    guild = state.world.guild_of(channel)
    if guild is not None:
        data["guild_id"] = str(guild.id)
        data["member"] = record_payloads.member(guild.members[user_id])
    state.emit("TYPING_START", data, guild_id=channel.guild_id, channel_id=channel.id)
