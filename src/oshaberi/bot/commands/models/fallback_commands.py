"""`/model fallback`: the models that are tried when the first one fails."""

from __future__ import annotations

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.command_answers import Choices, answer, choices, number_in
from oshaberi.bot.commands.command_context import (
    Chosen,
    CommandRefusedError,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asked_in,
    asker_of,
    context_of,
    seen_channel,
    told_place,
    typed_place,
)
from oshaberi.bot.commands.models.model_commands import (
    DESCRIBED,
    SHOWN_IN,
    add_choosing_command,
    fallback,
)
from oshaberi.bot.commands.models.model_input_checks import check_payer, checked_model
from oshaberi.bot.commands.models.stored_chains import (
    inherited_chain,
    listed_chain,
    name_of,
    own_chain,
    store_chain,
)
from oshaberi.languages import translatable, translated

MOST_MODELS = 10


async def add_fallback(
    context: BotContext,
    asker: CommandUser,
    provider: str,
    model: str,
    base_url: str | None,
    where: Where = None,
) -> str:
    asker.must_manage()
    chain = await own_chain(context, asker, where)
    if not chain:
        raise CommandRefusedError(
            translated(
                "Set the first model{where} before its fallbacks: `/model set`.",
                where=told_place(where),
            )
        )
    if len(chain) >= MOST_MODELS:
        raise CommandRefusedError(
            translated(
                "At most {most_models} models; remove one: `/model fallback remove`.",
                most_models=MOST_MODELS,
            )
        )
    added = await checked_model(context, asker, provider, model, base_url)
    await check_payer(context, added)
    await store_chain(context, asker, (*chain, added), where)
    return translated(
        "If the others fail, **{model}** answers{where}.",
        model=name_of(added),
        where=told_place(where),
    )


async def remove_fallback(
    context: BotContext, asker: CommandUser, number: int, where: Where = None
) -> str:
    """Remove a fallback by its number in the list, from 1."""
    asker.must_manage()
    chain = await own_chain(context, asker, where)
    if not 1 <= number < len(chain):
        raise CommandRefusedError(
            translated("There is no such fallback; `/model fallback list` shows their numbers.")
        )
    await store_chain(context, asker, (*chain[:number], *chain[number + 1 :]), where)
    return translated(
        "**{model}** is no longer a fallback{where}.",
        model=name_of(chain[number]),
        where=told_place(where),
    )


async def list_fallbacks(context: BotContext, asker: CommandUser, where: Where = None) -> str:
    chain, place_id = await inherited_chain(context, asker, where or asker.path)
    if not chain[1:]:
        return translated("There are no fallbacks. Add one with `/model fallback add`.")
    return listed_chain(chain[1:], asker.is_owner, place_id is not None)


async def fallback_choices(
    context: BotContext, asker: CommandUser, typed: str, where: Where = None
) -> Choices:
    if not asker.may_manage:
        return []
    fallbacks = enumerate((await own_chain(context, asker, where))[1:], 1)
    return choices(typed, ((f"{n}. {name_of(model)}", str(n)) for n, model in fallbacks))


add_choosing_command(
    fallback, "add", translatable("Add a model that is tried when the others fail"), add_fallback
)


@fallback.command(description="Remove a fallback")
@app_commands.rename(place="in")
@app_commands.describe(fallback="Its number in the list", place=DESCRIBED["place"])
async def remove(
    interaction: Interaction, fallback: Chosen, place: PlaceOption | None = None
) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, remove_fallback(context, asker, number_in(fallback), where))


@fallback.command(name="list", description="List the fallbacks, in order")
@app_commands.rename(place="in")
@app_commands.describe(place=SHOWN_IN)
async def list_(interaction: Interaction, place: PlaceOption | None = None) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, list_fallbacks(context, asker, where))


@remove.autocomplete("fallback")
async def _fallbacks(interaction: Interaction, typed: str) -> Choices:
    where = typed_place(interaction)
    if where is not None and seen_channel(interaction, where.channel_id) is None:
        return []
    return await fallback_choices(context_of(interaction), asker_of(interaction), typed, where)
