"""All settings, collected from where each is declared: its default, range and description.

The declarations are in `text.config`, `delivery.config`, `bot.conversation.turn_config` and
`bot.config.process`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

from oshaberi.bot.config.process import ProcessConfig
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.delivery.config import StreamConfig
from oshaberi.errors import Sentence
from oshaberi.text.config import TextConfig

# Settings that had another name in an earlier release.
#
# If you use an old name, an error tells you the new one. Values that a server's admins stored
# under an old name still apply. A test compares the settings of each release with this table.


RENAMED: dict[str, str] = {}
"""The new name by the old one. No release has renamed a setting so far."""


def with_new_names(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by their present names. A value under its present name wins."""
    moved = {RENAMED[key]: value for key, value in stored.items() if key in RENAMED}
    return {**moved, **{key: value for key, value in stored.items() if key not in RENAMED}}


SECTIONS: tuple[type, ...] = (TextConfig, StreamConfig, TurnConfig, ProcessConfig)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `about` is its declaration: range, choices, and so on."""

    name: str
    section: type
    default: Any
    about: Mapping[str, Any]

    @property
    def what(self) -> str:
        return str(self.about["what"])

    @property
    def allowed(self) -> Sentence:
        """Describe the allowed values, in words that follow "is not"."""
        about = self.about
        if "low" in about:
            low, high = about["low"], about["high"]
            return Sentence("a whole number from {low} to {high}", low=low, high=high)
        if "choices" in about:
            return Sentence("one of: {choices}", choices=", ".join(about["choices"]))
        if "table" in about:
            return Sentence(str(about["table"]))
        return next(words for kind, words in _WORDS.items() if kind in about)

    @property
    def is_secret(self) -> bool:
        return "secret" in self.about


_WORDS = {
    "switch": Sentence("true or false"),
    "fraction": Sentence("a number from 0 to 1"),
    "strings": Sentence("a list of texts that are not empty"),
    "ids": Sentence("a list of ids"),
    "path": Sentence("a path"),
    "emoji": Sentence("an emoji, the name of one of the server's own (`:wave:`), or `none`"),
    "name": Sentence("a name, or nothing"),
    "passage": Sentence("a text, or nothing"),
    "text": Sentence("a text"),
}


def _settings(section: type) -> Iterable[Setting]:
    for declared in fields(section):
        if "what" in declared.metadata:
            yield Setting(declared.name, section, _default(declared), declared.metadata)


def _default(declared: Field[Any]) -> Any:
    if declared.default_factory is not MISSING:
        return declared.default_factory()
    return declared.default


DECLARED: Mapping[str, Setting] = {
    setting.name: setting for section in SECTIONS for setting in _settings(section)
}


# Which settings a server's admins may change, and which of them a channel may have of its own.


OPERATOR_KEYS = frozenset({"suppress_text_output", "suppress_user_errors", "web_page_tool_enabled"})
"""Only the operator may set these: with them, admins could mute errors or use the operator's
network."""

SERVER_KEYS: Mapping[str, Setting] = {
    key: setting
    for key, setting in DECLARED.items()
    if setting.section is not ProcessConfig and key not in OPERATOR_KEYS
}
SERVER_ONLY_KEYS = frozenset(
    {"auto_channels", "allowed_channels", "blocked_channels", "picture_channel_id"}
    | {"schedules_per_server", "birthday_channel_id", "event_channel_id"}
) | {key for key in SERVER_KEYS if key.endswith("_per_server_day")}
"""Settings that list channels or apply to the whole server, so that no channel has its own
value."""


def within(section: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that belong to one section."""
    return {key: value for key, value in values.items() if DECLARED[key].section is section}


def near(key: str, known: Iterable[str]) -> Sentence:
    """Suggest the setting that was probably meant, as the end of an error message."""
    from difflib import get_close_matches

    new_name = RENAMED.get(key.lower())
    if new_name is not None:
        return Sentence("; its name is {name!r} now", name=new_name)
    found = get_close_matches(key.lower(), list(known), n=1)
    if found:
        return Sentence("; did you mean {name!r}?", name=found[0])
    return Sentence("; `oshaberi settings` lists them")
