"""The search of a guild's messages.

It sees what the bot sees, no matter who asked the bot to search. Every word of `content` must occur
in the message. A `Fault(kind="code", code=110000)` imitates an index that is not ready yet.
"""

from __future__ import annotations

from collections.abc import Callable

from discord_stage.payloads import record_payloads
from discord_stage.refusals import refusal
from discord_stage.rest.routing import RouteCall, RouteTable, snowflake
from discord_stage.world.permissions import Permission
from discord_stage.world.records import Channel, Guild, StageMessage
from discord_stage.world_changes import message_posting

routes = RouteTable()
MOST_FOUND, MOST_SKIPPED = 25, 9975
READ = Permission.VIEW_CHANNEL | Permission.READ_MESSAGE_HISTORY
_KNOWN = frozenset(
    {
        "content",
        "slop",
        "limit",
        "offset",
        "min_id",
        "max_id",
        "channel_id",
        "author_id",
        "mentions",
    }
    | {"has", "pinned", "include_nsfw", "sort_by", "sort_order"}
)
_HAS: dict[str, Callable[[StageMessage], object]] = {
    "file": lambda one: one.attachments,
    "image": lambda one: any(file.content_type.startswith("image/") for file in one.attachments),
    "embed": lambda one: one.embeds,
    "link": lambda one: "://" in one.content,
    "poll": lambda one: one.poll,
}


@routes.on("GET", "/guilds/{guild_id}/messages/search")
async def search(call: RouteCall) -> object:
    world = call.state.world
    guild = world.find_guild(call.id("guild_id"))
    if "message_content" not in world.application.privileged:
        raise refusal(50001)
    for name in sorted({*call.query} - _KNOWN):
        call.state.request_log.problem(f"{call.record.name}: the stage does not know {name!r}")
    limit, offset = (
        call.number("limit", 25, 1, MOST_FOUND),
        call.number("offset", 0, 0, MOST_SKIPPED),
    )
    places = [channel for channel in world.channels.values() if _is_searched(call, guild, channel)]
    found = [one for channel in places for one in world.history(channel.id) if _fits(call, one)]
    found.sort(key=lambda one: one.id, reverse=call.query.get("sort_order", "desc") == "desc")
    shown = found[offset : offset + limit]
    threads = [c for c in places if c.thread and any(one.channel_id == c.id for one in shown)]
    mine = [c for c in threads if c.thread and world.bot.id in c.thread.members]
    return {
        "total_results": len(found),
        "doing_deep_historical_index": False,
        "messages": [[message_posting.shown(call.state, one) | {"hit": True}] for one in shown],
        "threads": [record_payloads.thread(world, one) for one in threads],
        "members": [record_payloads.thread_member(one, world.bot.id) for one in mine],
    }


def _is_searched(call: RouteCall, guild: Guild, channel: Channel) -> bool:
    """Return whether the bot may read a channel, and the search includes it."""
    world, wanted = call.state.world, _ids(call, "channel_id")
    if channel.guild_id != guild.id or (wanted and channel.id not in wanted):
        return False
    parent = world.channels.get(channel.parent_id or 0) if channel.thread else channel
    is_nsfw = parent is not None and bool(parent.details.get("nsfw"))
    if is_nsfw and not call.flag("include_nsfw"):
        return False
    return world.permissions_of(world.bot.id, channel) & READ == READ


def _fits(call: RouteCall, one: StageMessage) -> bool:
    authors, mentioned = _ids(call, "author_id"), _ids(call, "mentions")
    least, most = call.optional_id("min_id"), call.optional_id("max_id")
    words = call.query.get("content", "").casefold().split()
    return (
        one.ephemeral_to is None
        and (not authors or one.author_id in authors)
        and (not mentioned or any(f"<@{user}>" in one.content for user in mentioned))
        and (least is None or one.id > least)
        and (most is None or one.id < most)
        and ("pinned" not in call.query or one.pinned is call.flag("pinned"))
        and all(_HAS[what](one) for what in call.values("has") if what in _HAS)
        and all(word in one.content.casefold() for word in words)
    )


def _ids(call: RouteCall, name: str) -> frozenset[int]:
    return frozenset(snowflake(text, name) for text in call.values(name))
