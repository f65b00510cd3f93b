"""`/config`: shows and changes a server's settings, from their declarations."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import discord
from discord import app_commands

from oshaberi.bot.client.incoming_messages import may_see
from oshaberi.bot.commands.command_answers import Choices, answer, choices
from oshaberi.bot.commands.command_context import (
    MANAGER,
    CommandContext,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
)
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
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.degree_policy import live_remark
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.text.text_config import TextConfig

CHANNEL_KEYS = frozenset({"thought_log_channel_id"})
LIVE_KEYS = frozenset({"delivery", "notify", "display_mode"})
MOST_SHOWN = 60
ALL = "all"
"""To be said in so many letters: nobody resets a server by pressing Enter twice."""
MOST_MEANT = 3

HasChannel = Callable[[int], bool]
"""Whether the server has a channel of that id in which the asker may write."""


async def show_config(context: CommandContext, asker: CommandUser, key: str | None) -> str:
    asker.must_see_settings()
    changed = await context.db.servers.config(asker.server_id)
    now = effective(context.settings(), changed)
    if key is not None:
        return _explained(_setting(key), now, key in changed, context.settings())
    lines = [_line(setting, now, setting.name in changed) for setting in SERVER_KEYS.values()]
    listed = "\n".join(lines)
    return f"```\n{listed}\n```* changed here. `/config show KEY` explains one."


async def set_config(
    context: CommandContext, asker: CommandUser, key: str, text: str, has_channel: HasChannel
) -> str:
    asker.must_manage()
    setting = _setting(key)
    value = parse_server_value(setting.name, text)
    check_limit(context.settings(), setting.name, value)
    if setting.name in CHANNEL_KEYS and value and not has_channel(value):
        raise CommandRefusedError(
            f"{setting.name}: {text} is not a channel of this server; write it like #logs."
        )
    if setting.name == "display_mode" and value not in context.services.plug_ins.mode_names:
        known = ", ".join(context.services.plug_ins.mode_names)
        raise CommandRefusedError(f"display_mode: {text!r} is not installed; there are: {known}")
    stored = await context.db.servers.config(asker.server_id)
    check_together(context.settings(), {**stored, setting.name: value})
    await context.db.servers.set_config(asker.server_id, setting.name, value)
    now = effective(context.settings(), {**stored, setting.name: value})
    return f"`{setting.name}` is now {_told(setting, value)}.{_remark(setting, now)}"


async def reset_config(context: CommandContext, asker: CommandUser, key: str) -> str:
    asker.must_manage()
    name = None if key.strip().lower() == ALL else _setting(key).name
    await context.db.servers.reset_config(asker.server_id, name)
    if name is None:
        return "All settings of this server have their defaults again."
    now = effective(context.settings(), await context.db.servers.config(asker.server_id))
    setting = SERVER_KEYS[name]
    return f"`{name}` has its default again: {_told(setting, _value(setting, now))}."


def known_keys(typed: str) -> Choices:
    shown = ((f"{key}: {setting.what}", key) for key, setting in SERVER_KEYS.items())
    return choices(typed, shown)


def resettable_keys(typed: str) -> Choices:
    return choices(typed, [("all of them", ALL), *((key, key) for key in SERVER_KEYS)])


def known_values(key: str, typed: str) -> Choices:
    """Return the values to choose from. Numbers and lists must be typed."""
    about = SERVER_KEYS[key].about if key in SERVER_KEYS else {}
    words = ("true", "false") if "switch" in about else about.get("choices", ())
    return choices(typed, ((word, word) for word in words))


def _setting(key: str) -> Setting:
    name = key.strip().lower()
    if name in SERVER_KEYS:
        return SERVER_KEYS[name]
    if name in DECLARED:
        raise CommandRefusedError(f"{name}: is set by whoever runs the bot")
    raise CommandRefusedError(f"{name[:MOST_SHOWN]}: no such setting; {_meant(name)}")


def _meant(name: str) -> str:
    """Suggest settings with a similar name, or a name that contains the word."""
    alike = get_close_matches(name, SERVER_KEYS, n=MOST_MEANT)
    part = [known for known in SERVER_KEYS if name and name in known]
    near = list(dict.fromkeys([*alike, *part]))[:MOST_MEANT]
    if not near:
        return "`/config show` lists them"
    return f"did you mean {' or '.join(map(repr, near))}?"


def _explained(
    setting: Setting, now: EffectiveSettings, changed: bool, operators: LoadedSettings
) -> str:
    where = "changed here" if changed else "not changed here"
    allowed, default = allowed_here(operators, setting), _shown(setting.default)
    return (
        f"`{setting.name}` is {_told(setting, _value(setting, now))} ({where}): {setting.what}.\n"
        f"Allowed: {allowed}. Built-in default: `{default}`.{_operators_quota(setting, operators)}"
        f"{_remark(setting, now)}"
    )


def _remark(setting: Setting, now: EffectiveSettings) -> str:
    """Return what the setting does not do together with another one."""
    remark = live_remark(now.stream) if setting.name in LIVE_KEYS else ""
    return f"\nNote: {remark}." if remark else ""


def _operators_quota(setting: Setting, operators: LoadedSettings) -> str:
    most = operators.value(setting.name) if is_quota(setting.name) else 0
    return f" On the keys of whoever runs the bot: {most:,} at most." if most else ""


def _line(setting: Setting, now: EffectiveSettings, changed: bool) -> str:
    text = _shown(_value(setting, now))
    text = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
    return f"{'*' if changed else ' '} {setting.name} = {text}"


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
    return str(value).replace("`", "'")


config = app_commands.Group(
    name="config", description="How the bot writes here", default_permissions=MANAGER
)


@config.command(description="Show all settings, or explain one")
@app_commands.describe(key="One setting; all if left out")
async def show(interaction: Interaction, key: str | None = None) -> None:
    await answer(interaction, show_config(context_of(interaction), asker_of(interaction), key))


@config.command(name="set", description="Change a setting for this server")
@app_commands.describe(key="Which setting", value="Its new value; lists with commas")
async def set_(interaction: Interaction, key: str, value: str) -> None:
    def has_channel(channel_id: int) -> bool:
        guild, member = interaction.guild, interaction.user
        place = None if guild is None else guild.get_channel_or_thread(channel_id)
        if place is None or not isinstance(member, discord.Member) or not may_see(place, member):
            return False
        return place.permissions_for(member).send_messages

    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, set_config(context, asker, key, value, has_channel))


@config.command(description="Set one setting, or all of them, back to the default")
@app_commands.describe(key=f"One setting, or: {ALL}")
async def reset(interaction: Interaction, key: str) -> None:
    await answer(interaction, reset_config(context_of(interaction), asker_of(interaction), key))


@show.autocomplete("key")
@set_.autocomplete("key")
async def _keys(_interaction: Interaction, typed: str) -> Choices:
    return known_keys(typed)


@reset.autocomplete("key")
async def _resettable(_interaction: Interaction, typed: str) -> Choices:
    return resettable_keys(typed)


@set_.autocomplete("value")
async def _values(interaction: Interaction, typed: str) -> Choices:
    return known_values(str(interaction.namespace.key or ""), typed)


COMMANDS = (config,)
