"""Creates, edits and deletes messages, for the bot, its webhooks and people, past the filters."""

from __future__ import annotations

import mimetypes
import struct
from dataclasses import dataclass
from fnmatch import fnmatchcase

from discord_stage.payloads import record_payloads
from discord_stage.payloads.message_payloads import gateway_message, message
from discord_stage.refusals import bad_form, refusal
from discord_stage.requests.rate_limits import limited
from discord_stage.rules import mention_rules
from discord_stage.rules.messages import FORWARD, SETTABLE, MessageDraft, Upload
from discord_stage.state import StageState
from discord_stage.world.ids import created_at, iso, now_iso
from discord_stage.world.permissions import ALL, Permission, in_guild
from discord_stage.world.records import (
    Attachment,
    Channel,
    ChannelType,
    Guild,
    Json,
    MessageFlag,
    MessageType,
    StageMessage,
    User,
)
from discord_stage.world_changes.reaction_changes import new_poll

# Refuses messages: slow mode, blocked words and links, automatic moderation.


def check_slowmode(state: StageState, channel: Channel, user: User) -> None:
    """Refuse a message that comes too early. Bots are exempt, unless the channel says otherwise."""
    free = Permission.MANAGE_MESSAGES | Permission.MANAGE_CHANNELS | Permission.BYPASS_SLOWMODE
    granted = state.world.permissions_of(user.id, channel)
    exempt = not channel.slowmode_binds_bots if user.bot else bool(granted & free)
    if not channel.slowmode_s or exempt:
        return
    key = (channel.id, user.id)
    wait_s = state.slowmode.get(key, 0.0) - state.now()
    if wait_s > 0:
        raise limited(wait_s, "shared", 20016)
    state.slowmode[key] = state.now() + channel.slowmode_s / state.settings.time_scale


def check_filters(guild: Guild | None, text: str) -> None:
    if guild is None:
        return
    low = text.lower()
    if any(word.lower() in low for word in guild.automod_words):
        raise refusal(200000)
    if any(link.lower() in low for link in guild.harmful_links):
        raise refusal(240000)


def check_automod(guild: Guild | None, channel: Channel, user_id: int, text: str) -> None:
    """Apply the keyword rules that a bot has made. They do not apply to managers of the guild."""
    if guild is None or in_guild(guild, user_id) & Permission.MANAGE_GUILD:
        return
    words = text.lower()
    member = guild.members.get(user_id)
    held = {str(role) for role in member.roles} if member else set()
    for rule in guild.automod_rules.values():
        exempt = str(channel.id) in rule["exempt_channels"] or held & set(rule["exempt_roles"])
        blocks = any(action["type"] == 1 for action in rule["actions"])
        if rule["enabled"] and blocks and not exempt:
            keywords = rule["trigger_metadata"].get("keyword_filter", [])
            if any(fnmatchcase(words, f"*{keyword.lower().strip('*')}*") for keyword in keywords):
                raise refusal(200000)


# Creates, edits and deletes messages, for the bot, its webhooks and people alike.


_NO_TEXT = frozenset({ChannelType.CATEGORY, ChannelType.FORUM})
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class PostAuthor:
    """The author of a message. A webhook's name and avatar may differ each time."""

    id: int
    webhook_id: int | None = None
    username: str = ""
    avatar: str | None = None
    application_id: int | None = None

    @property
    def is_webhook(self) -> bool:
        return bool(self.username)


def may_post(state: StageState, channel: Channel, user: User, draft: MessageDraft) -> None:
    """Check that a user may write here. Refuses as Discord does."""
    if channel.type in _NO_TEXT:
        raise refusal(50008)
    _check_dm(state, channel, user)
    granted = state.world.permissions_of(user.id, channel)
    if not granted & Permission.VIEW_CHANNEL:
        raise refusal(50001)
    writing = Permission.SEND_MESSAGES_IN_THREADS if channel.thread else Permission.SEND_MESSAGES
    needed = [writing]
    needed += [Permission.ATTACH_FILES] if draft.uploads else []
    needed += [Permission.EMBED_LINKS] if draft.embeds else []
    if any(not granted & permission for permission in needed):
        raise refusal(50013)
    _check_reference(state, channel, draft, granted)
    _check_thread(channel, bool(granted & Permission.MANAGE_THREADS))


def _check_dm(state: StageState, channel: Channel, user: User) -> None:
    if channel.recipient_id is None or user.id != state.world.bot.id:
        return
    if not state.world.users[channel.recipient_id].dms_open:
        raise refusal(50007)
    if not state.world.share_guild(channel.recipient_id):
        raise refusal(50278)


def _check_reference(
    state: StageState, channel: Channel, draft: MessageDraft, granted: int
) -> None:
    reference = draft.reference
    if reference is None:
        return
    if not granted & Permission.READ_MESSAGE_HISTORY:
        raise refusal(160002)
    place = int(reference.get("channel_id") or channel.id)
    number = int(reference["message_id"])
    found = state.world.messages.get(place, {}).get(number)
    if draft.forwards:
        _check_forward(state, found, draft)
        return
    if found is not None and place == channel.id:
        draft.reference = _reference(channel, number)
        return
    if reference.get("fail_if_not_exists", True):
        raise bad_form(("message_reference",), "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    draft.reference = None


def _check_forward(state: StageState, found: StageMessage | None, draft: MessageDraft) -> None:
    """Check a forwarded message: from a channel that the bot can see, without its own text."""
    if draft.content or draft.embeds or draft.components or draft.uploads:
        raise refusal(160011)
    if found is None or found.ephemeral_to is not None:
        raise bad_form(("message_reference",), "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    source = state.world.channels[found.channel_id]
    if not state.world.permissions_of(state.world.bot.id, source) & Permission.VIEW_CHANNEL:
        raise refusal(50001)
    draft.reference = _reference(source, found.id) | {"type": FORWARD}


def _reference(channel: Channel, message_id: int) -> Json:
    reference: Json = {"type": 0, "channel_id": str(channel.id), "message_id": str(message_id)}
    return reference | ({"guild_id": str(channel.guild_id)} if channel.guild_id else {})


def _check_thread(channel: Channel, moderates: bool) -> None:
    """Check a thread. Writing unarchives it, unless it is locked."""
    thread_state = channel.thread
    if thread_state is not None and thread_state.locked and thread_state.archived and not moderates:
        raise refusal(50083)


def made_before(state: StageState, author_id: int, draft: MessageDraft) -> StageMessage | None:
    """Return the message that this author's nonce has already created, or None."""
    if draft.nonce is None or not draft.enforce_nonce:
        return None
    made = state.nonces.find(author_id, draft.nonce)
    # If it was deleted, the answer is 10008: it was delivered once (facts: nonce).
    return None if made is None else state.world.find_message(*made)


def post(
    state: StageState,
    channel: Channel,
    speaker: PostAuthor,
    draft: MessageDraft,
    *,
    ephemeral_to: int | None = None,
    interaction_id: int | None = None,
    kind: MessageType = MessageType.DEFAULT,
    loading: bool = False,
    message_id: int | None = None,
    points_to: Json | None = None,
) -> StageMessage:
    """Put a message into a channel and send its event. The caller has checked permissions."""
    check_filters(state.world.guild_of(channel), draft.content or "")
    number = message_id or state.world.snowflakes.new()
    item = StageMessage(
        id=number,
        channel_id=channel.id,
        author_id=speaker.id,
        content=draft.content or "",
        created_at=iso(created_at(number)),
        type=MessageType.REPLY if draft.reference and not draft.forwards else kind,
        flags=draft.flags & SETTABLE | (MessageFlag.LOADING if loading else 0),
        tts=draft.tts,
        components=draft.components or [],
        reference=points_to or draft.reference,
        webhook_id=speaker.webhook_id,
        username=speaker.username,
        avatar=speaker.avatar,
        application_id=speaker.application_id,
        interaction_id=interaction_id,
        ephemeral_to=ephemeral_to,
        nonce=draft.nonce,
        poll=None if draft.poll is None else new_poll(draft.poll),
    )
    if draft.forwards:
        item.snapshot = _snapshot(state, item)
    _put_files(state, item, draft.uploads)
    item.embeds = _with_file_urls(state, item, draft.embeds or [])
    granted = ALL if speaker.is_webhook else state.world.permissions_of(speaker.id, channel)
    mention_rules.apply(state.world, item, draft.allowed, granted)
    state.world.messages.setdefault(channel.id, {})[item.id] = item
    if item.nonce is not None:
        state.nonces.remember(item.author_id, item.nonce, channel.id, item.id)
    if ephemeral_to is not None:
        item.flags |= MessageFlag.EPHEMERAL
        announce(state, "MESSAGE_CREATE", item)
        return item
    item.notified = mention_rules.notified(state.world, item, channel)
    _arrive(state, channel, item)
    return item


def _snapshot(state: StageState, item: StageMessage) -> Json:
    """Return what a forwarded message keeps of its original."""
    reference = item.reference or {}
    original = state.world.find_message(int(reference["channel_id"]), int(reference["message_id"]))
    whole = shown(state, original)
    kept = ("type", "content", "mentions", "mention_roles", "attachments", "embeds", "timestamp")
    return {key: whole[key] for key in (*kept, "edited_timestamp", "flags", "components")}


def _arrive(state: StageState, channel: Channel, item: StageMessage) -> None:
    channel.last_message_id = item.id
    thread_state = channel.thread
    if thread_state is not None:
        thread_state.message_count += item.type is not MessageType.THREAD_STARTER
        thread_state.sent_in_all += 1
        if item.author_id in state.world.users:
            thread_state.members.setdefault(item.author_id, now_iso())
        if thread_state.archived:
            thread_state.archived, thread_state.changed_at = False, now_iso()
            data = record_payloads.thread(state.world, channel)
            state.emit("THREAD_UPDATE", data, guild_id=channel.guild_id, channel_id=channel.id)
    announce(state, "MESSAGE_CREATE", item)


def announce(state: StageState, name: str, item: StageMessage) -> None:
    """Emit the event. MESSAGE_CREATE has the nonce; an update does not."""
    channel = state.world.channels[item.channel_id]
    data = gateway_message(state.world, item, state.attachment_urls)
    if name == "MESSAGE_CREATE" and item.nonce is not None:
        data["nonce"] = item.nonce
    place = {"guild_id": channel.guild_id, "channel_id": channel.id}
    state.emit(name, data, **place, only_for=item.ephemeral_to)


def edit(state: StageState, item: StageMessage, draft: MessageDraft) -> None:
    """Edit a message. Absent fields stay. Mentions are parsed again, and nobody is notified."""
    channel = state.world.channels[item.channel_id]
    if channel.thread is not None and channel.thread.archived:
        raise refusal(50083)
    content = item.content if draft.content is None else draft.content
    embeds = item.embeds if draft.embeds is None else draft.embeds
    kept = [a for a in item.attachments if draft.kept is None or a.id in draft.kept]
    components = item.components if draft.components is None else draft.components
    more = draft.uploads or components or item.poll or item.snapshot
    if not (content or embeds or kept or more):
        raise refusal(50006)
    check_filters(state.world.guild_of(channel), content)
    _drop_files(state, [one for one in item.attachments if one not in kept])
    item.content, item.attachments, item.components = content, kept, components
    item.flags = item.flags & ~MessageFlag.LOADING | draft.flags & SETTABLE
    _put_files(state, item, draft.uploads)
    item.embeds = _with_file_urls(state, item, embeds)
    item.edited_at = now_iso()
    granted = ALL if item.username else state.world.permissions_of(item.author_id, channel)
    mention_rules.apply(state.world, item, draft.allowed, granted)
    announce(state, "MESSAGE_UPDATE", item)


def remove(state: StageState, item: StageMessage) -> None:
    channel = state.world.channels[item.channel_id]
    del state.world.messages[channel.id][item.id]
    _drop_files(state, item.attachments)
    if channel.thread is not None and item.ephemeral_to is None:
        channel.thread.message_count -= 1
    data: Json = {"id": str(item.id), "channel_id": str(channel.id)}
    data |= {"guild_id": str(channel.guild_id)} if channel.guild_id else {}
    place = {"guild_id": channel.guild_id, "channel_id": channel.id}
    state.emit("MESSAGE_DELETE", data, **place, only_for=item.ephemeral_to)


def shown(state: StageState, item: StageMessage) -> Json:
    """Return the message as REST returns it."""
    return message(state.world, item, state.attachment_urls)


def _put_files(
    state: StageState, item: StageMessage, uploads: list[tuple[Upload, str | None]]
) -> None:
    for upload, alt in uploads:
        kind = mimetypes.guess_type(upload.filename)[0] or "application/octet-stream"
        attachment = Attachment(
            state.world.snowflakes.new(), upload.filename, upload.content, kind, alt
        )
        attachment.width, attachment.height = _picture_size(upload.content)
        item.attachments.append(attachment)
        state.world.attachments[attachment.id] = attachment


def _drop_files(state: StageState, files: list[Attachment]) -> None:
    """Take files off the CDN: they go with their message."""
    for file in files:
        state.world.attachments.pop(file.id, None)


def _picture_size(content: bytes) -> tuple[int | None, int | None]:
    if not content.startswith(_PNG) or len(content) < 24:
        return None, None
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def _with_file_urls(state: StageState, item: StageMessage, embeds: list[Json]) -> list[Json]:
    """Replace `attachment://name` in embeds by the URL of that file of the message."""
    sources = {a["filename"]: a["url"] for a in shown(state, item)["attachments"]}
    return [
        embed
        | {
            key: part | {"url": sources.get(part["url"][13:], part["url"])}
            for key, part in embed.items()
            if isinstance(part, dict) and str(part.get("url", "")).startswith("attachment://")
        }
        for embed in embeds
    ]
