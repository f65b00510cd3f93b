"""Phrases the answers of `/config`: values, where they come from, and remarks on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from oshaberi.bot.commands.command_context import in_place
from oshaberi.bot.config import LoadedSettings, Setting, effective
from oshaberi.bot.config.server_settings import allowed_here, is_quota, origin
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import StoredSettings
from oshaberi.delivery.config import StreamConfig, live_remark
from oshaberi.discord_io.requests.parameters import shortened
from oshaberi.languages import said, translatable, translated
from oshaberi.languages.current_language import AUTO
from oshaberi.languages.translations import CATALOGUES
from oshaberi.text.config import TextConfig

# Which settings apply in one channel, and where each value comes from.
# `bot.config.server_settings` decides which value applies.


Level = Literal["here", "channel", "category", "server"]


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """The settings that apply in the channel of `path`."""

    path: ChannelPath
    stored: StoredSettings
    now: EffectiveSettings

    def level_of(self, key: str) -> Level | None:
        """Return which place has the value: this one or one above; None if it is the operator's."""
        path, place_id = self.path, self._origin(key)
        if place_id is None:
            return None
        levels: dict[int | None, Level] = {
            path.category_id: "category",
            path.parent_id: "channel",
            path.channel_id: "here",
        }
        return levels.get(place_id, "server")

    def origin_of(self, setting: Setting, operators: LoadedSettings) -> str:
        """Say where a value comes from, in words that follow "from"."""
        place_id, level = self._origin(setting.name), self.level_of(setting.name)
        if place_id is None:
            is_changed = operators.value(setting.name) != setting.default
            if is_changed:
                return translated("whoever runs the bot")
            return translated("the built-in default")
        match level:
            case "category":
                return translated("the category <#{place_id}>", place_id=place_id)
            case "channel":
                return translated("the channel <#{place_id}>", place_id=place_id)
            case "here":
                return translated("here")
        return (
            translated("this server") if self.path.server_id else translated("all direct messages")
        )

    def _origin(self, key: str) -> int | None:
        """Return the id of the place that has the value; 0 is the server."""
        number = origin(self.stored.layers(self.path.ids), key)
        places = (*(one for one in self.path.ids if one in self.stored.channels), 0)
        return None if number is None else places[number]


async def settings_in(
    db: Database, operators: LoadedSettings, path: ChannelPath
) -> ChannelSettings:
    stored = await db.servers.settings(path.server_id)
    return ChannelSettings(path, stored, effective(operators, *stored.layers(path.ids)))


# The words of the answers.


LIVE_KEYS = frozenset({"delivery", "notify", "display_mode"})
MOST_SHOWN = 60
MOST_NAMED = 5
_NOTHING = translatable("(none)")
_LEVELS: dict[Level, str] = {
    "here": translatable("here"),
    "channel": translatable("channel"),
    "category": translatable("category"),
    "server": translatable("server"),
}


def explain_setting(setting: Setting, here: ChannelSettings, operators: LoadedSettings) -> str:
    allowed, default = allowed_here(operators, setting), _plain_value(setting.default)
    value = format_value(setting, value_of(setting, here.now))
    place = in_place(here.path) if here.path.server_id else ""
    origin_words = here.origin_of(setting, operators)
    return translated(
        "`{name}` is {value}{place} (from {origin}): {what}.\nAllowed: {allowed}. "
        "Built-in default: `{default}`.{quota}{remark}",
        name=setting.name,
        value=value,
        place=place,
        origin=origin_words,
        what=translated(setting.what),
        allowed=said(allowed),
        default=default,
        quota=_operators_quota(setting, operators),
        remark=remark_on(setting, here.now),
    )


def setting_line(setting: Setting, here: ChannelSettings) -> str:
    text = " ".join(_plain_value(value_of(setting, here.now)).split())
    text = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
    level = here.level_of(setting.name)
    if level is None:
        return f"  {setting.name} = {text}"
    return f"* {setting.name} = {text} ({translated(_LEVELS[level])})"


def own_values_note(stored: StoredSettings, *keys: str) -> str:
    """Name the channels with values of their own, which a change for the server does not affect."""
    changed = set(keys)
    own = [f"<#{one}>" for one, values in stored.channels.items() if changed & values.keys()]
    more = (
        translated(" and {number} more", number=len(own) - MOST_NAMED)
        if len(own) > MOST_NAMED
        else ""
    )
    return (
        translated(
            " This does not apply where a value is set: {own}{more}.",
            own=", ".join(own[:MOST_NAMED]),
            more=more,
        )
        if own
        else ""
    )


def remark_on(setting: Setting, now: EffectiveSettings) -> str:
    """Return a remark if the setting does not work together with another one."""
    remark = live_remark(now.stream) if setting.name in LIVE_KEYS else ""
    return translated("\nNote: {remark}.", remark=said(remark)) if remark else ""


def language_note(setting: Setting, now: EffectiveSettings) -> str:
    """Explain why this answer, or every answer, is not in the language that was just set."""
    if setting.name != "language":
        return ""
    language = now.turn.language
    if language == AUTO or CATALOGUES.has(language):
        remark = translated("answers to commands stay in the language of your Discord")
    else:
        remark = translated(
            "there is no translation into {language} here, so the bot speaks English",
            language=language,
        )
    return translated("\nNote: {remark}.", remark=remark)


def _operators_quota(setting: Setting, operators: LoadedSettings) -> str:
    most = operators.value(setting.name) if is_quota(setting.name) else 0
    return (
        translated(" On the keys of whoever runs the bot: {most:,} at most.", most=most)
        if most
        else ""
    )


def value_of(setting: Setting, now: EffectiveSettings) -> Any:
    homes: dict[type, object] = {
        TextConfig: now.stream.text,
        StreamConfig: now.stream,
        TurnConfig: now.turn,
    }
    return getattr(homes[setting.section], setting.name)


def format_value(setting: Setting, value: Any) -> str:
    """Format a value for Discord: channels and people as mentions, the rest as users type it."""
    sign = setting.about.get("mention")
    if "passage" in setting.about:
        return f"`{shortened(' '.join(_plain_value(value).split()), MOST_SHOWN)}`"
    if not sign or not value:
        return f"`{_plain_value(value)}`"
    many = value if isinstance(value, list | tuple) else [value]
    return ", ".join(f"<{sign}{one}>" for one in many)


def _plain_value(value: Any) -> str:
    """Format a value as users type it, without backticks that could end a code span."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)).replace("`", "'") or translated(_NOTHING)
    return str(value).replace("`", "'") or translated(_NOTHING)
