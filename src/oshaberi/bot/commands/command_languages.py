"""Translates commands: what Discord shows of them, and what they answer.

Names of commands and options stay English, so that every text and guide can name them. Descriptions
and the names of choices are translated.
"""

from __future__ import annotations

from typing import Any

import discord
from discord import app_commands
from discord.app_commands import TranslationContextLocation as Location

from oshaberi.languages import in_language, speak_language, translated
from oshaberi.languages.language_choice import reader_language
from oshaberi.languages.translation_catalogues import CATALOGUES

TRANSLATED = frozenset(
    {
        Location.command_description,
        Location.group_description,
        Location.parameter_description,
        Location.choice_name,
    }
)
DESCRIPTION_LIMIT = 100


class CommandTranslator(app_commands.Translator):
    """Gives Discord the descriptions of all languages that have a catalogue."""

    def __init__(self) -> None:
        # Each sentence is asked for in each of Discord's thirty languages.
        self._locales = frozenset(
            one for one in discord.Locale if CATALOGUES.has(reader_language(one.value))
        )

    async def translate(
        self,
        string: app_commands.locale_str,
        locale: discord.Locale,
        context: app_commands.TranslationContextTypes,
    ) -> str | None:
        if locale not in self._locales or context.location not in TRANSLATED:
            return None
        with in_language(reader_language(locale.value)):
            said = translated(string.message)
        # Discord refuses all commands if one description is too long.
        return None if said == string.message or len(said) > DESCRIPTION_LIMIT else said


def speak_to_user(interaction: discord.Interaction[Any]) -> None:
    """Answer in the language of the user's Discord client, and remember it for notices."""
    locale = interaction.locale.value
    speak_language(reader_language(locale))
    reader = getattr(interaction.client, "reader", None)
    if reader is not None:
        reader.locales.put(interaction.user.id, locale)
        if interaction.guild_id is None and interaction.channel_id is not None:
            reader.locales.put(interaction.channel_id, locale)
