"""A message as JSON, with components and polls: as REST returns it, and as the gateway sends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from discord_stage.payloads import record_payloads
from discord_stage.payloads.attachment_urls import AttachmentUrls
from discord_stage.rules.components import SELECTS
from discord_stage.world.records import Attachment, Json, Poll, Reaction, StageMessage
from discord_stage.world.world_state import World

# Components as Discord returns them: numbered, and with defaults for what the sender left out.


_CHOICE: Json = {"min_values": 1, "max_values": 1}
_LEFT_OUT: dict[int, Json] = dict.fromkeys(SELECTS, _CHOICE) | {
    11: {"description": None, "spoiler": False},
    13: {"name": "", "size": 0, "spoiler": False},
    14: {"spacing": 1, "divider": True},
    17: {"accent_color": None, "spoiler": False},
}
"""The fields that each type of component has even if the sender left them out."""


def components(items: Sequence[Json]) -> list[Json]:
    """Return the components. Ids that the sender chose stay; the others are numbered in order."""
    taken = {item["id"] for item in _all(items) if item.get("id")}
    numbers = (number for number in count(1) if number not in taken)
    return [_numbered(item, numbers) for item in items]


def _numbered(item: Json, numbers: Iterator[int]) -> Json:
    made: Json = {"id": item.get("id") or next(numbers)}
    given = {key: value for key, value in item.items() if value is not None and key != "id"}
    made |= _LEFT_OUT.get(item.get("type", 0), {}) | given
    if "components" in made:
        made["components"] = [_numbered(inside, numbers) for inside in made["components"]]
    for key in ("component", "accessory"):
        if key in made:
            made[key] = _numbered(made[key], numbers)
    return made


def _all(items: Sequence[Json]) -> Iterator[Json]:
    for item in items:
        yield item
        inside = [item[key] for key in ("component", "accessory") if item.get(key)]
        yield from _all([*(item.get("components") or []), *inside])


# A poll in JSON, with its results so far.


def poll(item: Poll, bot_id: int) -> Json:
    return {
        "question": item.question,
        "answers": [
            {"answer_id": number, "poll_media": media}
            for number, media in enumerate(item.answers, 1)
        ],
        "expiry": item.expires_at,
        "allow_multiselect": item.multiple,
        "layout_type": 1,
        "results": {
            "is_finalized": item.ended,
            "answer_counts": [
                {"id": number, "count": len(voters), "me_voted": bot_id in voters}
                for number, voters in sorted(item.votes.items())
                if voters
            ],
        },
    }


# A message as JSON: as REST returns it, and as the gateway sends it.


def message(world: World, item: StageMessage, urls: AttachmentUrls, *, deep: bool = True) -> Json:
    """Return a message as JSON. `deep` adds the replied-to message."""
    fields: Json = {
        "id": str(item.id),
        "channel_id": str(item.channel_id),
        "author": author(world, item, urls),
        "content": item.content,
        "timestamp": item.created_at,
        "edited_timestamp": item.edited_at,
        "tts": item.tts,
        "mention_everyone": item.mention_everyone,
        "mentions": [record_payloads.user(world.users[user_id]) for user_id in item.mentions],
        "mention_roles": [str(role_id) for role_id in item.mention_roles],
        "attachments": [attachment(item.channel_id, a, urls) for a in item.attachments],
        "embeds": [urls.fresh_embed(embed) for embed in item.embeds],
        "components": components(item.components),
        "reactions": [reaction(world, r) for r in item.reactions],
        "pinned": item.pinned,
        "type": int(item.type),
        "flags": item.flags,
    }
    if item.webhook_id is not None:
        fields["webhook_id"] = str(item.webhook_id)
    if item.application_id is not None:
        fields["application_id"] = str(item.application_id)
    if item.poll is not None:
        fields["poll"] = poll(item.poll, world.bot.id)
    begun = world.channels.get(item.id)
    # The first message of a forum post shares its id too, but is inside the thread.
    if begun is not None and begun.parent_id == item.channel_id:
        fields["thread"] = record_payloads.thread(world, begun)
    return fields | _reference(world, item, urls, deep) | _interaction(world, item)


def gateway_message(world: World, item: StageMessage, urls: AttachmentUrls) -> Json:
    """Return a message as in MESSAGE_CREATE: with guild and members. `announce` adds the nonce."""
    fields = message(world, item, urls)
    channel = world.channels[item.channel_id]
    guild = world.guild_of(channel)
    if guild is None:
        return fields
    fields["guild_id"] = str(guild.id)
    who = guild.members.get(item.author_id)
    if who is not None and not item.webhook_id:
        fields["member"] = record_payloads.member(who, with_user=False)
    for mention in fields["mentions"]:
        mentioned = guild.members.get(int(mention["id"]))
        if mentioned is not None:
            mention["member"] = record_payloads.member(mentioned, with_user=False)
    return fields


def author(world: World, item: StageMessage, urls: AttachmentUrls) -> Json:
    if not item.username:
        return record_payloads.user(world.users[item.author_id])
    return {
        "id": str(item.author_id),
        "username": item.username,
        "global_name": None,
        "discriminator": "0000",
        "avatar": item.avatar and urls.fresh(item.avatar),
        "bot": True,
        "public_flags": 0,
        "flags": 0,
        "primary_guild": None,
    }


def attachment(channel_id: int, item: Attachment, urls: AttachmentUrls) -> Json:
    url = urls.of(channel_id, item)
    fields: Json = {
        "id": str(item.id),
        "filename": item.filename,
        "size": len(item.content),
        "url": url,
        "proxy_url": url,
        "content_type": item.content_type,
    }
    if item.description:
        fields["description"] = item.description
    if item.width is not None:
        fields |= {"width": item.width, "height": item.height}
    return fields


def emoji_of(item: Reaction) -> Json:
    emoji_id = None if item.id is None else str(item.id)
    return {"id": emoji_id, "name": item.name, "animated": item.animated}


def reaction(world: World, item: Reaction) -> Json:
    return {
        "emoji": emoji_of(item),
        "count": len(item.users),
        "count_details": {"normal": len(item.users), "burst": 0},
        "me": world.bot.id in item.users,
        "me_burst": False,
        "burst_colors": [],
    }


def _reference(world: World, item: StageMessage, urls: AttachmentUrls, deep: bool) -> Json:
    if item.reference is None:
        return {}
    fields: Json = {"message_reference": item.reference}
    if item.snapshot is not None:
        return fields | {"message_snapshots": [{"message": _snapshot(item.snapshot, urls)}]}
    if deep and "message_id" in item.reference:
        place, number = int(item.reference["channel_id"]), int(item.reference["message_id"])
        replied = world.messages.get(place, {}).get(number)
        shown = None if replied is None else message(world, replied, urls, deep=False)
        fields["referenced_message"] = shown
    return fields


def _snapshot(kept: Json, urls: AttachmentUrls) -> Json:
    """Return a forwarded message with new signatures in it."""
    files = [
        file | {key: urls.fresh(file[key]) for key in ("url", "proxy_url")}
        for file in kept["attachments"]
    ]
    return kept | {
        "attachments": files,
        "embeds": [urls.fresh_embed(embed) for embed in kept["embeds"]],
    }


def _interaction(world: World, item: StageMessage) -> Json:
    origin = world.interactions.get(item.interaction_id or 0)
    if origin is None:
        return {}
    return {
        "interaction_metadata": {
            "id": str(origin.id),
            "type": int(origin.type),
            "user": record_payloads.user(world.users[origin.user_id]),
            "authorizing_integration_owners": {"0": str(_owner_of(world, item))},
        }
    }


def _owner_of(world: World, item: StageMessage) -> int:
    """Return the guild in which the application is installed, or 0 for a DM with the bot."""
    return world.channels[item.channel_id].guild_id or 0
