"""The language of the current task, how it is chosen, and sentences translated into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from oshaberi.errors import Sentence
from oshaberi.languages.translations import CATALOGUES, ENGLISH

_language: ContextVar[str] = ContextVar("oshaberi_language", default=ENGLISH)


def language_now() -> str:
    """Return the code of the current language, as Discord writes it: `en`, `ja`, `pt-BR`."""
    return _language.get()


def speak_language(code: str) -> None:
    """Set the language of the current task, and of tasks that it starts from now on."""
    _language.set(code)


@contextmanager
def in_language(code: str) -> Iterator[None]:
    """Use a language inside the block."""
    before = _language.set(code)
    try:
        yield
    finally:
        _language.reset(before)


def translatable(sentence: str) -> str:
    """Mark a sentence in a table, which is translated where it is used."""
    return sentence


def translated(sentence: str, /, **values: object) -> str:
    """Return a sentence in the current language, with its `{placeholders}` filled in."""
    return _fill(CATALOGUES.sentence(_language.get(), sentence), values)


def said(text: str) -> str:
    """Return a text in the current language if it is a Sentence, else as it is."""
    if not isinstance(text, Sentence):
        return text
    values = {
        name: said(value) if isinstance(value, str) else value
        for name, value in text.values.items()
    }
    return translated(text.template, **values)


def translated_count(one: str, many: str, count: int, /, **values: object) -> str:
    """Return the form of a sentence that fits a number, which is its `{count}`."""
    sentence = CATALOGUES.counted(_language.get(), one, many, count)
    return _fill(sentence, {"count": count, **values})


def _fill(sentence: str, values: Mapping[str, object]) -> str:
    """Fill in the values. Catalogues contain no translation with other placeholders."""
    return sentence.format(**values) if values else sentence


# The choice of a language: for a channel, and for the user of a command.


AUTO = "auto"
DISCORD_LOCALES = (
    "bg",
    "cs",
    "da",
    "de",
    "el",
    "es-419",
    "es-ES",
    "fi",
    "fr",
    "hi",
    "hr",
    "hu",
    "id",
    "it",
    "ja",
    "ko",
    "lt",
    "nl",
    "no",
    "pl",
    "pt-BR",
    "ro",
    "ru",
    "sv-SE",
    "th",
    "tr",
    "uk",
    "vi",
    "zh-CN",
    "zh-TW",
)
"""The languages of Discord's clients, without the English ones."""


def channel_language(setting: str, locale: str) -> str:
    """Return the language of a channel: the setting `language`, or the server's own."""
    return reader_language(locale) if setting == AUTO else setting


def reader_language(locale: str) -> str:
    """Return the catalogue's code for a locale of Discord. All English locales share one."""
    return "en" if not locale or locale.startswith("en") else locale
