"""`/privacy`: what is stored about you, a copy of it, its deletion, and not being read at all."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any, Literal

import discord
from discord import app_commands

from oshaberi.bot.commands.command_answers import answer
from oshaberi.bot.commands.command_context import (
    CommandContext,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
)
from oshaberi.storage.personal_data.table_ownership import DataSubject

MOST_BYTES = 8 * 1024 * 1024
"""The smallest limit that Discord has for a file."""
WORDS = {
    "exchanges": "questions with their answers (short-term memory)",
    "conversation_summaries": "summaries of long conversations that you were part of",
    "facts": "facts that you asked me to remember",
    "turns": "answers: which message each answered, and how it ended",
    "sprite_messages": "messages of mine with a sprite",
    "table_sources": "tables that I drew for you, as text",
    "api_keys": "API keys of your direct messages (encrypted)",
    "models": "models of your direct messages",
    "usage_counts": "daily counts of requests and tokens",
    "journal_streams": "answers that were under way",
    "questions": "questions that waited for an answer",
}
"""The tables that a person should know of; the others have only parts of these."""
Sure = Literal["yes, delete it"]


async def show_data(context: CommandContext, asker: CommandUser) -> str:
    counts = await context.db.personal_data.counts(_subject(asker))
    lines = [f"- {counts[name]} {what}" for name, what in WORDS.items() if name in counts]
    stored = ["Stored about you:", *lines] if lines else ["Nothing is stored about you."]
    out = asker.person.id in context.db.opt_outs
    state = (
        "You have opted out: I do not read your messages. `/privacy opt-in` changes that."
        if out
        else "Messages that I answer, and the messages before them, are sent to the model that "
        "writes my answers. `/privacy opt-out` keeps yours from it."
    )
    more = "`/privacy export` gives you a copy, `/privacy delete` deletes it."
    return "\n".join([*stored, *_periods(context), state, *([more] if lines else [])])


async def exported(context: CommandContext, asker: CommandUser) -> bytes:
    """Return the user's data as a JSON file."""
    document = {
        "user_id": str(asker.person.id),
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "records": await context.db.personal_data.export(_subject(asker)),
    }
    content = json.dumps(document, ensure_ascii=False, indent=1).encode()
    if len(content) > MOST_BYTES:
        raise CommandRefusedError(
            "There is more than fits into one file; whoever runs this bot can export it for you."
        )
    return content


async def delete_data(context: CommandContext, asker: CommandUser) -> str:
    gone = await _delete(context, asker)
    if not gone:
        return "Nothing was stored about you."
    return (
        f"Deleted: {gone} records about you, in all servers and direct messages. "
        "What you write from now on is stored again; `/privacy opt-out` prevents that."
    )


async def opt_out(context: CommandContext, asker: CommandUser) -> str:
    """Stop reading a user's messages, and delete the stored data, which models would still get."""
    await context.db.opt_outs.add(asker.person.id)
    gone = await _delete(context, asker)
    return (
        "From now on I do not read your messages, wherever you write them: I do not answer you, "
        f"and no model gets to see them. Deleted: {gone} records about you."
    )


async def opt_in(context: CommandContext, asker: CommandUser) -> str:
    await context.db.opt_outs.remove(asker.person.id)
    return "I read your messages again, and answer you."


async def _delete(context: CommandContext, asker: CommandUser) -> int:
    """Delete the user's data. Return the number of records.

    Today's counts stay: otherwise a quota could be used twice.
    """
    today = datetime.now(UTC).date()
    gone = await context.db.personal_data.delete(_subject(asker), counted_until=today)
    return sum(gone.values())


def _subject(asker: CommandUser) -> DataSubject:
    return DataSubject("user", asker.person.id)


def _periods(context: CommandContext) -> list[str]:
    settings = context.settings()
    facts = settings.retention_facts_days
    kept = f"{facts} days" if facts else "until you delete them"
    return [
        f"Kept: questions with their answers {settings.turn.short_memory_days} days or as this "
        f"server has set it, facts {kept}, answers {settings.retention_turns_days} days, "
        f"counts {settings.retention_usage_days} days."
    ]


privacy = app_commands.Group(name="privacy", description="Your data: see, export, delete, opt out")


@privacy.command(description="Show what is stored about you, and for how long")
async def show(interaction: Interaction) -> None:
    await answer(interaction, show_data(context_of(interaction), asker_of(interaction)))


@privacy.command(description="Get a file with everything that is stored about you")
async def export(interaction: Interaction) -> None:
    await interaction.response.defer(ephemeral=True, thinking=True)
    content = await exported(context_of(interaction), asker_of(interaction))
    said: dict[str, Any] = {"file": discord.File(io.BytesIO(content), "my-data.json")}
    await interaction.followup.send("Everything that is stored about you:", ephemeral=True, **said)


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


COMMANDS = (privacy,)
