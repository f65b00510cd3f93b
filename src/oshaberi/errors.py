"""Every error Oshaberi raises on purpose. The message says what is wrong and what to do."""

from __future__ import annotations

from typing import Self


class Sentence(str):
    """An English text that knows its template and values: `languages.said` translates it.

    `Sentence("{key}: {value!r} is not {allowed}", …)` is the English text to everybody else. A
    value may be a Sentence itself.
    """

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        made = super().__new__(cls, template.format(**values) if values else template)
        made.template, made.values = template, values
        return made


class OshaberiError(Exception):
    """The base class: catch this to catch all of ours."""


class ConfigError(OshaberiError):
    """A setting has an invalid value. The message names the key, the value and what is allowed."""


class TemporaryError(OshaberiError):
    """Something is missing that may come back by itself, so a later start can help."""


class AddressUnavailableError(ConfigError, TemporaryError):
    """Nothing answers at an address that the settings name, or another program uses it."""


class SceneError(OshaberiError):
    """A scene file cannot be used. The message names the file, the key and the reason."""


class EngineClosedError(OshaberiError):
    """A text engine was fed after its stream had ended. It serves one stream."""
