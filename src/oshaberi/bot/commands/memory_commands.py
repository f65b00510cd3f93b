"""`/memory`: what the bot was asked to remember, and how to make it forget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.answers import (
    Choices,
    answer,
    ask_first,
    choices,
    number_in,
    plain,
)
from oshaberi.bot.commands.command_context import (
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    asker_of,
    context_of,
)
from oshaberi.bot.commands.privacy_commands import erasure_note
from oshaberi.bot.storage.records import Fact
from oshaberi.discord_io.requests.parameters import shortened
from oshaberi.languages import translatable, translated, translated_count

LINE_LIMIT = 200
Whose = Literal["mine", "server"]


async def list_memory(context: BotContext, asker: CommandUser, whose: Whose) -> str:
    facts = await context.db.facts.of(asker.server_id, _user(asker, whose))
    if facts:
        return _list(facts)
    if whose == "mine":
        return translated("Nothing is remembered about you. Ask the bot to remember something.")
    return translated("Nothing is remembered for this server.")


async def forget_fact(context: BotContext, asker: CommandUser, fact_id: int, whose: Whose) -> str:
    _may_forget(asker, whose)
    if not await context.db.facts.delete(asker.server_id, _user(asker, whose), fact_id):
        raise CommandRefusedError(translated("There is no such fact; `/memory list` shows all."))
    return translated("The fact is deleted.") + await erasure_note(context)


async def forget_all_question(context: BotContext, asker: CommandUser, whose: Whose) -> str:
    _may_forget(asker, whose)
    count = len(await context.db.facts.of(asker.server_id, _user(asker, whose)))
    if whose == "server":
        return translated_count(
            "Delete {count} fact of this server? This cannot be undone.",
            "Delete all {count} facts of this server? This cannot be undone.",
            count,
        )
    return translated_count(
        "Delete {count} fact about you, and what you said lately? This cannot be undone.",
        "Delete all {count} facts about you, and what you said lately? This cannot be undone.",
        count,
    )


async def forget_all(context: BotContext, asker: CommandUser, whose: Whose) -> str:
    """Delete all facts; for a user also their exchanges in all channels."""
    _may_forget(asker, whose)
    count = await context.db.facts.delete_all(asker.server_id, _user(asker, whose))
    if whose == "server":
        answer = translated_count(
            "Deleted: {count} fact of this server.", "Deleted: {count} facts of this server.", count
        )
        return answer + await erasure_note(context)
    exchanges = await context.db.memory.forget_user(asker.person.id)
    summaries = await context.db.summaries.forget_user(asker.person.id)
    more = (
        translated_count(
            " The summary of {count} channel too.",
            " The summaries of {count} channels too.",
            summaries,
        )
        if summaries
        else ""
    )
    answer = translated(
        "Deleted: {facts} and {exchanges}.{more}",
        facts=translated_count("{count} fact", "{count} facts", count),
        exchanges=translated_count("{count} exchange", "{count} exchanges", exchanges),
        more=more,
    )
    return answer + await erasure_note(context)


async def forget_channel(context: BotContext, asker: CommandUser) -> str:
    if not asker.person.can_manage_messages and asker.server_id != 0:
        raise CommandRefusedError(
            translated("Only members with the permission Manage Messages can do this.")
        )
    count = await context.db.memory.forget_channel(asker.channel_id)
    more = (
        translated(" and its summary")
        if await context.db.summaries.forget_channel(asker.channel_id)
        else ""
    )
    answer = translated_count(
        "Deleted: {count} exchange of this channel{more}.",
        "Deleted: {count} exchanges of this channel{more}.",
        count,
        more=more,
    )
    return answer + await erasure_note(context)


async def fact_choices(
    context: BotContext, asker: CommandUser, whose: Whose, typed: str
) -> Choices:
    facts = await context.db.facts.of(asker.server_id, _user(asker, whose))
    return choices(typed, ((fact.text, str(fact.id)) for fact in facts))


def _user(asker: CommandUser, whose: Whose) -> int | None:
    return asker.person.id if whose == "mine" else None


def _may_forget(asker: CommandUser, whose: Whose) -> None:
    if whose == "server":
        asker.must_manage()


def _list(facts: Sequence[Fact]) -> str:
    lines = (f"{fact.id}. {shortened(plain(fact.text), LINE_LIMIT)}" for fact in facts)
    return "\n".join(lines)


memory = app_commands.Group(name="memory", description="What the bot remembers")
forget = app_commands.Group(name="forget", description="Make the bot forget", parent=memory)
WHOSE = translatable("About you, or for the whole server")


@memory.command(name="list", description="Show what the bot was asked to remember")
@app_commands.describe(whose=WHOSE)
async def list_(interaction: Interaction, whose: Whose = "mine") -> None:
    await answer(interaction, list_memory(context_of(interaction), asker_of(interaction), whose))


@forget.command(description="Delete one fact")
@app_commands.describe(fact="Its number in the list", whose=WHOSE)
async def one(interaction: Interaction, fact: Chosen, whose: Whose = "mine") -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    await answer(interaction, forget_fact(context, asker, number_in(fact), whose))


@forget.command(name="all", description="Delete all facts, and what you said recently")
@app_commands.describe(whose=WHOSE)
async def all_(interaction: Interaction, whose: Whose = "mine") -> None:
    context, asker = context_of(interaction), asker_of(interaction)
    question = await forget_all_question(context, asker, whose)
    await ask_first(
        interaction,
        question,
        translated("Delete all"),
        lambda asker: forget_all(context, asker, whose),
    )


@forget.command(description="Delete what the bot remembers of this channel")
async def channel(interaction: Interaction) -> None:
    await answer(interaction, forget_channel(context_of(interaction), asker_of(interaction)))


@one.autocomplete("fact")
async def _facts(interaction: Interaction, typed: str) -> Choices:
    whose: Whose = "server" if interaction.namespace.whose == "server" else "mine"
    return await fact_choices(context_of(interaction), asker_of(interaction), whose, typed)


COMMANDS = (memory,)
