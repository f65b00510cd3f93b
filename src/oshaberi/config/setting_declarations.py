"""Every setting there is, as declared: by name, with what it allows, in words and as a type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

from oshaberi.config.process_config import ProcessConfig
from oshaberi.config.renamed_settings import RENAMED
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.text.text_config import TextConfig

SECTIONS: tuple[type, ...] = (TextConfig, StreamConfig, TurnConfig, ProcessConfig)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `about` has its declaration: range, choices, and so on."""

    name: str
    section: type
    default: Any
    about: Mapping[str, Any]

    @property
    def what(self) -> str:
        return str(self.about["what"])

    @property
    def allowed(self) -> str:
        """Describe the allowed values, to be used after "is not"."""
        about = self.about
        if "low" in about:
            return f"a whole number from {about['low']} to {about['high']}"
        if "choices" in about:
            return f"one of: {', '.join(about['choices'])}"
        if "table" in about:
            return str(about["table"])
        return next(words for kind, words in _WORDS.items() if kind in about)

    @property
    def is_secret(self) -> bool:
        return "secret" in self.about


_WORDS = {
    "switch": "true or false",
    "fraction": "a number from 0 to 1",
    "strings": "a list of texts that are not empty",
    "ids": "a list of ids",
    "path": "a path",
    "name": "a name, or nothing",
    "text": "a text",
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


def within(section: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of `values` that belong to one section."""
    return {key: value for key, value in values.items() if DECLARED[key].section is section}


def near(key: str, known: Iterable[str]) -> str:
    """Suggest the key that was probably meant, for the end of an error message."""
    from difflib import get_close_matches

    new_name = RENAMED.get(key.lower())
    if new_name is not None:
        return f"; its name is {new_name!r} now"
    found = get_close_matches(key.lower(), list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else "; docs/settings.md lists them"
