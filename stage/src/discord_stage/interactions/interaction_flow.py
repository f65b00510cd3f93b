"""Follows an interaction (command, button, modal) from its start to the last follow-up.

The bot has three seconds for the first answer (else 10062), may give one first answer (else 40060),
and has fifteen minutes for the rest.
"""

from __future__ import annotations

import secrets

from discord_stage.payloads import record_payloads
from discord_stage.payloads.message_payloads import gateway_message
from discord_stage.refusals import bad_form, refusal
from discord_stage.rules import field_types
from discord_stage.rules.components import check_modal
from discord_stage.rules.messages import ATTACHMENT_MOST, MessageDraft
from discord_stage.state import StageState
from discord_stage.world.ids import number_in
from discord_stage.world.records import (
    Channel,
    Interaction,
    InteractionReply,
    InteractionType,
    Json,
    MessageFlag,
    MessageType,
    StageMessage,
)
from discord_stage.world_changes import message_posting

ALLOWED: dict[InteractionType, frozenset[InteractionReply]] = {
    InteractionType.COMMAND: frozenset(
        {InteractionReply.MESSAGE, InteractionReply.DEFER, InteractionReply.MODAL}
    ),
    InteractionType.COMPONENT: frozenset(InteractionReply) - {InteractionReply.CHOICES},
    InteractionType.AUTOCOMPLETE: frozenset({InteractionReply.CHOICES}),
    InteractionType.MODAL: frozenset(InteractionReply)
    - {InteractionReply.CHOICES, InteractionReply.MODAL},
}
"""Which first answers each type of interaction allows."""
CHOICES_MOST = 25
USER_INSTALL_FOLLOWUPS = 5


def begin(
    state: StageState,
    kind: InteractionType,
    user_id: int,
    channel: Channel,
    data: Json,
    message: StageMessage | None = None,
    *,
    user_install: bool = False,
) -> Interaction:
    """Start an interaction of a user: the bot receives it, and its time limit starts."""
    world = state.world
    interaction = Interaction(
        id=world.snowflakes.new(),
        token=secrets.token_urlsafe(32),
        type=kind,
        user_id=user_id,
        channel_id=channel.id,
        data=data,
        at=state.now(),
        message_id=None if message is None else message.id,
        user_install=user_install,
    )
    world.interactions[interaction.id] = interaction
    announced = _announcement(state, interaction, channel, message)
    state.emit("INTERACTION_CREATE", announced, guild_id=channel.guild_id, channel_id=channel.id)
    return interaction


def _announcement(
    state: StageState, item: Interaction, channel: Channel, message: StageMessage | None
) -> Json:
    world = state.world
    place = record_payloads.channel(world, channel)
    payload: Json = {
        "id": str(item.id),
        "application_id": str(world.application.id),
        "type": int(item.type),
        "token": item.token,
        "version": 1,
        "channel_id": str(channel.id),
        "channel": place | {"permissions": str(world.permissions_of(item.user_id, channel))},
        "data": item.data,
        "app_permissions": str(world.permissions_of(world.bot.id, channel)),
        "locale": world.users[item.user_id].locale,
        "entitlements": [],
        "authorizing_integration_owners": (
            {"1": str(item.user_id)} if item.user_install else {"0": str(channel.guild_id or 0)}
        ),
        "context": 0 if channel.guild_id else 1,
        "attachment_size_limit": ATTACHMENT_MOST,
    }
    if message is not None:
        payload["message"] = gateway_message(world, message, state.attachment_urls)
    return payload | _who(state, item, channel)


def _who(state: StageState, item: Interaction, channel: Channel) -> Json:
    world = state.world
    guild = world.guild_of(channel)
    if guild is None:
        return {"user": record_payloads.user(world.users[item.user_id])}
    member = record_payloads.member(guild.members[item.user_id])
    member["permissions"] = str(world.permissions_of(item.user_id, channel))
    locale = guild.changed.get("preferred_locale", record_payloads.LOCALE)
    return {
        "member": member,
        "guild_id": str(guild.id),
        "guild": {"id": str(guild.id), "locale": locale, "features": []},
        "guild_locale": locale,
    }


def find(state: StageState, interaction_id: int, token: str) -> Interaction:
    """Find an interaction for its first answer."""
    item = state.world.interactions.get(interaction_id)
    if item is None or item.token != token:
        raise refusal(10062)
    if item.reply is not None:
        raise refusal(40060)
    if state.now() - item.at > state.settings.interaction_s:
        raise refusal(10062)
    return item


def find_by_token(state: StageState, token: str) -> Interaction:
    """Find an interaction for everything after the first answer."""
    for item in state.world.interactions.values():
        if item.token == token:
            if state.now() - item.at > state.settings.interaction_token_s:
                raise refusal(50027)
            if item.reply is None:
                raise refusal(10015)
            return item
    raise refusal(50027)


def answer(
    state: StageState, item: Interaction, kind: int, data: Json, draft: MessageDraft
) -> StageMessage | None:
    """Send the first answer. Return the message that it created or changed."""
    if kind not in ALLOWED[item.type]:
        raise bad_form(("type",), "BASE_TYPE_CHOICES", "Not a valid answer to this interaction")
    reply = InteractionReply(kind)
    message: StageMessage | None = None
    if reply is InteractionReply.MESSAGE:
        message = _say(state, item, draft, draft.flags)
        item.original_id = message.id
    elif reply is InteractionReply.DEFER:
        message = _say(state, item, MessageDraft(), draft.flags, loading=True)
        item.original_id = message.id
    elif reply in (InteractionReply.UPDATE, InteractionReply.DEFER_UPDATE):
        message = _update(state, item, draft if reply is InteractionReply.UPDATE else None)
    elif reply is InteractionReply.CHOICES:
        item.choices = _choices(data)
    else:
        check_modal(data)
        item.modal = data
    item.reply = reply
    state.emit(
        "INTERACTION_ANSWER",
        interaction_payload(item),
        channel_id=item.channel_id,
        only_for=item.user_id,
    )
    return message


def interaction_payload(item: Interaction) -> Json:
    """Return what the user sees of the interaction."""
    return {
        "id": str(item.id),
        "type": int(item.type),
        "reply": None if item.reply is None else item.reply.name.lower(),
        "message_id": None if item.original_id is None else str(item.original_id),
        "choices": item.choices,
        "modal": item.modal,
    }


def _update(state: StageState, item: Interaction, draft: MessageDraft | None) -> StageMessage:
    if item.message_id is None:
        raise bad_form(("type",), "BASE_TYPE_CHOICES", "There is no message to update")
    message = state.world.find_message(item.channel_id, item.message_id, ephemeral=True)
    item.original_id = message.id
    if draft is not None:
        message_posting.edit(state, message, draft)
    return message


def _choices(data: Json) -> list[Json]:
    choices = field_types.objects(data, "choices")
    if len(choices) > CHOICES_MOST:
        message = f"Must be {CHOICES_MOST} or fewer in length."
        raise bad_form(("data", "choices"), "BASE_TYPE_MAX_LENGTH", message)
    return choices


def follow_up(state: StageState, item: Interaction, draft: MessageDraft) -> StageMessage:
    """Send a follow-up. The first one after a deferral replaces the waiting message."""
    draft.refuse_empty()
    original = state.world.messages.get(item.channel_id, {}).get(item.original_id or 0)
    if original is not None and original.flags & MessageFlag.LOADING:
        message_posting.edit(state, original, draft)
        return original
    if item.user_install and len(item.followups) >= USER_INSTALL_FOLLOWUPS:
        raise refusal(40094)
    message = _say(state, item, draft, draft.flags)
    item.followups.append(message.id)
    return message


def _say(
    state: StageState, item: Interaction, draft: MessageDraft, flags: int, *, loading: bool = False
) -> StageMessage:
    if not loading:
        draft.refuse_empty()
    # Neither a nonce (facts) nor a reply: it answers the interaction.
    draft.nonce = draft.reference = None
    bot = state.world.bot
    app_id = state.world.application.id
    first_of_command = item.reply is None and item.type is InteractionType.COMMAND
    return message_posting.post(
        state,
        state.world.find_channel(item.channel_id),
        message_posting.PostAuthor(bot.id, webhook_id=app_id, application_id=app_id),
        draft,
        ephemeral_to=item.user_id if flags & MessageFlag.EPHEMERAL else None,
        interaction_id=item.id,
        kind=MessageType.COMMAND if first_of_command else MessageType.DEFAULT,
        loading=loading,
    )


def message_of(state: StageState, item: Interaction, which: str) -> StageMessage:
    """Return `@original`, or a follow-up by its id."""
    number = item.original_id if which == "@original" else number_in(which)
    message = state.world.find_message(item.channel_id, number or 0, ephemeral=True)
    if message.id != item.original_id and message.id not in item.followups:
        raise refusal(10008)
    return message
