"""`/persona show` and `/persona set`: what one persona does differently from the settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import Choices, answer, choices, plain
from oshaberi.bot.commands.command_context import (
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
    visible_channel,
)
from oshaberi.bot.commands.models.model_commands import check_payer, checked_model
from oshaberi.bot.commands.personas.persona_changes import persona_choices, persona_named
from oshaberi.bot.config import SERVER_KEYS
from oshaberi.bot.config.server_settings import check_limit
from oshaberi.bot.conversation.persona_options import (
    OPTIONS,
    checked_options,
    default_of_option,
    known_options,
    options_of,
    parsed_option,
)
from oshaberi.bot.conversation.time_zones import zone_names
from oshaberi.bot.storage.records import ModelRecord
from oshaberi.bot.turns.personas import talkativeness_of
from oshaberi.bot.turns.services.model_access import is_same_model
from oshaberi.languages import translated

TypedOption = app_commands.Range[str, 0, 1000]
HOURS = ("8-23", "7-22:30", "22-6", "9-12, 14-18")
ZONE = "Asia/Tokyo"
"""Stands in examples."""
MOST_ZONES = 25
IsChannel = Callable[[int], bool]
"""Whether the asker sees a channel, thread or category of this server with that id."""


async def show_persona(context: BotContext, asker: CommandUser, name: str) -> str:
    """List the options of a persona, with a mark at those that are its own."""
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    options = options_of(persona)
    lines = [
        _line(one, shown_value(one, getattr(options, one)), one in persona.options)
        for one in OPTIONS
    ]
    share = round(talkativeness_of(persona) * 100)
    lines.append(_line("talkativeness", f"{share} %", bool(share)))
    lines.append(
        _line("age-restricted", str(persona.is_age_restricted).lower(), persona.is_age_restricted)
    )
    legend = translated(
        "\\* The persona's own value. Options without a value follow the settings (`/config "
        "show`). `/persona set` changes one; talkativeness: `/persona talkative`, "
        "age-restricted: `/persona age-restrict`."
    )
    listed = "\n".join(lines)
    return f"**{plain(persona.name)}**\n{listed}\n{legend}"


def _line(name: str, value: str, is_own: bool) -> str:
    mark = r"\*" if is_own else "-"
    return f"{mark} `{name}`: {value}"


def shown_value(name: str, value: Any) -> str:
    """Return the value of an option as Discord shows it."""
    if value in (None, "", ()):
        return "–"
    if name == "channels":
        return ", ".join(f"<#{one}>" for one in value)
    words = ", ".join(value) if isinstance(value, tuple) else str(value)
    return f"`{words}`"  # no option has a backtick


async def set_option(
    context: BotContext,
    asker: CommandUser,
    name: str,
    option: str,
    text: str,
    is_channel: IsChannel,
) -> str:
    """Change an option of a persona; without a text it is taken back."""
    asker.must_manage()
    persona = await persona_named(context, asker.server_id, name)
    option = option.strip().lower()
    value = parsed_option(option, text) if text.strip() else _reset(option)
    await _check_here(context, asker, option, value, is_channel)
    options = checked_options({**known_options(persona), option: value})
    await context.db.personas.save(replace(persona, options=options))
    context.personas_changed(asker.server_id)
    shown, of_whom = shown_value(option, value), plain(persona.name)
    if value == default_of_option(option) and not text.strip():
        return translated("**{name}**: `{option}` is reset.", name=of_whom, option=option)
    return translated(
        "**{name}**: `{option}` is now {value}.", name=of_whom, option=option, value=shown
    )


def _reset(option: str) -> Any:
    parsed_option(option, _ANYTHING.get(option, ""))  # says which options there are
    return default_of_option(option)


_ANYTHING = {
    "humanizer_degree": "0",
    "base_type_speed_ms_per_char": "0",
    "greeting": "off",
    "memory": "server",
}


async def _check_here(
    context: BotContext, asker: CommandUser, option: str, value: Any, is_channel: IsChannel
) -> None:
    """Check what depends on the server: its models and keys, its channels, its limits."""
    if option == "models":
        for name in value:
            provider, _slash, model = name.partition("/")
            bare = ModelRecord(asker.server_id, provider, model)
            operators = context.services.models.operator.models
            if not any(is_same_model(bare, link) for link in operators):
                record = await checked_model(context, asker, provider, model, None)
                await check_payer(context, record)
    elif option == "channels":
        strange = [one for one in value if not is_channel(one)]
        if strange:
            raise CommandRefusedError(
                translated(
                    "channels: {text} is not a channel of this server that you see; write it "
                    "like #games.",
                    text=str(strange[0]),
                )
            )
    elif option in SERVER_KEYS and value is not None:
        check_limit(context.settings(), option, value)


# -- what is offered while somebody types ----------------------------------------------------------


async def offered_values(
    context: BotContext, asker: CommandUser, option: str, typed: str
) -> list[tuple[str, str]]:
    """Return pairs of what is shown and what is sent for an option."""
    declared = OPTIONS.get(option)
    if declared is None:
        return []
    about = declared.metadata
    if "choices" in about:
        return [(one, one) for one in about["choices"]]
    if option == "models":
        chain = await context.services.models.chain(asker.path, asker.person.id)
        names = dict.fromkeys(f"{one.model.provider}/{one.model.model}" for one in chain)
        return [(one, one) for one in names]
    if "low" in about and about["high"] < MOST_ZONES:
        numbers = range(about["low"], about["high"] + 1)
        return [(str(one), str(one)) for one in numbers]
    return _offered_hours(typed) if "hours" in about else []


def _offered_hours(typed: str) -> list[tuple[str, str]]:
    """Return the hours with time zones that complete what was typed, or else examples."""
    hours, _space, zone = typed.strip().rpartition(" ")
    if not hours or not zone[:1].isalpha():
        given = typed.strip()
        found = [one for one in HOURS if one.startswith(given)] or [given]
        return [(f"{one} {ZONE}", f"{one} {ZONE}") for one in found]
    word = zone.casefold()
    near = [one for one in zone_names() if word in one.casefold()][:MOST_ZONES]
    return [(f"{hours} {one}", f"{hours} {one}") for one in near]


# -- commands --------------------------------------------------------------------------------------


@app_commands.command(description="Show what a persona does differently from the settings")
@app_commands.describe(name="Which persona")
async def show(interaction: Interaction, name: Chosen) -> None:
    await answer(interaction, show_persona(context_of(interaction), asker_of(interaction), name))


@app_commands.command(
    name="set", description="Change an option of one persona: models, hours, channels, greeting, …"
)
@app_commands.describe(
    name="Which persona", option="Which option", value="Its value; left out, it is reset"
)
async def set_(
    interaction: Interaction, name: Chosen, option: Chosen, value: TypedOption = ""
) -> None:
    def is_channel(channel_id: int) -> bool:
        return visible_channel(interaction, channel_id) is not None

    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, set_option(context, asker, name, option, value, is_channel))


@show.autocomplete("name")
@set_.autocomplete("name")
async def _names(interaction: Interaction, typed: str) -> Choices:
    return await persona_choices(context_of(interaction), asker_of(interaction).server_id, typed)


@set_.autocomplete("option")
async def _options(_interaction: Interaction, typed: str) -> Choices:
    named = ((f"{name}: {translated(one.metadata['what'])}", name) for name, one in OPTIONS.items())
    return choices(typed, named)


@set_.autocomplete("value")
async def _values(interaction: Interaction, typed: str) -> Choices:
    context, asker = context_of(interaction), asker_of(interaction)
    option = str(getattr(interaction.namespace, "option", "") or "")
    if not asker.may_manage:
        return []
    offered = await offered_values(context, asker, option, typed)
    return choices("" if option == "awake_hours" else typed, offered)
