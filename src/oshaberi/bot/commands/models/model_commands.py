"""`/model`: shows, sets and resets the models of a server or of one channel."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from discord import app_commands

from oshaberi.bot.bot_context import BotContext
from oshaberi.bot.commands.command_answers import Choices, answer
from oshaberi.bot.commands.command_context import (
    MANAGER,
    Address,
    Chosen,
    CommandUser,
    Interaction,
    PlaceOption,
    Where,
    asked_in,
    told_place,
)
from oshaberi.bot.commands.models.model_input_checks import (
    MODEL_LIMIT,
    check_payer,
    checked_model,
    provider_choices,
)
from oshaberi.bot.commands.models.stored_chains import (
    inherited_chain,
    listed_chain,
    name_of,
    origin_of_chain,
    own_chain,
    store_chain,
)
from oshaberi.languages import translatable, translated

ChooseModel = Callable[
    [BotContext, CommandUser, str, str, str | None, Where], Coroutine[Any, Any, str]
]
"""Takes provider, model, base URL and place; returns what to answer."""


async def show_models(context: BotContext, asker: CommandUser, where: Where = None) -> str:
    chain, place_id = await inherited_chain(context, asker, where or asker.path)
    if not chain:
        return translated(
            "No model is set. Give a key with `/model key add`, then choose one: `/model set`."
        )
    own = place_id is not None
    listed = listed_chain(chain, asker.is_owner, own)
    return translated(
        "{origin}, tried in this order:\n{listed}",
        origin=origin_of_chain(asker, place_id),
        listed=listed,
    )


async def set_model(
    context: BotContext,
    asker: CommandUser,
    provider: str,
    model: str,
    base_url: str | None,
    where: Where = None,
) -> str:
    """Set the first model of the chain. The fallbacks stay."""
    asker.must_manage()
    first = await checked_model(context, asker, provider, model, base_url)
    await check_payer(context, first)
    rest = (await own_chain(context, asker, where))[1:]
    await store_chain(context, asker, (first, *rest), where)
    return translated(
        "Answers{where} now come from **{model}**.", where=told_place(where), model=name_of(first)
    )


async def reset_models(context: BotContext, asker: CommandUser, where: Where = None) -> str:
    asker.must_manage()
    await store_chain(context, asker, (), where)
    return await show_models(context, asker, where)


model = app_commands.Group(
    name="model", description="Which models answer here", default_permissions=MANAGER
)
fallback = app_commands.Group(
    name="fallback", description="What is tried when a model fails", parent=model
)
DESCRIBED = {
    "provider": translatable("Who runs the model"),
    "model_name": translatable("The model, as its provider calls it"),
    "base_url": translatable("Another server of the same kind (only the bot's owner)"),
    "place": translatable("Only in this channel, thread or category"),
}
SHOWN_IN = translatable("In this channel, thread or category; where you are if left out")


@model.command(description="List the models that answer here, in order")
@app_commands.rename(place="in")
@app_commands.describe(place=SHOWN_IN)
async def show(interaction: Interaction, place: PlaceOption | None = None) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, show_models(context, asker, where))


def add_choosing_command(
    group: app_commands.Group, name: str, description: str, choose: ChooseModel
) -> None:
    """Add a command whose options name a model and the place where it answers."""

    @group.command(name=name, description=description)
    @app_commands.rename(model_name="model", place="in")
    @app_commands.describe(**DESCRIBED)
    @app_commands.autocomplete(provider=_providers)
    async def command(
        interaction: Interaction,
        provider: Chosen,
        model_name: app_commands.Range[str, 1, MODEL_LIMIT],
        base_url: Address | None = None,
        place: PlaceOption | None = None,
    ) -> None:
        context, asker, where = asked_in(interaction, place)
        await answer(interaction, choose(context, asker, provider, model_name, base_url, where))


async def _providers(_interaction: Interaction, typed: str) -> Choices:
    return provider_choices(typed)


add_choosing_command(
    model, "set", translatable("Choose the model that answers, here or in one channel"), set_model
)


@model.command(description="Remove the models set here, and use those that are inherited")
@app_commands.rename(place="in")
@app_commands.describe(place=DESCRIBED["place"])
async def reset(interaction: Interaction, place: PlaceOption | None = None) -> None:
    context, asker, where = asked_in(interaction, place)
    await answer(interaction, reset_models(context, asker, where))
