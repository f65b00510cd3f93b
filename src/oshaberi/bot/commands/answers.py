"""Answers commands: privately, in time, without pings, in the user's language, also on failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

import aiohttp
import discord
from discord import app_commands
from discord.app_commands import TranslationContextLocation as Location

from oshaberi.bot.commands.command_context import (
    CHOICE_LIMIT,
    Command,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
)
from oshaberi.bot.faces.pictures import PictureRefusedError
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.discord_io.requests.parameters import DESCRIPTION_LIMIT, shortened
from oshaberi.errors import ConfigError
from oshaberi.languages import in_language, said, speak_language, translatable, translated
from oshaberi.languages.current_language import reader_language
from oshaberi.languages.translations import CATALOGUES
from oshaberi.secret_redaction import redact
from oshaberi.turn_tracing import TurnIds, of_turn

# Translation: what Discord shows about a command, and what the command answers.
#
# Names of commands and options stay English, so that every text and guide can name them.
# Descriptions and the names of choices are translated.


TRANSLATED = frozenset(
    {
        Location.command_description,
        Location.group_description,
        Location.parameter_description,
        Location.choice_name,
    }
)
COMMAND_DESCRIPTION_LIMIT = 100


class CommandTranslator(app_commands.Translator):
    """Gives Discord the descriptions in all languages that have a catalogue."""

    def __init__(self) -> None:
        # Discord.py asks for each sentence in each of Discord's thirty languages.
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
            text = translated(string.message)
        # Discord refuses all commands if one description is too long.
        return None if text == string.message or len(text) > COMMAND_DESCRIPTION_LIMIT else text


def speak_to_user(interaction: discord.Interaction[Any]) -> None:
    """Answer in the language of the user's Discord client, and remember it for notices."""
    locale = interaction.locale.value
    speak_language(reader_language(locale))
    reader = getattr(interaction.client, "reader", None)
    if reader is not None:
        reader.locales.put(interaction.user.id, locale)
        if interaction.guild_id is None and interaction.channel_id is not None:
            reader.locales.put(interaction.channel_id, locale)


log = logging.getLogger(__name__)

PATIENCE_S = 1.5
"""Half of the three seconds Discord waits for a first answer."""
CONFIRMATION_S = 120.0
MESSAGE_LIMIT = 1900
MOST_CHOICES = 25
MOST_QUOTED = 30
MOST_DIGITS = 18
"""Numbers with more digits do not fit into a column of the database."""
AWAY = translatable(
    "The bot cannot use its database right now, so nothing was changed. Please try again later."
)
UNEXPECTED = translatable(
    "Something went wrong on our side. It was logged; please try again later."
)
OUTDATED = translatable(
    "This command has changed since your Discord loaded it. Reload Discord, then try again."
)
_CHANGED = (app_commands.CommandNotFound, app_commands.CommandSignatureMismatch)
TOO_LATE = frozenset({10062, 40060, 10015, 50027})
"""Codes of an interaction that cannot be answered any more."""

Choices = list[app_commands.Choice[str]]


async def answer(interaction: Interaction, work: Coroutine[Any, Any, str]) -> None:
    """Run `work` and tell the user what it returns.

    If it takes long, Discord shows that the bot is thinking.
    """
    task = asyncio.create_task(work)
    done, _waiting = await asyncio.wait({task}, timeout=PATIENCE_S)
    if not done:
        # It is too late for Discord, but the work goes on.
        with suppress(discord.HTTPException):
            await interaction.response.defer(ephemeral=True, thinking=True)
    text = await task
    await tell(interaction, text)


async def tell(interaction: Interaction, text: str) -> None:
    """Send a text that only the user of the command sees. A long text becomes an embed."""
    payload: dict[str, Any] = {"content": text}
    if len(text) > MESSAGE_LIMIT:
        payload = {"embed": discord.Embed(description=shortened(text, DESCRIPTION_LIMIT))}
    payload |= {"ephemeral": True, "allowed_mentions": discord.AllowedMentions.none()}
    if interaction.response.is_done():
        await interaction.followup.send(**payload)
    else:
        await interaction.response.send_message(**payload)


async def tell_error(interaction: Interaction, error: Exception) -> None:
    """Tell the user about an error in one line. Unexpected errors are logged as well."""
    cause = error
    if isinstance(error, app_commands.CommandInvokeError):
        cause = error.original
    if _is_too_late(cause):
        log.warning("%s was answered too late: %s", _name(interaction), cause)
        return
    text = _error_text(cause)
    with of_turn(_ids(interaction)):
        if text == translated(AWAY):
            log.warning("%s failed: %s", _name(interaction), cause)
        elif text == translated(UNEXPECTED):
            log.error("%s failed: %r", _name(interaction), cause, exc_info=cause)
    try:
        await tell(interaction, text)
    except (discord.HTTPException, aiohttp.ClientError, OSError) as worse:
        log.warning("%s: its error could not be told: %s", _name(interaction), worse)


class CommandForm(discord.ui.Modal):
    """A modal. `take` gets the sender and the values, and returns the text of the answer.

    The sender's permissions are checked again on submit: they may have changed while the modal was
    open.
    """

    def __init__(
        self,
        title: str,
        fields: Iterable[discord.ui.TextInput[Any]],
        take: Callable[[CommandUser, dict[str, str]], Awaitable[str]],
    ) -> None:
        super().__init__(title=shortened(title, 45))
        self._take = take
        self._inputs = tuple(fields)
        for field in self._inputs:
            self.add_item(field)

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        speak_to_user(interaction)
        return True

    async def on_submit(self, interaction: Interaction, /) -> None:
        for field in self._inputs:
            if field.max_length is None or len(field.value) > field.max_length:
                raise CommandRefusedError(too_long(field.value, field.max_length or 0))
        values = {field.custom_id: field.value.strip() for field in self._inputs}
        await answer(interaction, self._submit(asker_of(interaction), values))

    async def _submit(self, asker: CommandUser, values: dict[str, str]) -> str:
        return await self._take(asker, values)

    async def on_error(  # type: ignore[override]  # as discord.py's own Modal has it
        self, interaction: Interaction, error: Exception, /
    ) -> None:
        await tell_error(interaction, error)


class ConfirmationView(discord.ui.View):
    """Asks for confirmation before something is deleted.

    `work` gets the user who pressed the button, with their permissions at that moment.
    """

    def __init__(
        self,
        label: str,
        work: Callable[[CommandUser], Coroutine[Any, Any, str]],
        *,
        deletes: bool = True,
        let_go: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(timeout=CONFIRMATION_S)
        self._work = work
        self._deletes = deletes
        self._let_go = let_go
        style = discord.ButtonStyle.danger if deletes else discord.ButtonStyle.primary
        self._button(label, style, self._confirm)
        self._button("Cancel", discord.ButtonStyle.secondary, self._cancel)

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        speak_to_user(interaction)
        return True

    def _button(
        self,
        label: str,
        style: discord.ButtonStyle,
        run: Callable[[Interaction], Coroutine[Any, Any, None]],
    ) -> None:
        button: discord.ui.Button[Any] = discord.ui.Button(label=label, style=style)
        button.callback = run  # type: ignore[assignment,method-assign]  # as discord.py does it
        self.add_item(button)

    async def _confirm(self, interaction: Interaction) -> None:
        self.stop()
        try:
            await interaction.response.defer()
            await self._instead(interaction, await self._work(asker_of(interaction)))
        finally:
            self._let_go()

    async def on_timeout(self) -> None:
        self._let_go()

    async def _cancel(self, interaction: Interaction) -> None:
        self.stop()
        self._let_go()
        await interaction.response.defer()
        kept = translated("Nothing was deleted.")
        unchanged = translated("Nothing was changed.")
        await self._instead(interaction, kept if self._deletes else unchanged)

    async def _instead(self, interaction: Interaction, text: str) -> None:
        nobody = discord.AllowedMentions.none()
        await interaction.edit_original_response(
            content=text, embed=None, view=None, allowed_mentions=nobody
        )

    async def on_error(
        self, interaction: Interaction, error: Exception, _item: discord.ui.Item[Any], /
    ) -> None:
        await tell_error(interaction, error)


async def ask_first(
    interaction: Interaction,
    question: str,
    label: str,
    work: Callable[[CommandUser], Coroutine[Any, Any, str]],
    *,
    deletes: bool = True,
    let_go: Callable[[], None] = lambda: None,
) -> None:
    """Ask the user to confirm with a button. Nobody else sees the question.

    `let_go` is called after the decision, or when nobody has pressed a button for two minutes.
    """
    view = ConfirmationView(label, work, deletes=deletes, let_go=let_go)
    payload: dict[str, Any] = {"content": question}
    if len(question) > MESSAGE_LIMIT:
        payload = {"embed": discord.Embed(description=shortened(question, DESCRIPTION_LIMIT))}
    payload |= {"ephemeral": True, "allowed_mentions": discord.AllowedMentions.none()}
    if interaction.response.is_done():
        await interaction.followup.send(view=view, **payload)
    else:
        await interaction.response.send_message(view=view, **payload)


def choices(typed: str, known: Iterable[tuple[str, str]]) -> Choices:
    """Return the (shown, value) pairs that contain the typed text, prefix matches first."""
    word = typed.strip().casefold()
    fitting = [pair for pair in known if word in pair[0].casefold() or word in pair[1].casefold()]
    fitting.sort(key=lambda pair: not pair[0].casefold().startswith(word))
    return [
        app_commands.Choice(name=shortened(shown, CHOICE_LIMIT), value=value)
        for shown, value in fitting[:MOST_CHOICES]
        if len(value) <= CHOICE_LIMIT
    ]


def number_in(text: str) -> int:
    """Parse a typed number. Return 0 if the text is not a number."""
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else 0


def plain(text: str) -> str:
    """Return a user's text in one line, with its markup escaped."""
    return discord.utils.escape_markdown(" ".join(text.split()))


def overlong_option(interaction: Interaction) -> str | None:
    """Say that an option is longer than declared; None if none is.

    Discord checks this too, discord.py does not.
    """
    declared = {} if interaction.command is None else _longest_options(interaction.command)
    for name, value in interaction.namespace:
        if isinstance(value, str) and len(value) > declared.get(name, len(value)):
            return too_long(value, declared[name])
    return None


def _longest_options(command: Command | app_commands.ContextMenu) -> dict[str, int]:
    if isinstance(command, app_commands.ContextMenu):
        return {}
    limits = ((one.display_name, one.max_value) for one in command.parameters)
    return {name: int(most) for name, most in limits if most is not None}


def too_long(text: str, most: int) -> str:
    start = plain(shortened(text, MOST_QUOTED))
    return translated("{start} is too long: at most {most} characters.", start=start, most=most)


def _error_text(error: Exception) -> str:
    if isinstance(error, CommandRefusedError | ConfigError | PictureRefusedError):
        words = said(error.args[0]) if error.args else ""
        return " ".join(redact(words, MESSAGE_LIMIT).split())
    if isinstance(error, StorageAwayError):
        return translated(AWAY)
    return translated(OUTDATED if isinstance(error, _CHANGED) else UNEXPECTED)


def _ids(interaction: Interaction) -> TurnIds:
    return TurnIds(interaction.guild_id or 0, interaction.channel_id or 0, interaction.user.id)


def _is_too_late(error: Exception) -> bool:
    return isinstance(error, discord.HTTPException) and error.code in TOO_LATE


def _name(interaction: Interaction) -> str:
    command = interaction.command
    return translated("a form") if command is None else f"/{command.qualified_name}"
