"""Creates, changes and deletes the personas of a server."""

from __future__ import annotations

from dataclasses import replace

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.command_answers import plain
from oshaberi.bot.commands.command_context import (
    CommandRefusedError,
    CommandUser,
    Where,
    check_places,
)
from oshaberi.bot.commands.personas.persona_input_checks import (
    check_size,
    checked_name,
    checked_url,
    checked_words,
)
from oshaberi.bot.commands.personas.server_personas import ANSWERING, persona_named, personas_of
from oshaberi.languages import translatable, translated, translated_count
from oshaberi.storage.stored_records import PersonaRecord

BUILT_IN = translatable("The built-in persona cannot be deleted; create another one instead.")
MOST_PERSONAS = 50


async def create_persona(
    context: BotContext, asker: CommandUser, name: str, values: dict[str, str]
) -> str:
    name = await may_create(context, asker, name)
    first = not await context.db.personas.of(asker.server_id)
    await _may_be_called(context, asker.server_id, name, values)
    record = PersonaRecord(asker.server_id, name, is_default=first)
    await context.db.personas.save(_filled(record, values))
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
    stored = await context.db.personas.of(asker.server_id)
    if await context.db.personas.get(asker.server_id, name) is not None:
        raise CommandRefusedError(
            translated("There is already a persona {name}; use `/persona edit`.", name=plain(name))
        )
    if len(stored) >= MOST_PERSONAS:
        raise CommandRefusedError(
            translated(
                "At most {most_personas} personas; delete one: `/persona delete`.",
                most_personas=MOST_PERSONAS,
            )
        )
    return name


async def edit_persona(
    context: BotContext, asker: CommandUser, name: str, values: dict[str, str]
) -> str:
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    await _may_be_called(context, asker.server_id, persona.name, values)
    await context.db.personas.save(_filled(persona, values))
    context.personas_changed(asker.server_id)
    return translated("**{name}** is updated.", name=plain(persona.name))


async def set_avatar(context: BotContext, asker: CommandUser, name: str, url: str | None) -> str:
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    avatar_url = None if url is None else checked_url(url)
    await context.db.personas.save(replace(persona, avatar_url=avatar_url))
    context.personas_changed(asker.server_id)
    shown = plain(persona.name)
    if avatar_url is None:
        return translated("**{name}** has no picture of its own any more.", name=shown)
    own = (
        translated(" The default persona shows the bot's own picture.")
        if persona.is_default
        else ""
    )
    return translated("**{name}** has a new picture.{own}", name=shown, own=own)


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
    told = await _new_default(context, asker.server_id) if persona.is_default else ""
    context.personas_changed(asker.server_id)
    return translated(
        "**{name}** is deleted.{new_default}", name=plain(persona.name), new_default=told
    )


async def _new_default(context: BotContext, server_id: int) -> str:
    """Make the first persona the default, since each server needs a default one."""
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


def _filled(persona: PersonaRecord, values: dict[str, str]) -> PersonaRecord:
    filled = replace(
        persona,
        prompt=values["prompt"],
        aliases=checked_words(values["aliases"], translated("Other names")),
        triggers=checked_words(values["triggers"], translated("Trigger words")),
    )
    check_size(persona, filled)
    return filled
