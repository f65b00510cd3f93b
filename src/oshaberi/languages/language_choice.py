"""Chooses the language for a channel, and for the user of a command."""

from __future__ import annotations

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
