"""`/config`: shows and changes the settings of a server and its channels, as declared."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.commands.command_answers import Choices, answer, choices
from oshaberi.bot.commands.command_context import (
    MANAGER,
    CommandContext,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asked_in,
    asker_of,
    context_of,
    seen_channel,
)
from oshaberi.bot.commands.persona_commands import found, persona_choices
from oshaberi.bot.inherited_settings import InheritedSettings, settings_in
from oshaberi.config import (
    DECLARED,
    SERVER_KEYS,
    EffectiveSettings,
    LoadedSettings,
    Setting,
    check_together,
    effective,
    parse_server_value,
)
from oshaberi.config.server_limits import allowed_here, check_limit, is_quota
from oshaberi.config.server_settings import SERVER_ONLY_KEYS
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.degree_policy import live_remark
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.languages import translatable, translated
from oshaberi.storage.stored_records import StoredSettings
from oshaberi.text.text_config import TextConfig
from oshaberi.turns.generation.model_chain import WHOLE_SERVER

CHANNEL_KEYS = frozenset({"thought_log_channel_id"})
PERSONA_KEYS = frozenset({"answering_persona"})
LIVE_KEYS = frozenset({"delivery", "notify", "display_mode"})
MOST_SHOWN = 60
ALL = "all"
"""To be said in so many letters: nobody resets a server by pressing Enter twice."""
MOST_MEANT = 3
MOST_NAMED = 5
_LEGEND = translatable(
    "* changed: for the server, or only here, in this channel or category. The others "
    "are as whoever runs the bot set them. `/config show KEY` explains one."
)

HasChannel = Callable[[int], bool]
"""Whether the server has a channel of that id in which the asker may write."""


async def show_config(
    context: CommandContext, asker: CommandUser, key: str | None, where: Where = None
) -> str:
    """Tell what applies in a channel, and where each value comes from."""
    asker.must_see_settings()
    setting = None if key is None else _setting(key)
    here = await settings_in(context.db, context.settings(), where or asker.path)
    if setting is not None:
        return _explained(setting, here, context.settings())
    listed = "\n".join(_line(one, here) for one in SERVER_KEYS.values())
    return f"```\n{listed}\n```{translated(_LEGEND)}"


async def set_config(
    context: CommandContext,
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
    if setting.name == "display_mode" and value not in context.services.plug_ins.mode_names:
        known = ", ".join(context.services.plug_ins.mode_names)
        raise CommandRefusedError(
            translated(
                "display_mode: {text!r} is not installed; there are: {known}",
                text=text,
                known=known,
            )
        )
    if setting.name in PERSONA_KEYS and value:
        value = (await found(context, asker.server_id, value)).name
    stored = await context.db.servers.settings(asker.server_id)
    above = stored.layers(() if where is None else where.ids)
    check_together(context.settings(), {setting.name: value}, *above)
    place_id = WHOLE_SERVER if where is None else where.channel_id
    await context.db.servers.set_config(asker.server_id, setting.name, value, place_id)
    now = effective(context.settings(), {setting.name: value}, *above)
    remarks = f"{_remark(setting, now)}{_readers_language(setting)}"
    more = f"{'' if where else _exceptions(stored, setting.name)}{remarks}"
    return translated(
        "`{name}` is now {setting}{where}.{more}",
        name=setting.name,
        setting=_told(setting, value),
        where=_in(where),
        more=more,
    )


async def reset_config(
    context: CommandContext, asker: CommandUser, key: str, where: Where = None
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
    again = (
        translated("has its default again")
        if where is None
        else translated("is inherited again{where}", where=_in(where))
    )
    return f"`{name}` {again}: {_told(SERVER_KEYS[name], _value(SERVER_KEYS[name], now))}."


def known_keys(typed: str) -> Choices:
    shown = ((f"{key}: {setting.what}", key) for key, setting in SERVER_KEYS.items())
    return choices(typed, shown)


def resettable_keys(typed: str) -> Choices:
    return choices(typed, [(translated("all of them"), ALL), *((key, key) for key in SERVER_KEYS)])


def known_values(key: str, typed: str) -> Choices:
    """Return the values to choose from. Numbers and lists must be typed."""
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
        translated("{name}: no such setting; {name2}", name=name[:MOST_SHOWN], name2=_meant(name))
    )


def _meant(name: str) -> str:
    """Suggest settings with a similar name, or a name that contains the word."""
    alike = get_close_matches(name, SERVER_KEYS, n=MOST_MEANT)
    part = [known for known in SERVER_KEYS if name and name in known]
    near = list(dict.fromkeys([*alike, *part]))[:MOST_MEANT]
    if not near:
        return translated("`/config show` lists them")
    return translated("did you mean {repr}?", repr=" or ".join(map(repr, near)))


def _in(where: Where) -> str:
    return "" if where is None else translated(" in <#{channel_id}>", channel_id=where.channel_id)


def _exceptions(stored: StoredSettings, key: str) -> str:
    """Name the channels that a change of the server does not reach."""
    own = [f"<#{one}>" for one, values in stored.channels.items() if key in values]
    more = (
        translated(" and {value} more", value=len(own) - MOST_NAMED)
        if len(own) > MOST_NAMED
        else ""
    )
    return (
        translated(
            " Not in {own}{more}, with a value of its own.",
            own=", ".join(own[:MOST_NAMED]),
            more=more,
        )
        if own
        else ""
    )


def _explained(setting: Setting, here: InheritedSettings, operators: LoadedSettings) -> str:
    allowed, default = allowed_here(operators, setting), _shown(setting.default)
    value = _told(setting, _value(setting, here.now))
    place = _in(here.path) if here.path.server_id else ""
    origin_words = here.origin_of(setting, operators)
    return translated(
        "`{name}` is {value}{place} (from {origin_words}): {what}.\nAllowed: {allowed}. "
        "Built-in default: `{default}`.{setting}{setting2}",
        name=setting.name,
        value=value,
        place=place,
        origin_words=origin_words,
        what=setting.what,
        allowed=allowed,
        default=default,
        setting=_operators_quota(setting, operators),
        setting2=_remark(setting, here.now),
    )


def _remark(setting: Setting, now: EffectiveSettings) -> str:
    """Return what the setting does not do together with another one."""
    remark = live_remark(now.stream) if setting.name in LIVE_KEYS else ""
    return translated("\nNote: {remark}.", remark=remark) if remark else ""


def _readers_language(setting: Setting) -> str:
    """Return why the answer is not in the language that was just set."""
    if setting.name != "language":
        return ""
    remark = translated("answers to commands stay in the language of your Discord")
    return translated("\nNote: {remark}.", remark=remark)


def _operators_quota(setting: Setting, operators: LoadedSettings) -> str:
    most = operators.value(setting.name) if is_quota(setting.name) else 0
    return (
        translated(" On the keys of whoever runs the bot: {most:,} at most.", most=most)
        if most
        else ""
    )


def _line(setting: Setting, here: InheritedSettings) -> str:
    text = _shown(_value(setting, here.now))
    text = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
    level = here.level_of(setting.name)
    return f"  {setting.name} = {text}" if level is None else f"* {setting.name} = {text} ({level})"


def _value(setting: Setting, now: EffectiveSettings) -> Any:
    homes: dict[type, object] = {
        TextConfig: now.stream.text,
        StreamConfig: now.stream,
        TurnConfig: now.turn,
    }
    return getattr(homes[setting.section], setting.name)


def _told(setting: Setting, value: Any) -> str:
    """Format a value for Discord: channels and people as mentions, the rest as typed."""
    sign = setting.about.get("mention")
    if not sign or not value:
        return f"`{_shown(value)}`"
    many = value if isinstance(value, list | tuple) else [value]
    return ", ".join(f"<{sign}{one}>" for one in many)


def _shown(value: Any) -> str:
    """Format a value as it would be typed, without backticks that could end a code span."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)).replace("`", "'") or "(none)"
    return str(value).replace("`", "'") or "(none)"


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
    interaction: Interaction, key: str | None = None, place: PlaceOption | None = None
) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, show_config(context, asker, key, where))


@config.command(name="set", description="Change a setting for this server, or for one channel")
@app_commands.rename(place="in")
@app_commands.describe(
    key="Which setting", value="Its new value; lists with commas", place=_ONLY_IN
)
async def set_(
    interaction: Interaction, key: str, value: str, place: PlaceOption | None = None
) -> None:
    def has_channel(channel_id: int) -> bool:
        found, member = seen_channel(interaction, channel_id), interaction.user
        if found is None or not isinstance(member, discord.Member):
            return False
        return found.permissions_for(member).send_messages

    context, asker, where = asked_in(interaction, place)
    await answer(interaction, set_config(context, asker, key, value, has_channel, where))


@config.command(description="Set one setting, or all of them, back to what is inherited")
@app_commands.rename(place="in")
@app_commands.describe(key=f"One setting, or: {ALL}", place=_ONLY_IN)
async def reset(interaction: Interaction, key: str, place: PlaceOption | None = None) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, reset_config(context, asker, key, where))


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
