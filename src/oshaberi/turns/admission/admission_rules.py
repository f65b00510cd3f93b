"""Decides whether a message is answered, with the reason in one word (spec 08). Pure.

It looks at the message alone. `message_admission` adds cooldown, attention and the loop guard.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from oshaberi.conversation.channel_path import ChannelPath
from oshaberi.conversation.conversation_messages import IncomingMessage, Person
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.turns.admission.answer_reasons import ADMITTED, Admission, Admitted, Reason, Refused
from oshaberi.turns.admission.unaddressed_message import RoleIds, UnaddressedMessage
from oshaberi.turns.personas.trigger_words import is_anybody_named, named_in


def admission(
    incoming: IncomingMessage, personas: Sequence[PersonaRecord], config: TurnConfig
) -> Admission:
    """Decide everything except the cooldown, which depends on earlier messages."""
    reason = _refusal(incoming, config) or _address(incoming, personas, config)
    # No model is asked if the answer cannot be sent.
    return Admission("mute" if reason in ADMITTED and not incoming.can_answer else reason)


def why_ignored(
    message: UnaddressedMessage, personas: Sequence[PersonaRecord], config: TurnConfig
) -> Refused | None:
    """Return why a message is not answered, by the same rules as `admission`; None if it is."""
    if reason := _unlisted(message.user_id, message.role_ids, message.path, config):
        return reason
    if _call(message.text, message, personas, config):
        return None
    return "others" if message.is_for_others else "unaddressed"


def unlisted(person: Person, path: ChannelPath, config: TurnConfig) -> Refused | None:
    """Return why the allow and block lists exclude this person here; None if they do not."""
    return _unlisted(person.id, lambda: person.role_ids, path, config)


def _unlisted(
    user_id: int, role_ids: RoleIds, path: ChannelPath, config: TurnConfig
) -> Refused | None:
    if user_id in config.blocked_users:
        return "blocked"
    if _any_in(path.ids, config.blocked_channels):
        return "blocked_channel"
    if config.blocked_roles and _any_in(role_ids(), config.blocked_roles):
        return "blocked_role"
    users, roles = config.allowed_users, config.allowed_roles
    if (users or roles) and user_id not in users and not _any_in(role_ids(), roles):
        return "unlisted"
    if config.allowed_channels and not _any_in(path.ids, config.allowed_channels):
        return "elsewhere"
    return None


def _any_in(ids: Collection[int], listed: Collection[int]) -> bool:
    return bool(listed) and not set(listed).isdisjoint(ids)


def _refusal(incoming: IncomingMessage, config: TurnConfig) -> Refused | None:
    if incoming.said.by_us:
        return "own"
    author = incoming.said.author
    if author.is_bot and not {author.id, author.application_id} & set(config.answer_bots):
        return "bot"
    return unlisted(incoming.said.author, incoming.path, config)


def _address(
    incoming: IncomingMessage, personas: Sequence[PersonaRecord], config: TurnConfig
) -> Reason:
    # First: a reply mentions whom it answers, unless its author switched that off.
    if incoming.replied is not None and incoming.replied.by_us:
        return "reply"
    if incoming.mentions_us:
        return "mention"
    if incoming.is_direct:
        return "direct"
    called = _call(incoming.said.own_words, incoming, personas, config)
    return called or ("others" if incoming.is_for_others else "unaddressed")


def _call(
    text: str,
    message: UnaddressedMessage | IncomingMessage,
    personas: Sequence[PersonaRecord],
    config: TurnConfig,
) -> Admitted | None:
    """Return why a message without a mention or reply is answered, or None.

    Where every message is answered, one to other people is left alone, unless it names us too.
    """
    if _any_in(message.path.ids, config.auto_channels) and (
        not message.is_for_others or is_anybody_named(text, personas, message.bot_name)
    ):
        return "auto"
    return "trigger" if named_in(text, personas, by_name=False) else None
