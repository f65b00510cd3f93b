"""`/privacy`: shows, exports and deletes what is stored about you, and lets you opt out."""

from __future__ import annotations

import io
import json
from typing import Any, Literal

import discord
from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import answer
from oshaberi.bot.commands.command_context import (
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
)
from oshaberi.bot.storage.schema.ownership import DataSubject
from oshaberi.bot.storage.usage import usage_day
from oshaberi.clocks import utc_now
from oshaberi.languages import translatable, translated, translated_count

ERASED_S = 10.0
MOST_BYTES = 8 * 1024 * 1024
"""The smallest limit that Discord has for a file."""
WORDS = {
    "exchanges": translatable("questions with their answers (short-term memory)"),
    "conversation_summaries": translatable("summaries of long conversations that you were part of"),
    "facts": translatable("facts that you asked me to remember"),
    "turns": translatable("answers: which message each answered, and how it ended"),
    "sprite_messages": translatable("messages of mine with a sprite"),
    "table_sources": translatable("tables that I drew for you, as text"),
    "api_keys": translatable("API keys of your direct messages (encrypted)"),
    "models": translatable("models of your direct messages"),
    "usage_counts": translatable("daily counts of requests and tokens"),
    "journal_streams": translatable("answers that were not finished"),
    "questions": translatable("questions that waited for an answer"),
    "schedules": translatable("reminders and tasks (`/schedule list`)"),
    "birthdays": translatable("your birthday (`/birthday`)"),
    "time_zones": translatable("your time zone (`/timezone`)"),
}
"""The tables that a person should know about; the other tables only hold parts of these."""
Sure = Literal["yes, delete it"]


async def show_data(context: BotContext, asker: CommandUser) -> str:
    counts = await context.db.personal_data.counts(_subject(asker))
    lines = [
        f"- {translated(what)}: {counts[name]}" for name, what in WORDS.items() if name in counts
    ]
    stored = (
        [translated("Stored about you:"), *lines]
        if lines
        else [translated("Nothing is stored about you.")]
    )
    out = asker.person.id in context.db.opt_outs
    state = (
        translated(
            "You have opted out: I do not read your messages. `/privacy opt-in` changes that."
        )
        if out
        else translated(
            "Messages that I answer, and the messages before them, are sent to the model "
            "that writes my answers. `/privacy opt-out` keeps yours from it."
        )
    )
    more = translated("`/privacy export` gives you a copy, `/privacy delete` deletes it.")
    return "\n".join([*stored, *_periods(context), state, *([more] if lines else [])])


async def export_file(context: BotContext, asker: CommandUser) -> bytes:
    """Return the user's data as a JSON file."""
    document = {
        "user_id": str(asker.person.id),
        "exported_at": utc_now().isoformat(timespec="seconds"),
        "records": await context.db.personal_data.export(_subject(asker)),
    }
    content = json.dumps(document, ensure_ascii=False, indent=1).encode()
    if len(content) > MOST_BYTES:
        raise CommandRefusedError(
            translated(
                "There is more than fits into one file; whoever runs this bot can export "
                "it for you."
            )
        )
    return content


async def delete_data(context: BotContext, asker: CommandUser) -> str:
    gone = await _delete(context, asker)
    if not gone:
        return translated("Nothing was stored about you.")
    answer = translated_count(
        "Deleted: {count} record about you, in all servers and direct messages. What you "
        "write from now on is stored again; `/privacy opt-out` prevents that.",
        "Deleted: {count} records about you, in all servers and direct messages. What you "
        "write from now on is stored again; `/privacy opt-out` prevents that.",
        gone,
    )
    return answer + await erasure_note(context)


async def opt_out(context: BotContext, asker: CommandUser) -> str:
    """Stop reading a user's messages, and delete the stored data that models would still get."""
    await context.db.opt_outs.add(asker.person.id)
    gone = await _delete(context, asker)
    answer = translated_count(
        "From now on I do not read your messages, wherever you write them: I do not "
        "answer you, and no model gets to see them. Deleted: {count} record about you.",
        "From now on I do not read your messages, wherever you write them: I do not "
        "answer you, and no model gets to see them. Deleted: {count} records about you.",
        gone,
    )
    return answer + await erasure_note(context)


async def opt_in(context: BotContext, asker: CommandUser) -> str:
    await context.db.opt_outs.remove(asker.person.id)
    return translated("I read your messages again, and answer you.")


async def allow_approach(context: BotContext, asker: CommandUser, *, allowed: bool) -> str:
    if allowed:
        await context.db.unapproached.remove(asker.person.id)
        return translated("Personas may speak to you first, where a server allows it.")
    await context.db.unapproached.add(asker.person.id)
    return translated(
        "No persona speaks to you first any more: none welcomes or congratulates you, comes back "
        "to a talk with you, or begins to talk after your messages."
    )


async def erasure_note(context: BotContext) -> str:
    """Wait until deleted text is gone from all files.

    Return a note for the answer if that takes long.
    """
    if await context.db.wait_until_erased(ERASED_S):
        return ""
    return translated(
        " The database file is being read at the moment: what was deleted disappears from it as "
        "soon as that ends."
    )


async def _delete(context: BotContext, asker: CommandUser) -> int:
    """Delete the user's data. Return the number of records.

    Today's usage counts stay: otherwise a user could use a quota twice.
    """
    today = usage_day(context.services.clock())
    gone = await context.db.personal_data.delete(_subject(asker), counted_until=today)
    return sum(gone.values())


def _subject(asker: CommandUser) -> DataSubject:
    return DataSubject("user", asker.person.id)


def _periods(context: BotContext) -> list[str]:
    settings = context.settings()
    facts = settings.retention_facts_days
    kept = _days(facts) if facts else translated("until you delete them")
    return [
        translated(
            "Kept: questions with their answers {questions} or as this server has set it, "
            "facts {facts}, answers {answers}, counts {counts}.",
            questions=_days(settings.turn.short_memory_days),
            facts=kept,
            answers=_days(settings.retention_turns_days),
            counts=_days(settings.retention_usage_days),
        )
    ]


def _days(count: int) -> str:
    return translated_count("{count} day", "{count} days", count)


privacy = app_commands.Group(name="privacy", description="Your data: see, export, delete, opt out")


@privacy.command(description="Show what is stored about you, and for how long")
async def show(interaction: Interaction) -> None:
    await answer(interaction, show_data(context_of(interaction), asker_of(interaction)))


@privacy.command(description="Get a file with everything that is stored about you")
async def export(interaction: Interaction) -> None:
    await interaction.response.defer(ephemeral=True, thinking=True)
    content = await export_file(context_of(interaction), asker_of(interaction))
    attachment: dict[str, Any] = {"file": discord.File(io.BytesIO(content), "my-data.json")}
    await interaction.followup.send(
        translated("Everything that is stored about you:"), ephemeral=True, **attachment
    )


@privacy.command(description="Delete everything that is stored about you, in all servers")
@app_commands.describe(sure="This cannot be undone")
async def delete(interaction: Interaction, sure: Sure) -> None:  # noqa: ARG001  # Discord asks it
    await answer(interaction, delete_data(context_of(interaction), asker_of(interaction)))


@privacy.command(name="opt-out", description="Delete your data; your messages are no longer read")
async def opt_out_(interaction: Interaction) -> None:
    await answer(interaction, opt_out(context_of(interaction), asker_of(interaction)))


@privacy.command(name="opt-in", description="Your messages are read and answered again")
async def opt_in_(interaction: Interaction) -> None:
    await answer(interaction, opt_in(context_of(interaction), asker_of(interaction)))


@privacy.command(description="Whether personas may speak to you first")
@app_commands.describe(allowed="True: they may, where the server allows it; False: never")
async def approach(interaction: Interaction, allowed: bool) -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, allow_approach(context, asker, allowed=allowed))


COMMANDS = (privacy,)
