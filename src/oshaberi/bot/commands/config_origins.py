"""For `/config`: which settings apply in one channel, and where each value comes from.

`config.inherited_settings` decides which value applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from oshaberi.config import EffectiveSettings, LoadedSettings, Setting, effective
from oshaberi.config.inherited_settings import origin
from oshaberi.conversation.channel_path import ChannelPath
from oshaberi.languages import translated
from oshaberi.storage import Database
from oshaberi.storage.stored_records import StoredSettings

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
