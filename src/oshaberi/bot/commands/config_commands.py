"""`/config`: shows and changes the settings of a server and its channels."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import Choices, answer, choices
from oshaberi.bot.commands.command_context import (
    MANAGER,
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asker_of,
    check_places,
    context_in,
    context_of,
    in_place,
    visible_channel,
)
from oshaberi.bot.commands.config_answers import (
    MOST_SHOWN,
    explain_setting,
    format_value,
    language_note,
    own_values_note,
    remark_on,
    setting_line,
    settings_in,
    value_of,
)
from oshaberi.bot.commands.personas.persona_changes import persona_choices, persona_named
from oshaberi.bot.config import (
    DECLARED,
    SERVER_KEYS,
    Setting,
    check_together,
    effective,
    parse_server_value,
)
from oshaberi.bot.config.all_settings import SERVER_ONLY_KEYS
from oshaberi.bot.config.presets import PRESET_KEYS, Preset, preset_values
from oshaberi.bot.config.server_settings import check_limit, reduce_to_limits
from oshaberi.bot.conversation.turn_config import EffectiveSettings
from oshaberi.bot.turns.services.model_access import WHOLE_SERVER
from oshaberi.languages import translatable, translated

CHANNEL_KEYS = frozenset({"picture_channel_id", "thought_log_channel_id"})
PERSONA_KEYS = frozenset({"answering_persona"})
ALL = "all"
"""The word that resets all settings. It must be typed, so that nobody resets them by pressing
Enter."""
MOST_MEANT = 3
TypedValue = app_commands.Range[str, 0, 6000]
"""Discord's limit. `bot.config.server_settings` decides how long each setting may be."""
_LEGEND = translatable(
    "* changed: for the server, or only here, in this channel or category. The others "
    "are as whoever runs the bot set them. `/config show KEY` explains one."
)
HasChannel = Callable[[int], bool]
"""Whether the server has a channel of that id in which the asker may write."""


async def show_config(
    context: BotContext, asker: CommandUser, key: str | None, where: Where = None
) -> str:
    """Describe which settings apply in a channel, and where each value comes from."""
    asker.must_see_settings()
    setting = None if key is None else _setting(key)
    here = await settings_in(context.db, context.settings(), where or asker.path)
    if setting is not None:
        return explain_setting(setting, here, context.settings())
    listed = "\n".join(setting_line(one, here) for one in SERVER_KEYS.values())
    return f"```\n{listed}\n```{translated(_LEGEND)}"


async def set_config(
    context: BotContext,
    asker: CommandUser,
    key: str,
    text: str,
    has_channel: HasChannel,
    where: Where = None,
) -> str:
    asker.must_manage()
    setting = _setting(key, where)
    value = parse_server_value(setting.name, text)
    check_limit(context.settings(), setting.name, value)
    if setting.name in CHANNEL_KEYS and value and not has_channel(value):
        raise CommandRefusedError(
            translated(
                "{name}: {text} is not a channel of this server; write it like #logs.",
                name=setting.name,
                text=text,
            )
        )
    if (
        setting.name == "display_mode"
        and value not in context.services.answer_tools.plug_ins.mode_names
    ):
        known = ", ".join(context.services.answer_tools.plug_ins.mode_names)
        raise CommandRefusedError(
            translated(
                "display_mode: {text!r} is not installed; installed: {known}",
                text=text,
                known=known,
            )
        )
    if setting.name in PERSONA_KEYS and value:
        value = (await persona_named(context, asker.server_id, value)).name
    stored = await context.db.servers.settings(asker.server_id)
    check_places(stored.channels, where)
    above = stored.layers(() if where is None else where.ids)
    check_together(context.settings(), {setting.name: value}, *above)
    place_id = WHOLE_SERVER if where is None else where.channel_id
    await context.db.servers.set_config(asker.server_id, setting.name, value, place_id)
    now = effective(context.settings(), {setting.name: value}, *above)
    remarks = f"{remark_on(setting, now)}{language_note(setting, now)}"
    more = f"{'' if where else own_values_note(stored, setting.name)}{remarks}"
    return translated(
        "`{name}` is now {value}{where}.{notes}",
        name=setting.name,
        value=format_value(setting, value),
        where=in_place(where),
        notes=more,
    )


async def reset_config(
    context: BotContext, asker: CommandUser, key: str, where: Where = None
) -> str:
    asker.must_manage()
    name = None if key.strip().lower() == ALL else _setting(key, where).name
    place_id = WHOLE_SERVER if where is None else where.channel_id
    await context.db.servers.reset_config(asker.server_id, name, place_id)
    if name is None and where is None:
        return translated("All settings of this server have their defaults again.")
    if name is None:
        return translated("All settings of <#{place_id}> are inherited again.", place_id=place_id)
    stored = await context.db.servers.settings(asker.server_id)
    now = effective(context.settings(), *stored.layers(() if where is None else where.ids))
    value = format_value(SERVER_KEYS[name], value_of(SERVER_KEYS[name], now))
    if where is None:
        return translated("`{name}` has its default again: {value}.", name=name, value=value)
    return translated(
        "`{name}` is inherited again{where}: {value}.",
        name=name,
        where=in_place(where),
        value=value,
    )


async def apply_preset(context: BotContext, asker: CommandUser, preset: Preset) -> str:
    """Apply a preset to the server, all of it or nothing, and say what it changed."""
    asker.must_manage()
    stored = await context.db.servers.settings(asker.server_id)
    values = reduce_to_limits(context.settings(), preset_values(preset))
    others = {key: value for key, value in stored.server.items() if key not in PRESET_KEYS}
    check_together(context.settings(), others | values)
    before = effective(context.settings(), stored.server)
    now = effective(context.settings(), others | values)
    await context.db.servers.change_config(asker.server_id, values, PRESET_KEYS - values.keys())
    changed = [key for key in SERVER_KEYS if key in PRESET_KEYS and _differs(key, before, now)]
    lines = [f"- `{key}`: {_shown(key, before)} → {_shown(key, now)}" for key in changed]
    head = translated("This server is `{preset}` now.", preset=preset)
    if not lines:
        return f"{head} {translated('No setting had to change.')}"
    undo = translated(
        "`/config preset normal` gives all of these their defaults again, `/config set` and "
        "`/config reset` change single ones. Other settings stay as they are."
    )
    listed = "\n".join(lines)
    return f"{head}{own_values_note(stored, *changed)}\n{listed}\n{undo}"


def _differs(key: str, before: EffectiveSettings, now: EffectiveSettings) -> bool:
    setting = SERVER_KEYS[key]
    return bool(value_of(setting, before) != value_of(setting, now))


def _shown(key: str, settings: EffectiveSettings) -> str:
    return format_value(SERVER_KEYS[key], value_of(SERVER_KEYS[key], settings))


def known_keys(typed: str) -> Choices:
    shown = ((f"{key}: {translated(one.what)}", key) for key, one in SERVER_KEYS.items())
    return choices(typed, shown)


def resettable_keys(typed: str) -> Choices:
    return choices(typed, [(translated("all of them"), ALL), *((key, key) for key in SERVER_KEYS)])


def known_values(key: str, typed: str) -> Choices:
    """Return the values that the user can choose from. Numbers and lists must be typed."""
    about = SERVER_KEYS[key].about if key in SERVER_KEYS else {}
    words = ("true", "false") if "switch" in about else about.get("choices", ())
    return choices(typed, ((word, word) for word in words))


def _setting(key: str, where: Where = None) -> Setting:
    name = key.strip().lower()
    if where is not None and name in SERVER_ONLY_KEYS:
        raise CommandRefusedError(
            translated("{name}: is for the whole server; leave out `in`", name=name)
        )
    if name in SERVER_KEYS:
        return SERVER_KEYS[name]
    if name in DECLARED:
        raise CommandRefusedError(translated("{name}: is set by whoever runs the bot", name=name))
    raise CommandRefusedError(
        translated(
            "{name}: no such setting; {suggestion}",
            name=name[:MOST_SHOWN],
            suggestion=_similar_names(name),
        )
    )


def _similar_names(name: str) -> str:
    """Suggest settings whose name is similar to the word or contains it."""
    alike = get_close_matches(name, SERVER_KEYS, n=MOST_MEANT)
    part = [known for known in SERVER_KEYS if name and name in known]
    near = list(dict.fromkeys([*alike, *part]))[:MOST_MEANT]
    if not near:
        return translated("`/config show` lists them")
    return translated("did you mean {names}?", names=" / ".join(map(repr, near)))


_ONLY_IN = translatable("Only in this channel, thread or category")
config = app_commands.Group(
    name="config", description="How the bot writes here", default_permissions=MANAGER
)


@config.command(description="Show all settings and where they come from, or explain one")
@app_commands.rename(place="in")
@app_commands.describe(
    key="One setting; all if left out",
    place="In this channel, thread or category; where you are if left out",
)
async def show(
    interaction: Interaction, key: Chosen | None = None, place: PlaceOption | None = None
) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, show_config(context, asker, key, where))


@config.command(name="set", description="Change a setting for this server, or for one channel")
@app_commands.rename(place="in")
@app_commands.describe(
    key="Which setting", value="Its new value; lists with commas", place=_ONLY_IN
)
async def set_(
    interaction: Interaction, key: Chosen, value: TypedValue, place: PlaceOption | None = None
) -> None:
    def has_channel(channel_id: int) -> bool:
        found, member = visible_channel(interaction, channel_id), interaction.user
        if found is None or not isinstance(member, discord.Member):
            return False
        return found.permissions_for(member).send_messages

    context, asker, where = context_in(interaction, place)
    await answer(interaction, set_config(context, asker, key, value, has_channel, where))


@config.command(description="Set one setting, or all of them, back to what is inherited")
@app_commands.rename(place="in")
@app_commands.describe(key=f"One setting, or: {ALL}", place=_ONLY_IN)
async def reset(interaction: Interaction, key: Chosen, place: PlaceOption | None = None) -> None:
    context, asker, where = context_in(interaction, place)
    await answer(interaction, reset_config(context, asker, key, where))


@config.command(description="How lively the bot is here: sets several settings at once")
@app_commands.rename(preset_="preset")
@app_commands.describe(preset_="quiet: it only answers; normal: the defaults; lively: it joins in")
async def preset(interaction: Interaction, preset_: Preset) -> None:
    await answer(interaction, apply_preset(context_of(interaction), asker_of(interaction), preset_))


@show.autocomplete("key")
@set_.autocomplete("key")
async def _keys(_interaction: Interaction, typed: str) -> Choices:
    return known_keys(typed)


@reset.autocomplete("key")
async def _resettable(_interaction: Interaction, typed: str) -> Choices:
    return resettable_keys(typed)


@set_.autocomplete("value")
async def _values(interaction: Interaction, typed: str) -> Choices:
    key = str(interaction.namespace.key or "")
    if key in PERSONA_KEYS:
        context, asker = context_of(interaction), asker_of(interaction)
        return await persona_choices(context, asker.server_id, typed)
    return known_values(key, typed)


COMMANDS = (config,)
