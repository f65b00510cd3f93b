"""Finds, creates, changes and deletes the personas of a server, with checked input."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from urllib.parse import urlsplit

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.characters.cards import LONGEST_TEXT, card_of, kept_card
from oshaberi.bot.commands.answers import Choices, choices, plain
from oshaberi.bot.commands.command_context import (
    CommandRefusedError,
    CommandUser,
    Where,
    check_places,
)
from oshaberi.bot.conversation.transcript import name_problem
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.discord_io.requests.parameters import AVATAR_URL_LIMIT
from oshaberi.languages import said, translatable, translated, translated_count
from oshaberi.text.measure import utf16_len
from oshaberi.text.normalize.webhook_names import MAX_UNITS

# Personas are found by name, listed, and offered as choices.


MOST_PLACES = 10
ANSWERING = "answering_persona"
"""The setting that names the persona of a channel."""


async def personas_of(context: BotContext, server_id: int) -> tuple[PersonaRecord, ...]:
    """Return the server's personas, or the operator's if it has none."""
    stored = await context.db.personas.of(server_id)
    return stored or (
        replace(context.services.models.operator.persona, server_id=server_id, is_default=True),
    )


async def persona_named(context: BotContext, server_id: int, name: str) -> PersonaRecord:
    """Find a persona by name or alias.

    The operator's persona is copied to the server as soon as the server changes it.
    """
    stored = await context.db.personas.get(server_id, name.strip())
    if stored is not None:
        return stored
    for persona in await personas_of(context, server_id):
        if persona.name.casefold() == name.strip().casefold():
            return persona
    raise CommandRefusedError(
        translated("There is no persona {name}; `/persona list` shows all.", name=plain(name))
    )


async def persona_choices(context: BotContext, server_id: int, typed: str) -> Choices:
    names = [persona.name for persona in await personas_of(context, server_id)]
    return choices(typed, ((name, name) for name in names))


async def list_personas(context: BotContext, asker: CommandUser) -> str:
    stored = await context.db.servers.settings(asker.server_id)
    chosen = {place: values.get(ANSWERING) for place, values in stored.channels.items()}
    return "\n".join(
        _line(persona, [place for place, name in chosen.items() if name == persona.name])
        for persona in await personas_of(context, asker.server_id)
    )


def _line(persona: PersonaRecord, answers_in: Sequence[int]) -> str:
    facts = [translated("default")] if persona.is_default else []
    if answers_in:
        facts.append(
            translated(
                "default in {channels}",
                channels=", ".join(f"<#{one}>" for one in answers_in[:MOST_PLACES]),
            )
        )
    if persona.is_age_restricted:
        facts.append(translated("only in age-restricted channels"))
    if persona.triggers:
        facts.append(
            translated("called by {triggers}", triggers=plain(", ".join(persona.triggers)))
        )
    if persona.sprites:
        facts.append(translated_count("{count} sprite", "{count} sprites", len(persona.sprites)))
    remarks = f" ({'; '.join(facts)})" if facts else ""
    return f"- **{plain(persona.name)}**{remarks}"


# Names and picture URLs are checked as Discord will check them when a webhook uses them. So the
# user learns at once what is wrong, and not when the persona first speaks.


MOST_WORDS = 20
SPRITE_UNITS = 32
FIELD_LIMIT = 4000
"""The most characters that a field of a form can hold."""
PROMPT_LIMIT = LONGEST_TEXT
"""How long a prompt may be; the model's window must have room for it."""
MOST_SPRITES = 50
CARD_LIMIT = 400_000
"""How long the JSON of a card may be, without its lorebook and its pictures."""


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """How long a text may be, or how many items a list may have and how long each may be."""

    longest: int
    most: int = 1


PERSONA_LIMITS: Mapping[str, SizeLimit] = {
    "name": SizeLimit(MAX_UNITS),
    "prompt": SizeLimit(PROMPT_LIMIT),
    "aliases": SizeLimit(MAX_UNITS, MOST_WORDS),
    "triggers": SizeLimit(MAX_UNITS, MOST_WORDS),
    "avatar_url": SizeLimit(AVATAR_URL_LIMIT),
    "samples": SizeLimit(FIELD_LIMIT, 20),
    "sprites": SizeLimit(AVATAR_URL_LIMIT, MOST_SPRITES),
    "card": SizeLimit(CARD_LIMIT),
}
"""The limit of every text and list of a persona, no matter where it comes from."""

PERSONA, SPRITE = translatable("persona"), translatable("sprite")


def checked_name(name: str, what: str = PERSONA, limit: int = MAX_UNITS) -> str:
    """Return the name with single spaces. Raises CommandRefusedError if Discord refuses it."""
    name = " ".join(name.split())
    reason = name_problem(name, limit)
    if reason is not None:
        raise CommandRefusedError(
            translated(
                "A {what} cannot be called that: {reason}. Choose another name.",
                what=translated(what),
                reason=said(reason),
            )
        )
    return name


def checked_sprite(name: str) -> str:
    """Check a sprite's name. It must have no parentheses, because it is written inside them."""
    name = checked_name(name, SPRITE, SPRITE_UNITS)
    if "(" in name or ")" in name:
        raise CommandRefusedError(
            translated("A sprite's name cannot contain parentheses. Choose another name.")
        )
    return name


def checked_url(url: str) -> str:
    """Check the URL of a picture."""
    url = url.strip()
    if len(url) > AVATAR_URL_LIMIT:
        raise CommandRefusedError(
            translated(
                "The address is longer than {avatar_url_limit} characters; shorten it.",
                avatar_url_limit=AVATAR_URL_LIMIT,
            )
        )
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("https", "http") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable or any(sign.isspace() for sign in url):
        raise CommandRefusedError(
            translated("Give the address of a picture, starting with https://.")
        )
    return url


def check_size(before: PersonaRecord, after: PersonaRecord) -> None:
    """Refuse a change that makes a text or a list of the persona too long.

    Longer values that were stored earlier, perhaps by the operator, may stay.
    """
    for field, limit in PERSONA_LIMITS.items():
        value = getattr(after, field)
        if value is None or value == getattr(before, field):
            continue
        if isinstance(value, tuple) and len(value) > limit.most:
            raise CommandRefusedError(
                translated("{what}: at most {most}.", what=field, most=limit.most)
            )
        if any(len(text) > limit.longest for text in _texts(value)):
            raise CommandRefusedError(
                translated("{what}: at most {most} characters.", what=field, most=limit.longest)
            )


def _texts(value: object) -> Iterable[str]:
    """Return all texts in a text, a list or a record."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return (json.dumps(value, ensure_ascii=False),)
    if is_dataclass(value):
        value = tuple(getattr(value, field.name) for field in fields(value))
    return (text for one in value for text in _texts(one)) if isinstance(value, tuple) else ()


def checked_words(text: str, what: str) -> tuple[str, ...]:
    """Split a comma-separated list of names, without duplicates."""
    words = [word.strip() for word in text.split(",")]
    unique = tuple(dict.fromkeys(word for word in words if word))
    if len(unique) > MOST_WORDS:
        raise CommandRefusedError(
            translated(
                "{what}: at most {most_words}, with commas between them.",
                what=what,
                most_words=MOST_WORDS,
            )
        )
    if any(utf16_len(word) > MAX_UNITS for word in unique):
        raise CommandRefusedError(
            translated(
                "{what}: each is at most {max_units} characters long.",
                what=what,
                max_units=MAX_UNITS,
            )
        )
    return unique


# Changes.


BUILT_IN = translatable("The built-in persona cannot be deleted; create another one instead.")
MOST_PERSONAS = 50


async def create_persona(
    context: BotContext, asker: CommandUser, name: str, values: dict[str, str]
) -> str:
    name = await may_create(context, asker, name)
    first = not await context.db.personas.of(asker.server_id)
    await _may_be_called(context, asker.server_id, name, values)
    record = PersonaRecord(asker.server_id, name, is_default=first)
    await context.db.personas.save(_fill(record, values))
    context.personas_changed(asker.server_id)
    if first:
        return translated("**{name}** is created, and answers from now on.", name=plain(name))
    how = translated("its name or a trigger word") if values["triggers"] else translated("its name")
    return translated(
        "**{name}** is created. It answers to {how}. `/persona avatar` gives it a picture.",
        name=plain(name),
        how=how,
    )


async def may_create(context: BotContext, asker: CommandUser, name: str) -> str:
    """Check that the persona can be created: before the form opens, and again on submit."""
    asker.must_manage()
    name = checked_name(name)
    if await context.db.personas.get(asker.server_id, name) is not None:
        raise CommandRefusedError(
            translated("There is already a persona {name}; use `/persona edit`.", name=plain(name))
        )
    await check_room(context, asker.server_id)
    return name


async def check_room(context: BotContext, server_id: int) -> None:
    """Refuse another persona if the server already has as many as it may have."""
    if len(await context.db.personas.of(server_id)) >= MOST_PERSONAS:
        raise CommandRefusedError(
            translated(
                "At most {most_personas} personas; delete one: `/persona delete`.",
                most_personas=MOST_PERSONAS,
            )
        )


async def edit_persona(
    context: BotContext, asker: CommandUser, name: str, values: dict[str, str]
) -> str:
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    await _may_be_called(context, asker.server_id, persona.name, values)
    await context.db.personas.save(_fill(persona, values))
    context.personas_changed(asker.server_id)
    return translated("**{name}** is updated.", name=plain(persona.name))


async def delete_question(context: BotContext, asker: CommandUser, name: str) -> str:
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    if await context.db.personas.get(asker.server_id, persona.name) is None:
        raise CommandRefusedError(translated(BUILT_IN))
    sprites = (
        translated_count(" and its sprite", " and its {count} sprites", len(persona.sprites))
        if persona.sprites
        else ""
    )
    return translated(
        "Delete **{name}**{sprites}? This cannot be undone.",
        name=plain(persona.name),
        sprites=sprites,
    )


async def delete_persona(context: BotContext, asker: CommandUser, name: str) -> str:
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    if not await context.db.personas.delete(asker.server_id, persona.name):
        raise CommandRefusedError(translated(BUILT_IN))
    new_default = await _new_default(context, asker.server_id) if persona.is_default else ""
    context.personas_changed(asker.server_id)
    return translated(
        "**{name}** is deleted.{new_default}", name=plain(persona.name), new_default=new_default
    )


async def _new_default(context: BotContext, server_id: int) -> str:
    """Make the first persona the default, since every server needs one."""
    first = (await personas_of(context, server_id))[0]
    await context.db.personas.make_default(server_id, first.name)
    return translated(" {name} is now the default.", name=plain(first.name))


async def make_default(
    context: BotContext, asker: CommandUser, name: str, where: Where = None
) -> str:
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    if where is not None:
        check_places((await context.db.servers.settings(asker.server_id)).channels, where)
        channel_id = where.channel_id
        await context.db.servers.set_config(asker.server_id, ANSWERING, persona.name, channel_id)
        return translated(
            "In <#{channel_id}> **{name}** answers when no other is called.",
            channel_id=channel_id,
            name=plain(persona.name),
        )
    if not await context.db.personas.make_default(asker.server_id, persona.name):
        raise CommandRefusedError(
            translated("{name} is already the default.", name=plain(persona.name))
        )
    context.personas_changed(asker.server_id)
    return translated(
        "**{name}** is now the default: it answers when no other is called.",
        name=plain(persona.name),
    )


async def restrict_by_age(
    context: BotContext, asker: CommandUser, name: str, restricted: bool
) -> str:
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    await context.db.personas.save(replace(persona, is_age_restricted=restricted))
    context.personas_changed(asker.server_id)
    shown = plain(persona.name)
    if restricted:
        return translated(
            "**{name}** now answers only in channels that Discord marks as age-restricted.",
            name=shown,
        )
    return translated("**{name}** answers in all channels again.", name=shown)


async def set_talkativeness(
    context: BotContext, asker: CommandUser, name: str, percent: int
) -> str:
    """Set the chance that a persona joins in. It is stored where cards have it."""
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    kept = kept_card(card_of(persona.name, persona.prompt, persona.card))
    extensions = {**kept["data"]["extensions"], "talkativeness": percent / 100}
    kept["data"] = {**kept["data"], "extensions": extensions}
    await context.db.personas.save(replace(persona, card=kept))
    context.personas_changed(asker.server_id)
    return translated(
        "**{name}** joins in with a chance of {percent} % when another persona has spoken, where "
        "`persona_talk_enabled` is on.",
        name=plain(persona.name),
        percent=percent,
    )


async def _may_be_called(
    context: BotContext, server_id: int, name: str, values: dict[str, str]
) -> None:
    """Refuse an alias that already names another persona."""
    for alias in checked_words(values["aliases"], translated("Other names")):
        other = await context.db.personas.get(server_id, checked_name(alias))
        if other is not None and other.name != name:
            raise CommandRefusedError(
                translated(
                    "{alias} is already a name of {name}.",
                    alias=plain(alias),
                    name=plain(other.name),
                )
            )


def _fill(persona: PersonaRecord, values: dict[str, str]) -> PersonaRecord:
    filled = replace(
        persona,
        prompt=values["prompt"],
        aliases=checked_words(values["aliases"], translated("Other names")),
        triggers=checked_words(values["triggers"], translated("Trigger words")),
    )
    check_size(persona, filled)
    return filled
